//! Whether each request begins with the one before it, so that the provider's cache holds it; an event where not.
//!
//! Requests are compared entry by entry, by identity: a wire writes an entry the same way each time. Only where they part
//! are bytes looked at.

use super::Turn;
use crate::Session;
use bytes::Bytes;
use std::sync::Arc;
use tidegate_message::{BreakCause, BrokenPart, Entry, EventKind, ModelId};
use tidegate_prompt::{
    EncodedRequest, Fixed, PrefixBreakCause, PrefixPart, RequestComparison, compare_requests,
    estimate_request, estimate_text, estimate_transcript,
};
use tidegate_providers::ToolSet;

/// What the last request was made of.
pub(crate) struct LastRequest {
    model: ModelId,
    tools: Arc<ToolSet>,
    system: Arc<str>,
    entries: Vec<Arc<Entry>>,
}

/// A break of the prefix.
struct Found {
    cause: PrefixBreakCause,
    part: PrefixPart,
    /// Its share of the tokens of the request before; all of them if none.
    lost: Option<tidegate_prompt::PrefixBreak>,
}

impl Turn<'_> {
    /// Compares the request that is about to be sent with the one before, and tells if it does not go on there.
    pub(crate) fn compare_with_last(
        &mut self,
        model: &ModelId,
        tools: &Arc<ToolSet>,
        history: &[Arc<Entry>],
    ) {
        let system = Arc::clone(&self.session.record.session.system_prompt);
        let announced = std::mem::take(&mut self.session.announced);
        let found = match &self.session.last_request {
            Some(last) => last.broken_by(model, tools, &system, history, &announced),
            None => self.session.broken_since_restart(model, &announced),
        };
        if let Some(found) = found {
            let before = self
                .session
                .last_request
                .as_ref()
                .map(|last| last.entries.as_slice());
            let tokens = self.session.tokens_of(before.unwrap_or(history));
            let tokens = found.lost.map_or(tokens, |lost| lost.tokens_lost(tokens));
            let (part, index) = place(found.part);
            self.note(EventKind::PrefixBreak {
                cause: cause(found.cause),
                part,
                index,
                tokens,
            });
        }
        let known = self.session.last_request.take();
        let mut entries = known.map(|last| last.entries).unwrap_or_default();
        let same = entries
            .iter()
            .zip(history)
            .take_while(|(before, now)| Arc::ptr_eq(before, now))
            .count();
        entries.truncate(same);
        entries.extend(history.iter().skip(same).cloned());
        self.session.last_request = Some(LastRequest {
            model: model.clone(),
            tools: Arc::clone(tools),
            system,
            entries,
        });
    }
}

impl LastRequest {
    fn broken_by(
        &self,
        model: &ModelId,
        tools: &Arc<ToolSet>,
        system: &Arc<str>,
        history: &[Arc<Entry>],
        announced: &[PrefixBreakCause],
    ) -> Option<Found> {
        let is_same = self.model == *model
            && (Arc::ptr_eq(&self.tools, tools) || self.tools.specs() == tools.specs())
            && (Arc::ptr_eq(&self.system, system) || self.system == *system)
            && self.entries.len() <= history.len()
            && self
                .entries
                .iter()
                .zip(history)
                .all(|(before, now)| Arc::ptr_eq(before, now) || before == now);
        if is_same {
            return None;
        }
        let (tools_before, tools_now) = (tools_bytes(&self.tools), tools_bytes(tools));
        let (before, now) = (messages_bytes(&self.entries), messages_bytes(history));
        let comparison = compare_requests(
            &EncodedRequest {
                model: &self.model,
                tools: &tools_before,
                system: self.system.as_bytes(),
                messages: &before,
            },
            &EncodedRequest {
                model,
                tools: &tools_now,
                system: system.as_bytes(),
                messages: &now,
            },
            announced,
        );
        match comparison {
            RequestComparison::Extends { .. } => None,
            RequestComparison::Breaks(lost) => Some(Found {
                cause: lost.cause,
                part: lost.part,
                lost: Some(lost),
            }),
        }
    }
}

impl Session {
    /// What is known to differ from the last request of another process.
    fn broken_since_restart(&self, model: &ModelId, announced: &[PrefixBreakCause]) -> Option<Found> {
        let (_, last) = self.transcript().last_assistant()?;
        let found = |cause, part| Found {
            cause,
            part,
            lost: None,
        };
        if last.model != *model {
            return Some(found(PrefixBreakCause::ModelSwitch, PrefixPart::Model));
        }
        let has = |cause| announced.contains(&cause);
        if has(PrefixBreakCause::AppendedTool) {
            return Some(found(
                PrefixBreakCause::AppendedTool,
                PrefixPart::Tool(self.tools_before),
            ));
        }
        has(PrefixBreakCause::Compaction).then(|| found(PrefixBreakCause::Compaction, PrefixPart::Message(0)))
    }

    /// About how many tokens a request of these entries has.
    fn tokens_of(&self, entries: &[Arc<Entry>]) -> u64 {
        estimate_request(entries, self.fixed(), &self.shared.prices()).tokens
    }

    /// The same of the next request: only what is new is looked at.
    pub(super) fn tokens_now(&self) -> u64 {
        estimate_transcript(&self.transcript, self.fixed(), &self.shared.prices()).tokens
    }

    fn fixed(&self) -> Fixed {
        Fixed {
            system: estimate_text(&self.record.session.system_prompt),
            tools: self.tools_tokens,
        }
    }
}

fn tools_bytes(tools: &ToolSet) -> Vec<Bytes> {
    let specs = tools.specs().iter();
    specs
        .map(|spec| serde_json::to_vec(spec).unwrap_or_default().into())
        .collect()
}

fn messages_bytes(entries: &[Arc<Entry>]) -> Vec<Bytes> {
    let bodies = entries.iter().map(|entry| &entry.body);
    bodies
        .map(|body| serde_json::to_vec(body).unwrap_or_default().into())
        .collect()
}

fn cause(cause: PrefixBreakCause) -> BreakCause {
    match cause {
        PrefixBreakCause::Compaction => BreakCause::Compaction,
        PrefixBreakCause::PromptRebuild => BreakCause::PromptRebuild,
        PrefixBreakCause::ModelSwitch => BreakCause::ModelSwitch,
        PrefixBreakCause::AppendedTool => BreakCause::AppendedTool,
        PrefixBreakCause::Rewrite => BreakCause::Rewrite,
        PrefixBreakCause::Unannounced => BreakCause::Unannounced,
    }
}

fn place(part: PrefixPart) -> (BrokenPart, u64) {
    let count = |index: usize| u64::try_from(index).unwrap_or(u64::MAX);
    match part {
        PrefixPart::Model => (BrokenPart::Model, 0),
        PrefixPart::Tool(index) => (BrokenPart::Tool, count(index)),
        PrefixPart::System => (BrokenPart::System, 0),
        PrefixPart::Message(index) => (BrokenPart::Message, count(index)),
    }
}
