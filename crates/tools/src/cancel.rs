//! Being told to stop.

use crate::BoxFuture;

/// A token that tells work to stop. The runtime implements it over its cancellation tree.
pub trait Cancel: Send + Sync {
    /// Whether to stop.
    fn is_cancelled(&self) -> bool;

    /// Completes when it is time to stop.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

/// A token nobody can cancel, for tests and for tools called by hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeverCancelled;

impl Cancel for NeverCancelled {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}
