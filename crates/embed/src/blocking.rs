//! Work that would keep a thread of the async runtime busy, or that may panic in somebody else's code.

use crate::EmbedError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work` on a thread for such work; on this one where there is no runtime.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EmbedError> + Send + 'static,
) -> Result<T, EmbedError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.unwrap_or_else(|cause| {
            Err(EmbedError::Stopped {
                cause: Box::new(cause),
            })
        }),
        Err(_) => work(),
    }
}

/// What `work` gives; none if it panicked. For libraries that index what a model or a file told them.
pub(crate) fn unless_it_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
