//! What all sessions of the process know of one provider key.

use super::circuit::{Admission, Circuit};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tidegate_providers::ErrorClass;
use tokio::time::Instant;

/// The longest a provider is left alone, whatever it asks: a header may be wrong, and a process may live long.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// One key at one address: whether it is to be left alone, and whether anybody answers there. Shared by the
/// providers that have both in common, and by all sessions.
#[derive(Debug, Default)]
pub(crate) struct Account(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    paused_until: Option<Instant>,
    circuit: Circuit,
}

/// A call that is under way. Dropped without an end, it was cancelled and tells nothing of the endpoint.
#[derive(Debug)]
pub(crate) struct Attempt {
    account: Arc<Account>,
    probe: bool,
    ended: bool,
}

impl Account {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when it is to be left alone; none if it may be called now.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        let now = Instant::now();
        self.state().paused_until.filter(|until| *until > now)
    }

    /// Leaves it alone for `wait` from now, for no longer than an hour. An earlier pause that ends later stays.
    pub(crate) fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait.min(LONGEST_PAUSE);
        let mut state = self.state();
        state.paused_until = state.paused_until.max(Some(until));
    }

    /// Begins a call, unless the circuit is open: then it tells for how long yet.
    ///
    /// # Errors
    /// The time until the circuit lets a call through; zero while another call probes.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<Attempt, Duration> {
        let admission = self.state().circuit.admit(Instant::now());
        match admission {
            Admission::Closed => Ok(self.attempt(false)),
            Admission::Probe => Ok(self.attempt(true)),
            Admission::Open(wait) => Err(wait),
        }
    }

    /// Begins a call although the circuit may be open: there is nobody else to call.
    pub(crate) fn insist(self: &Arc<Self>) -> Attempt {
        self.begin().unwrap_or_else(|_| self.attempt(false))
    }

    fn attempt(self: &Arc<Self>, probe: bool) -> Attempt {
        Attempt {
            account: Arc::clone(self),
            probe,
            ended: false,
        }
    }
}

impl Attempt {
    /// The call ended: with a reply, or with an error of this class.
    pub(crate) fn ended(mut self, error: Option<ErrorClass>) {
        self.ended = true;
        self.account
            .state()
            .circuit
            .ended(self.probe, error, Instant::now());
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.ended {
            self.account.state().circuit.given_up(self.probe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_when_the_longest_wish_is_met() {
        let account = Account::default();
        assert_eq!(account.paused_until(), None);
        let seconds = Duration::from_secs;
        account.pause(seconds(30));
        account.pause(seconds(10));
        assert_eq!(account.paused_until(), Some(Instant::now() + seconds(30)));
        tokio::time::advance(seconds(30)).await;
        assert_eq!(account.paused_until(), None);
        account.pause(Duration::MAX);
        assert_eq!(account.paused_until(), Some(Instant::now() + LONGEST_PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_dropped_leaves_room_for_the_next() {
        let account = Arc::new(Account::default());
        for _ in 0..5 {
            account.insist().ended(Some(ErrorClass::Timeout));
        }
        assert_eq!(account.begin().map(drop), Err(Duration::from_secs(30)));
        tokio::time::advance(Duration::from_secs(30)).await;
        let probe = account.begin();
        assert!(probe.is_ok() && account.begin().is_err());
        drop(probe);
        assert!(account.begin().is_ok());
    }
}
