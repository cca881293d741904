//! What a call is answered with: its judged result, a refusal, a denial.

use super::{Answered, CallEnd, Calls, WITHHELD, WITHHELD_BEFORE};
use crate::capped::{cap, declared_classification};
use crate::redacted::put_back;
use tidegate_message::{Content, ResultStatus, ToolCall, ToolResult};
use tidegate_policy::{Evaluation, Flow, Label, Origin, Resource, ResponseFlow, ResponseStatus, SourceId};
use tidegate_store::NewEvent;
use tidegate_tools::{ToolDefinition, ToolError, ToolOutput};

/// What came of a call, and when.
pub(super) enum Came {
    /// It failed before it ran.
    Before(ToolError),
    /// It ran.
    OfRunning(Result<ToolOutput, ToolError>),
}

impl Calls<'_> {
    /// Check 12: classifies what came back, withholds what is too high, cuts what is too long.
    pub(super) fn respond(
        &self,
        call: &ToolCall,
        definition: &ToolDefinition,
        resources: &[Resource],
        came: Came,
        mut events: Vec<NewEvent>,
        journalled: bool,
    ) -> CallEnd {
        let (ran, ended) = match came {
            Came::Before(error) => (false, Err(error)),
            Came::OfRunning(ended) => (true, ended),
        };
        let (status, mut content, read) = match ended {
            Ok(output) => (ResultStatus::Ok, output.content, output.label),
            Err(error) => {
                let content = vec![Content::text(error.message)];
                // What did not begin has changed nothing, and uses no licence.
                let status = if ran || !definition.policy.consequential {
                    ResultStatus::Error
                } else {
                    ResultStatus::NotRun
                };
                (status, content, error.label)
            }
        };
        for part in &mut content {
            if let Content::Text { text } = part {
                self.shared.secrets.scrub(text);
            }
        }
        let declared = declared_classification(&content);
        let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
        let response = ResponseFlow {
            tool: &definition.policy,
            status: if status == ResultStatus::Ok {
                ResponseStatus::Ok
            } else {
                ResponseStatus::Error
            },
            read: read.join(read_label(resources)),
            declared: declared.as_deref(),
            texts: Some(&texts),
        };
        let gate = &self.shared.gate;
        let evaluation = gate.judge(Flow::Response(&response), self.facts(&call.id));
        // Most results are as they came, and are not copied.
        let redacted = match evaluation.redactions.is_empty() {
            true => Ok(None),
            false => gate
                .redactor(&evaluation)
                .map(|redactor| Some(redactor.parts(&texts).text)),
        };
        let allowed = evaluation.is_allowed();
        // What comes of a call tells of its arguments, too, and that it was made at all.
        let label = self.produced_by.join(evaluation.label);
        // What may be read was looked at by custom rules, also where the session has that level already.
        let tells_of_content = label.can_flow_to(self.clearance);
        let told = evaluation.for_model();
        events.push(self.judged(call, evaluation));
        // That it ran is no secret, and whoever believes that it did not would run it again.
        let withheld = if ran {
            ResultStatus::Withheld
        } else {
            ResultStatus::Refused
        };
        let redacted = match redacted {
            Ok(redacted) if allowed => redacted,
            // A custom rule has looked at it: that it refused tells of what it is.
            _ if tells_of_content => {
                let result = ToolResult::text(call, withheld, label, told);
                let mut end = CallEnd::plain(result, events, journalled);
                if let CallEnd::Answered(answered) = &mut end {
                    answered.raise = Some((label, origin(call, resources, None)));
                }
                return end;
            }
            _ => {
                let text = if ran { WITHHELD } else { WITHHELD_BEFORE };
                let result = ToolResult::text(call, withheld, self.produced_by, text);
                return CallEnd::plain(result, events, journalled);
            }
        };
        if let Some(redacted) = redacted {
            put_back(&mut content, redacted);
        }
        let capped = cap(
            content,
            self.shared.configuration.agent.max_output_chars,
            &call.id,
            label,
        );
        let source = capped.sources.first().map(|source| source.id.clone());
        let origin = origin(call, resources, source.clone());
        let result = ToolResult {
            call: call.id.clone(),
            provider_id: call.provider_id.clone(),
            name: call.name.clone(),
            status,
            content: capped.content,
            label,
            source,
        };
        CallEnd::Answered(Box::new(Answered {
            result,
            raise: Some((label, origin)),
            events,
            sources: capped.sources,
            journalled,
            denied_by_owner: false,
            settles: None,
        }))
    }

    pub(super) fn refused(
        &self,
        call: &ToolCall,
        status: ResultStatus,
        evaluation: Evaluation,
        mut events: Vec<NewEvent>,
    ) -> CallEnd {
        let result = ToolResult::text(call, status, self.produced_by, evaluation.for_model());
        events.push(self.judged(call, evaluation));
        CallEnd::plain(result, events, false)
    }

    /// Answers a call that was not approved.
    pub(super) fn denied(
        &self,
        call: &ToolCall,
        told: String,
        denied_by_owner: bool,
        events: Vec<NewEvent>,
        journalled: bool,
    ) -> CallEnd {
        let result = ToolResult::text(call, ResultStatus::Refused, self.produced_by, told);
        let mut end = CallEnd::plain(result, events, journalled);
        if let CallEnd::Answered(answered) = &mut end {
            answered.denied_by_owner = denied_by_owner;
        }
        end
    }
}

impl CallEnd {
    /// An answer that brings nothing into the session.
    pub(super) fn plain(result: ToolResult, events: Vec<NewEvent>, journalled: bool) -> Self {
        Self::Answered(Box::new(Answered {
            result,
            raise: None,
            events,
            sources: Vec::new(),
            journalled,
            denied_by_owner: false,
            settles: None,
        }))
    }
}

/// What raises a taint when the call has read these things.
pub(super) fn origin(call: &ToolCall, resources: &[Resource], source: Option<SourceId>) -> Origin {
    Origin::Tool {
        tool: call.name.clone(),
        resources: resources.iter().filter_map(source_name).collect(),
        source,
    }
}

/// The join of the labels of what a call reads.
pub(super) fn read_label(resources: &[Resource]) -> Label {
    Label::join_all(resources.iter().filter_map(|resource| match resource {
        Resource::Source { label, .. } | Resource::Payload { label, .. } => Some(*label),
        Resource::Sink { .. } => None,
    }))
}

fn source_name(resource: &Resource) -> Option<String> {
    match resource {
        Resource::Source { what, .. } | Resource::Payload { what, .. } => Some(what.name.clone()),
        Resource::Sink { .. } => None,
    }
}
