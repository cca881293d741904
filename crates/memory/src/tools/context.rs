//! From the circumstances of a call to a scope, and from errors to what a model is told.

use crate::{Memory, MemoryError, Period, Scope};
use jiff::Timestamp;
use serde_json::Value;
use std::future::ready;
use std::sync::Arc;
use tidegate_policy::{Label, SessionId, UserId};
use tidegate_store::Provenance;
use tidegate_tools::{BoxFuture, CallContext, ToolError};

/// Knows whose a session is. The runtime implements it over the store; a [`UserId`] is the owner of all sessions.
pub trait SessionOwner: Send + Sync {
    /// The user of a session.
    ///
    /// # Errors
    /// A text for the model, if it is not known: nothing is read or written then.
    fn owner(&self, session: SessionId) -> BoxFuture<'_, Result<UserId, ToolError>>;
}

impl SessionOwner for UserId {
    fn owner(&self, _: SessionId) -> BoxFuture<'_, Result<UserId, ToolError>> {
        Box::pin(ready(Ok(self.clone())))
    }
}

/// Who asks.
pub(super) async fn scope(owner: &Arc<dyn SessionOwner>, context: &CallContext) -> Result<Scope, ToolError> {
    Ok(Scope {
        user: owner.owner(context.session).await?,
        chat: context.session.to_string().into(),
        label: context.label,
        clearance: context.clearance,
    })
}

/// What the model is told of an error. What was looked at may be seen by the context, but its label has to go along.
pub(super) fn failed(error: MemoryError) -> ToolError {
    let label = match &error {
        MemoryError::WriteDown { item, .. } => *item,
        _ => Label::BOTTOM,
    };
    ToolError::new(crate::error::told(&error)).with_label(label)
}

pub(super) fn period(start: Option<&str>, end: Option<&str>) -> Result<Period, ToolError> {
    Period::parse(said(start), said(end)).map_err(failed)
}

/// A text that says something; a blank one is as good as none.
pub(super) fn said(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

/// ISO 8601, UTC, to the second.
pub(super) fn time(time_ms: i64) -> Value {
    let time = Timestamp::from_millisecond(time_ms).ok();
    time.map_or(Value::Null, |time| {
        time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
    })
}

pub(super) fn origin(provenance: &Provenance) -> String {
    match provenance {
        Provenance::User => "the user".to_owned(),
        Provenance::Model => "the model".to_owned(),
        Provenance::Tool { tool, .. } => format!("the model, from tool {tool}"),
        Provenance::Consolidation { from } => format!("{} facts that were made one", from.len()),
    }
}

/// What to know about the search itself; none if it was as good as it gets.
pub(super) fn notice(memory: &Memory) -> Option<&'static str> {
    (memory.embedder().model().id == crate::HashedEmbedder::MODEL).then_some(
        "searched by words alone: no embedding model is set up. The owner gets one with `tidegate models fetch minilm`",
    )
}
