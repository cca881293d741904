//! What a failed model call leads to: waiting and trying again, another candidate, or the end.
//!
//! | class of error | what follows |
//! | --- | --- |
//! | `rate_limited`, `overloaded`, `server`, `timeout`, `transport`, `malformed_reply` | the same request to the same model, up to [`TRIES`] times; then the next candidate |
//! | `auth`, `billing`, `model_not_found` | the next candidate at once: for another model it is another request, for the same one the same answer |
//! | `context_overflow` | handed up: the history has to become shorter first |
//! | `payload_too_large`, `bad_request`, `content_policy` | the end: no candidate is sent what was refused for what it is |
//!
//! Between two tries it waits as long as the provider asks (`Retry-After`), up to [`LONGEST_WAIT`], else twice
//! as long each time ([`Jitter`]). What one session learns of a provider holds for all: [`Account`].
//!
//! **Not here:** which candidates there are (`routing`) and the call itself (`model_call`).
//!
//! **Invariants**
//! - A wait holds no permit of a provider and ends at once when the turn is cancelled.
//! - A try is over, its connection let go, before the next begins.

mod account;
mod circuit;
mod retry;
mod tries;

pub(crate) use account::{Account, Attempt};
pub(crate) use retry::{Handling, Jitter, LONGEST_WAIT, RetryWait, TRIES};
pub(crate) use tries::Tries;
