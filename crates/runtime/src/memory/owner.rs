//! Whose a session is.

use std::sync::Arc;
use tidegate_memory::SessionOwner;
use tidegate_policy::{SessionId, UserId};
use tidegate_store::Store;
use tidegate_tools::{BoxFuture, ToolError};

/// The owners of the sessions in a store.
pub(crate) struct StoredOwners(pub(crate) Arc<dyn Store>);

impl SessionOwner for StoredOwners {
    fn owner(&self, session: SessionId) -> BoxFuture<'_, Result<UserId, ToolError>> {
        Box::pin(async move {
            let record = self.0.session(session).await.map_err(|error| {
                ToolError::new(format!(
                    "whose memories these are cannot be looked up, so nothing was read or written: {error}"
                ))
            })?;
            match record {
                Some(record) => Ok(record.session.user),
                None => Err(ToolError::new(
                    "this session is not stored, so nothing was read or written",
                )),
            }
        })
    }
}
