//! Not calling what does not answer.

use std::time::Duration;
use tidegate_providers::ErrorClass;
use tokio::time::Instant;

/// So many failures in a row open the circuit.
const FAILURES: u32 = 5;

/// How long the circuit stays open before one call may probe whether the endpoint answers again.
const OPEN: Duration = Duration::from_secs(30);

/// Whether an endpoint answers, as far as the calls of all sessions tell.
///
/// It opens after [`FAILURES`] failures in a row that say that nobody is there (transport, timeout, server); any
/// answer closes it, also a refusal. Open for [`OPEN`], it lets one call through: what comes of that decides.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    /// In a row, up to now.
    failures: u32,
    open_until: Option<Instant>,
    /// Whether a call probes the open circuit.
    probing: bool,
}

/// Whether a call may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may.
    Closed,
    /// It may: it is the one that probes.
    Probe,
    /// It may not, for so long yet (zero while another call probes).
    Open(Duration),
}

impl Circuit {
    /// Asks for a call.
    pub(super) fn admit(&mut self, now: Instant) -> Admission {
        match self.open_until {
            None => Admission::Closed,
            Some(until) if now < until || self.probing => {
                Admission::Open(until.saturating_duration_since(now))
            }
            Some(_) => {
                self.probing = true;
                Admission::Probe
            }
        }
    }

    /// A call ended: with a reply, or with an error of this class.
    pub(super) fn ended(&mut self, probe: bool, error: Option<ErrorClass>, now: Instant) {
        self.probing &= !probe;
        if !error.is_some_and(says_that_nobody_is_there) {
            self.failures = 0;
            self.open_until = None;
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let opens = self.open_until.is_none() && self.failures >= FAILURES;
        // Calls that began before it opened do not keep it open for longer.
        if opens || probe {
            self.open_until = Some(now + OPEN);
        }
    }

    /// A call was given up before it ended: it tells nothing.
    pub(super) fn given_up(&mut self, probe: bool) {
        self.probing &= !probe;
    }
}

fn says_that_nobody_is_there(class: ErrorClass) -> bool {
    match class {
        ErrorClass::Transport | ErrorClass::Timeout | ErrorClass::Server => true,
        ErrorClass::RateLimited
        | ErrorClass::Overloaded
        | ErrorClass::ContextOverflow
        | ErrorClass::PayloadTooLarge
        | ErrorClass::Auth
        | ErrorClass::Billing
        | ErrorClass::ContentPolicy
        | ErrorClass::ModelNotFound
        | ErrorClass::BadRequest
        | ErrorClass::MalformedReply => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAD: Option<ErrorClass> = Some(ErrorClass::Transport);

    fn opened(now: Instant) -> Circuit {
        let mut circuit = Circuit::default();
        for _ in 0..FAILURES {
            assert_eq!(circuit.admit(now), Admission::Closed);
            circuit.ended(false, DEAD, now);
        }
        circuit
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_any_answer_starts_the_count_anew() {
        let now = Instant::now();
        for class in ErrorClass::ALL {
            let mut circuit = Circuit::default();
            for _ in 0..4 {
                circuit.ended(false, DEAD, now);
            }
            circuit.ended(false, Some(class), now);
            let open = matches!(circuit.admit(now), Admission::Open(_));
            assert_eq!(open, says_that_nobody_is_there(class), "{class}");
        }
        let mut circuit = Circuit::default();
        for _ in 0..10 {
            for _ in 0..4 {
                circuit.ended(false, DEAD, now);
            }
            circuit.ended(false, None, now);
        }
        assert_eq!(circuit.admit(now), Admission::Closed);
    }

    #[test]
    fn after_half_a_minute_one_call_probes_and_decides() {
        let now = Instant::now();
        let later = now + OPEN;
        let mut circuit = opened(now);
        assert_eq!(circuit.admit(now), Admission::Open(OPEN));
        assert_eq!(circuit.admit(later), Admission::Probe);
        assert_eq!(
            circuit.admit(later),
            Admission::Open(Duration::ZERO),
            "one probe at a time"
        );

        circuit.ended(true, DEAD, later);
        assert_eq!(circuit.admit(later), Admission::Open(OPEN), "open again");

        let later = later + OPEN;
        assert_eq!(circuit.admit(later), Admission::Probe);
        circuit.given_up(true);
        assert_eq!(
            circuit.admit(later),
            Admission::Probe,
            "a probe that was cancelled tells nothing"
        );
        circuit.ended(true, Some(ErrorClass::RateLimited), later);
        assert_eq!(circuit.admit(later), Admission::Closed, "a refusal is an answer");
        circuit.ended(false, DEAD, later);
        assert_eq!(circuit.admit(later), Admission::Closed, "the count began anew");
    }

    #[test]
    fn failures_of_calls_that_began_before_do_not_keep_it_open() {
        let now = Instant::now();
        let mut circuit = opened(now);
        circuit.ended(false, DEAD, now + OPEN / 2);
        assert_eq!(circuit.admit(now + OPEN), Admission::Probe);
    }
}
