//! Why a decision was made: read again from what is stored, by the code that made it.

use crate::open::{registry, role};
use crate::provenance::Provenance;
use crate::{Runtime, RuntimeError};
use serde::Serialize;
use tidegate_message::{AssistantPart, Body, Entry, Event, EventKind, ToolCall};
use tidegate_policy::{Escalation, Evaluation, EventId, IntegrityVerdict};
use tidegate_store::SessionState;

/// A decision of the gate, with everything that led to it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The event.
    pub event: Event,
    /// What the gate was asked, what it answered, and every rule it looked at.
    pub evaluation: Evaluation,
    /// How the session came to its label, step by step, up to the turn of the event. Empty once its content is erased.
    pub lineage: Vec<Escalation>,
    /// The call it was about, with its arguments as the model wrote them; none once the session's content is erased.
    pub call: Option<ToolCall>,
    /// For a consequential call, where its values came from and which of the owner's words licensed it, or what was
    /// missing. It is judged again from the stored messages, with the tools and words of today's configuration.
    pub integrity: Option<IntegrityVerdict>,
}

impl Runtime {
    /// Explains a decision.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownEvent`], and [`RuntimeError::NoDecision`] for an event of another kind.
    pub async fn explain(&self, id: EventId) -> Result<Explanation, RuntimeError> {
        let shared = &self.shared;
        let stored = shared.store.event(id).await?;
        let event = stored.ok_or(RuntimeError::UnknownEvent { event: id })?.event;
        let (evaluation, call) = match &event.kind {
            EventKind::FlowJudged { call, evaluation, .. } => (evaluation.clone(), call.clone()),
            EventKind::ModelSkipped { evaluation, .. } => (evaluation.clone(), None),
            other => {
                return Err(RuntimeError::NoDecision {
                    event: id,
                    kind: other.name(),
                });
            }
        };
        let mut explanation = Explanation {
            event,
            evaluation,
            lineage: Vec::new(),
            call: None,
            integrity: None,
        };
        let Some(record) = shared.store.session(id.session).await? else {
            return Ok(explanation);
        };
        let until = explanation.evaluation.taint_after;
        let steps = record.session.taint.lineage().iter();
        explanation.lineage = steps
            .take_while(|step| step.to.classification <= until.classification)
            .cloned()
            .collect();
        if record.state == SessionState::Erased {
            return Ok(explanation);
        }
        let Some(call) = call else {
            return Ok(explanation);
        };
        let entries = shared.store.entries(id.session).await?;
        let place = entries
            .iter()
            .position(|entry| calls_of(entry).any(|known| known.id == call));
        let Some((place, message)) = place.and_then(|place| Some((place, entries.get(place)?))) else {
            return Ok(explanation);
        };
        explanation.call = calls_of(message).find(|known| known.id == call).cloned();
        let role = role(shared, &record.session.user)?;
        let registry = registry(shared, &record.session.workspace, role)?;
        let before: Vec<_> = entries.iter().take(place).cloned().collect();
        let mut provenance = Provenance::default();
        provenance.read_entries(&shared.integrity, &before, &registry);
        let known = provenance.before_each(&shared.integrity, calls_of(message), &registry);
        explanation.integrity = known.get(&call).and_then(|known| {
            let name = &explanation.call.as_ref()?.name;
            let policy = &registry.get(name)?.definition().policy;
            Some(known.ledger.judge(policy, &known.arguments))
        });
        Ok(explanation)
    }
}

/// The calls of a model message.
pub(crate) fn calls_of(entry: &Entry) -> impl Iterator<Item = &ToolCall> {
    let parts = match &entry.body {
        Body::Assistant(message) => message.parts.as_slice(),
        Body::User(_) | Body::Results(_) => &[],
    };
    parts.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call),
        AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => None,
    })
}
