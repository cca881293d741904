//! Whether, and when, a request is sent again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tidegate_providers::{ErrorClass, ProviderError};

/// Tries a candidate gets.
pub(crate) const TRIES: u32 = 3;

/// The longest `Retry-After` that is waited for, and the most a call waits for the pauses of others.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The wait before the second try, without jitter.
const FIRST_BACKOFF: Duration = Duration::from_secs(2);

/// The longest wait that no provider asked for.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// What a class of error leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handling {
    /// The same model is tried again, then the next candidate.
    Retry,
    /// The next candidate is tried.
    Fallback,
    /// The history has to become shorter.
    HandUp,
    /// It would be refused again, by whomever.
    Stop,
}

impl Handling {
    /// How an error of `class` is handled.
    pub(crate) fn of(class: ErrorClass) -> Self {
        match class {
            ErrorClass::RateLimited
            | ErrorClass::Overloaded
            | ErrorClass::Server
            | ErrorClass::Timeout
            | ErrorClass::Transport
            | ErrorClass::MalformedReply => Self::Retry,
            ErrorClass::Auth | ErrorClass::Billing | ErrorClass::ModelNotFound => Self::Fallback,
            ErrorClass::ContextOverflow => Self::HandUp,
            ErrorClass::PayloadTooLarge | ErrorClass::BadRequest | ErrorClass::ContentPolicy => Self::Stop,
        }
    }
}

/// How long to wait after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryWait {
    /// The provider asks for it: no session should call it earlier.
    Asked(Duration),
    /// The provider asks for more than is waited.
    TooLong(Duration),
    /// It says nothing.
    Backoff(Duration),
}

impl RetryWait {
    /// How long to wait after `error`, which was that of try number `attempt` (from 1).
    ///
    /// A wait of zero, which is also what a date that has passed comes to, asks for nothing: clocks differ, and
    /// a provider in need is not called again at once.
    pub(crate) fn after(error: &ProviderError, attempt: u32, jitter: &Jitter) -> Self {
        match error.retry_after {
            Some(asked) if asked > LONGEST_WAIT => Self::TooLong(asked),
            Some(asked) if !asked.is_zero() => Self::Asked(asked),
            Some(_) | None => Self::Backoff(jitter.backoff(attempt)),
        }
    }
}

/// The dice of all waits of a runtime.
#[derive(Debug)]
pub(crate) struct Jitter(Mutex<fastrand::Rng>);

impl Jitter {
    /// Dice that fall as `seed` says; as chance wills without one.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(
            seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
        ))
    }

    /// The wait after try number `attempt` (from 1): 2 s, doubled with each try, and up to half as much again,
    /// so that sessions that failed together do not come back together; never more than 60 s.
    fn backoff(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        let base = FIRST_BACKOFF.saturating_mul(1 << doublings);
        let more = self.0.lock().unwrap_or_else(PoisonError::into_inner).f64() / 2.0;
        base.mul_f64(1.0 + more).min(LONGEST_BACKOFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_message::ProviderId;

    fn wait(retry_after: Option<u64>, attempt: u32) -> RetryWait {
        let error = ProviderError {
            retry_after: retry_after.map(Duration::from_millis),
            ..ProviderError::new(ProviderId::new("p"), ErrorClass::RateLimited, "")
        };
        RetryWait::after(&error, attempt, &Jitter::new(Some(7)))
    }

    #[test]
    fn what_a_provider_asks_for_is_honoured_up_to_ten_minutes() {
        let seconds = Duration::from_secs;
        for (asked, expected) in [
            (20, RetryWait::Asked(Duration::from_millis(20))),
            (1_000, RetryWait::Asked(seconds(1))),
            (600_000, RetryWait::Asked(seconds(600))),
            (601_000, RetryWait::TooLong(seconds(601))),
            (u64::MAX, RetryWait::TooLong(Duration::from_millis(u64::MAX))),
        ] {
            assert_eq!(wait(Some(asked), 1), expected);
        }
    }

    #[test]
    fn without_a_wish_waits_double_with_jitter_up_to_a_minute() {
        for asked in [None, Some(0)] {
            for (attempt, least, most) in [
                (1, 2, 3),
                (2, 4, 6),
                (3, 8, 12),
                (5, 32, 48),
                (6, 60, 60),
                (u32::MAX, 60, 60),
            ] {
                let RetryWait::Backoff(wait) = wait(asked, attempt) else {
                    panic!("nothing was asked for");
                };
                assert!(
                    (Duration::from_secs(least)..=Duration::from_secs(most)).contains(&wait),
                    "try {attempt}: {wait:?}"
                );
            }
        }
    }

    #[test]
    fn the_dice_fall_as_the_seed_says_and_not_always_the_same() {
        let waits = |seed| {
            let jitter = Jitter::new(Some(seed));
            (0..20).map(|_| jitter.backoff(1)).collect::<Vec<_>>()
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
        let mut different = waits(1);
        different.sort();
        different.dedup();
        assert!(different.len() > 10, "{different:?}");
    }

    #[test]
    fn every_class_that_may_pass_is_tried_again_and_no_other() {
        for class in ErrorClass::ALL {
            assert_eq!(
                Handling::of(class) == Handling::Retry,
                class.is_transient(),
                "{class}"
            );
        }
    }
}
