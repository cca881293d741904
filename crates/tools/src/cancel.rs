//! Being told to stop.

use crate::BoxFuture;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// A token that tells work to stop. The runtime implements it over its cancellation tree.
pub trait Cancel: Send + Sync {
    /// Whether to stop.
    fn is_cancelled(&self) -> bool;

    /// Completes when it is time to stop; at once if it is already.
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

/// Drives `work` until it is done or `cancel` says stop: then `None`, and `work` is dropped where it stood.
/// Work that is done in the same moment counts as done; work cancelled beforehand is never begun.
pub async fn until_cancelled<T>(cancel: &dyn Cancel, work: impl Future<Output = T>) -> Option<T> {
    if cancel.is_cancelled() {
        return None;
    }
    let mut work = pin!(work);
    let mut stop = cancel.cancelled();
    poll_fn(|task| match work.as_mut().poll(task) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => stop.as_mut().poll(task).map(|()| None),
    })
    .await
}
