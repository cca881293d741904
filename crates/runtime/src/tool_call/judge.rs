//! What the gate is asked about a call, and how its answer is recorded.

use super::Calls;
use crate::approvals::Subject;
use serde_json::Value;
use std::sync::Arc;
use tidegate_message::{EventKind, ToolCall};
use tidegate_policy::{
    Admission, ArgumentCheck, Bumper, CallFacts, CallId, Caller, Classification, Evaluation, Flow, Integrity,
    IntegrityFacts, Label, Resource, Role, SessionFacts, ToolCallFlow, ToolIntegrity, ToolName, ToolPolicy,
};
use tidegate_store::NewEvent;
use tidegate_tools::{Tool, ToolDefinition};

/// What the owner has said to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Nothing.
    None,
    /// It may run.
    Granted,
    /// Its bytes may go where it sends them.
    Released,
}

impl Calls<'_> {
    pub(crate) fn judge_subject(&self, subject: &Subject<'_>, consent: Consent) -> Evaluation {
        let Subject {
            call,
            definition,
            arguments,
            resources,
            ..
        } = subject;
        self.judge_resolved(call, definition, arguments, resources, consent)
    }

    pub(super) fn judge_resolved(
        &self,
        call: &ToolCall,
        definition: &ToolDefinition,
        arguments: &Value,
        resources: &[Resource],
        consent: Consent,
    ) -> Evaluation {
        let check = &self.shared.integrity;
        let flow = ToolCallFlow {
            granted: consent == Consent::Granted,
            released: consent == Consent::Released,
            facts: CallFacts {
                arguments: Some(arguments),
                parallel: Some(self.parallel),
            },
            integrity: self.known.get(&call.id).map(|known| IntegrityFacts {
                mode: check.mode,
                action: check.action,
                ledger: &known.ledger,
                arguments: &known.arguments,
            }),
            ..self.flow_of(
                &definition.policy,
                &Admission::Offered,
                &ArgumentCheck::Valid,
                resources,
            )
        };
        self.judge(call, &flow)
    }

    /// What the gate is asked about a call, not granted.
    pub(crate) fn flow_of<'f>(
        &self,
        tool: &'f ToolPolicy,
        admission: &'f Admission,
        arguments: &'f ArgumentCheck,
        resources: &'f [Resource],
    ) -> ToolCallFlow<'f> {
        ToolCallFlow {
            tool,
            admission,
            role: self.role,
            arguments,
            produced_by: self.produced_by,
            resources,
            granted: false,
            released: false,
            integrity: None,
            facts: CallFacts::default(),
        }
    }

    pub(super) fn judge(&self, call: &ToolCall, flow: &ToolCallFlow<'_>) -> Evaluation {
        self.shared.gate.judge(Flow::ToolCall(flow), self.facts(&call.id))
    }

    pub(super) fn facts(&self, call: &CallId) -> SessionFacts<'_> {
        let policy = &self.shared.configuration.policy;
        // A call that somebody was asked about is judged as then, though nobody is there now: the answer counts.
        let attended = self.approver.is_some() || self.asked.contains_key(call);
        SessionFacts {
            taint: self.taint,
            clearance: self.clearance,
            bumper: (policy.bumpers && attended).then_some(Bumper {
                above: policy.workspace,
                acknowledged: self.acknowledged,
            }),
            caller: Caller {
                attended,
                ..self.caller
            },
        }
    }

    /// The tool, if the user's role may see it.
    pub(super) fn offered(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.registry
            .get(name)
            .filter(|tool| tool.definition().policy.role <= self.role)
    }

    pub(crate) fn judged(&self, call: &ToolCall, evaluation: Evaluation) -> NewEvent {
        // What the call touches tells of it, and so does what was decided because of that.
        let label = evaluation.taint_after.join(evaluation.label);
        let kind = EventKind::FlowJudged {
            call: Some(call.id.clone()),
            tool: Some(call.name.clone()),
            evaluation,
        };
        self.event(label, kind)
    }

    pub(crate) fn event(&self, label: Label, kind: EventKind) -> NewEvent {
        NewEvent {
            turn: Some(self.turn),
            label,
            kind,
        }
    }
}

/// What the gate is told of a tool nobody knows.
pub(super) fn unknown_tool(name: &ToolName) -> ToolPolicy {
    ToolPolicy {
        name: name.clone(),
        role: Role::Guest,
        consequential: true,
        source: Label::new(Classification::Public, Integrity::Untrusted),
        floor: Classification::Public,
        control_arguments: Vec::new(),
        approval: false,
        integrity: ToolIntegrity::default(),
    }
}
