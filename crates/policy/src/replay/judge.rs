//! The replay itself: one session a trace.

use super::read::ReplayTool;
use super::{ReplayTools, Trace, TraceStep};
use crate::provenance::{argument_texts, nouns_of};
use crate::{
    Admission, ArgumentCheck, CallFacts, CallId, Caller, Classification, Decision, Flow, Gate,
    IntegrityAction, IntegrityFacts, IntegrityMode, IntegrityVerdict, Label, Origin, ProvenanceLedger,
    Resource, ResourceKind, ResourceRef, ResponseFlow, ResponseStatus, Role, RuleId, SessionFacts, SinkLevel,
    Taint, ToolCallFlow, ToolName, ToolOutcome, ToolPolicy,
};
use serde::Serialize;
use serde_json::Value;

/// The policy that traces are judged under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayPolicy {
    /// The session's clearance.
    pub clearance: Classification,
    /// The level of recipients that the owner named (`policy.owner_named`); all others are PUBLIC.
    pub owner_named: Classification,
    /// How integrity is judged.
    pub mode: IntegrityMode,
    /// What becomes of an unlicensed call.
    pub action: IntegrityAction,
}

impl Default for ReplayPolicy {
    /// Clearance RESTRICTED, recipients in owner text CONFIDENTIAL, integrity by values with approvals.
    fn default() -> Self {
        Self {
            clearance: Classification::Restricted,
            owner_named: Classification::Confidential,
            mode: IntegrityMode::Values,
            action: IntegrityAction::Approve,
        }
    }
}

/// What the gate said of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepDecision {
    /// The tool.
    pub tool: String,
    /// The decision. What is not allowed did not run.
    pub decision: Decision,
    /// The rule that refused or asked.
    pub rule: Option<RuleId>,
    /// Whether the tool is consequential.
    pub consequential: bool,
    /// The explanation, unless it is allowed.
    pub explanation: Option<String>,
    /// What check 7 found, whatever decided; none where it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<IntegrityVerdict>,
}

impl StepDecision {
    /// Whether the step ran.
    pub fn ran(&self) -> bool {
        self.decision == Decision::Allow
    }
}

/// Judges a trace step by step. A step that does not run has no result, and the trace goes on.
pub fn replay(tools: &ReplayTools, trace: &Trace, policy: ReplayPolicy) -> Vec<StepDecision> {
    let mut ledger = ProvenanceLedger::default();
    ledger.owner_text(&trace.prompt);
    let mut session = Session {
        tools,
        suite: &trace.suite,
        policy,
        gate: Gate::default(),
        taint: Taint::default(),
        ledger,
    };
    trace
        .steps
        .iter()
        .enumerate()
        .map(|(number, step)| session.step(number, step))
        .collect()
}

struct Session<'t> {
    tools: &'t ReplayTools,
    suite: &'t str,
    policy: ReplayPolicy,
    gate: Gate,
    taint: Taint,
    ledger: ProvenanceLedger,
}

impl Session<'_> {
    fn step(&mut self, number: usize, step: &TraceStep) -> StepDecision {
        let call = CallId::new(format!("step-{number}"));
        let known = self
            .tools
            .suites
            .get(self.suite)
            .and_then(|tools| tools.get(&step.tool));
        let unknown;
        let (tool, admission, resources) = match known {
            Some(tool) => (
                &tool.policy,
                Admission::Offered,
                self.resources(tool, &step.arguments),
            ),
            None => {
                unknown = unknown_tool(&step.tool);
                let available = self
                    .tools
                    .suites
                    .get(self.suite)
                    .map(|tools| tools.values().map(|tool| tool.policy.name.clone()).collect())
                    .unwrap_or_default();
                (&unknown, Admission::NotOffered { available }, Vec::new())
            }
        };
        let flow = ToolCallFlow {
            tool,
            admission: &admission,
            role: Role::User,
            arguments: &ArgumentCheck::Valid,
            produced_by: self.taint.label(),
            resources: &resources,
            granted: false,
            released: false,
            integrity: Some(IntegrityFacts {
                mode: self.policy.mode,
                action: self.policy.action,
                ledger: &self.ledger,
                arguments: &step.arguments,
            }),
            facts: CallFacts {
                arguments: Some(&step.arguments),
                parallel: Some(1),
            },
        };
        let evaluation = self.gate.judge(Flow::ToolCall(&flow), self.facts());
        let applies = tool.consequential || tool.integrity.egress;
        let verdict = applies.then(|| self.ledger.judge(tool, &step.arguments));
        if evaluation.is_allowed() {
            if let Some(verdict) = &verdict {
                self.ledger.consume(&call, verdict);
            }
            if let Some(result) = &step.result {
                self.take_in(&call, tool, &step.arguments, result);
            }
        }
        StepDecision {
            tool: step.tool.clone(),
            decision: evaluation.decision,
            rule: evaluation.rule,
            consequential: tool.consequential,
            explanation: evaluation.explanation,
            integrity: verdict,
        }
    }

    fn facts(&self) -> SessionFacts<'_> {
        SessionFacts {
            taint: &self.taint,
            clearance: self.policy.clearance,
            bumper: None,
            caller: Caller::default(),
        }
    }

    fn take_in(&mut self, call: &CallId, tool: &ToolPolicy, arguments: &Value, result: &str) {
        let texts = [result];
        let response = ResponseFlow {
            tool,
            status: ResponseStatus::Ok,
            read: Label::BOTTOM,
            declared: None,
            texts: Some(&texts),
        };
        let evaluation = self.gate.judge(Flow::Response(&response), self.facts());
        let origin = Origin::Tool {
            tool: tool.name.clone(),
            resources: Vec::new(),
            source: None,
        };
        self.taint.raise(evaluation.taint_after, origin, 1);
        if evaluation.is_allowed() {
            self.ledger
                .tool_result(call, tool, arguments, ToolOutcome::Text(result));
        }
    }

    /// Whom a call sends to. Where it names nobody, it acts in the tool's own system.
    fn resources(&self, tool: &ReplayTool, arguments: &Value) -> Vec<Resource> {
        let policy = &tool.policy;
        if !policy.integrity.egress {
            return Vec::new();
        }
        let recipients: Vec<String> = policy
            .integrity
            .recipient_arguments
            .iter()
            .filter_map(|argument| arguments.get(argument))
            .flat_map(argument_texts)
            .collect();
        if recipients.is_empty() {
            let insists = policy
                .integrity
                .recipient_arguments
                .iter()
                .any(|argument| tool.required.contains(argument));
            return vec![Resource::Sink {
                what: ResourceRef {
                    kind: ResourceKind::Recipient,
                    name: format!("{} without a recipient", policy.name),
                },
                level: SinkLevel::Level(if insists {
                    Classification::Public
                } else {
                    self.own_system(policy)
                }),
            }];
        }
        recipients
            .into_iter()
            .map(|recipient| Resource::Sink {
                level: SinkLevel::Level(if self.ledger.is_owner_named(&recipient) {
                    self.policy.owner_named
                } else {
                    Classification::Public
                }),
                what: ResourceRef {
                    kind: if recipient.contains("://") {
                        ResourceKind::Url
                    } else {
                        ResourceKind::Recipient
                    },
                    name: recipient,
                },
            })
            .collect()
    }

    /// What the system behind a tool holds: the highest level of the suite's tools about the same things.
    fn own_system(&self, tool: &ToolPolicy) -> Classification {
        let vocabulary = &self.ledger.vocabulary;
        let own = nouns_of(tool.name.as_str(), vocabulary);
        self.tools
            .suites
            .get(self.suite)
            .into_iter()
            .flat_map(|tools| tools.values())
            .filter(|other| {
                let nouns = nouns_of(other.policy.name.as_str(), vocabulary);
                nouns.words.iter().any(|word| own.words.contains(word))
            })
            .map(|other| other.policy.source.classification)
            .fold(tool.source.classification, Classification::max)
    }
}

fn unknown_tool(name: &str) -> ToolPolicy {
    ToolPolicy {
        name: ToolName::new(name),
        role: Role::Guest,
        consequential: true,
        source: Label::untrusted(Classification::Public),
        floor: Classification::Public,
        control_arguments: Vec::new(),
        approval: false,
        integrity: crate::ToolIntegrity::default(),
    }
}
