//! The cancellation tree.

use tidegate_tools::{BoxFuture, Cancel};
use tokio_util::sync::CancellationToken;

/// A node of the cancellation tree: cancelling it cancels all below it, never what is above.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(CancellationToken);

impl CancelToken {
    /// A root.
    pub fn new() -> Self {
        Self::default()
    }

    /// A node below this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Cancels this node and all below it.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl Cancel for CancelToken {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.cancelled())
    }
}
