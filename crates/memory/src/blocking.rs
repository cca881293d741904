//! Work that would keep a thread of the async runtime busy.

use crate::error::Cause;

/// Does `work` on a thread for such work; on this one where there is no runtime.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Cause> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime
            .spawn_blocking(work)
            .await
            .map_err(|cause| Box::new(cause) as Cause),
        Err(_) => Ok(work()),
    }
}
