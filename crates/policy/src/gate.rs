//! The one gate: which rules a flow has to pass, in which order.

mod agents;
mod asking;
mod crossing;
mod custom;
mod integrity;
mod secrets;
mod tool_call;
mod wording;

use crate::rules::RuleSet;
use crate::{
    Decision, Evaluation, Flow, FlowKind, Hook, Label, Redactor, RuleId, RuleOutcome, RuleTrace,
    SecretScopes, SessionFacts, UnknownRedaction, Why, escaped,
};
use custom::{
    AgentSubject, CallSubject, ContextSubject, McpSubject, OutputSubject, ResetSubject, ResponseSubject,
    SecretSubject, Subject,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wording::shown;

/// Names of the built-in rules.
pub mod rule {
    /// Check 1, set: the tool is offered in this context.
    pub const ALLOWED_SET: &str = "allowed-set";
    /// Check 1, role: the user's role reaches the tool's.
    pub const ROLE: &str = "role";
    /// Check 2: the arguments fit the tool's JSON schema.
    pub const ARGUMENTS: &str = "arguments";
    /// Check 3: the program's own files are never a sink.
    pub const NEVER_WRITE_OWN_FILES: &str = "never-write-own-files";
    /// Check 4: the session's taint reaches the tool's floor.
    pub const TOOL_FLOOR: &str = "tool-floor";
    /// Checks 5 and 12: nothing above the clearance is read.
    pub const READ_CEILING: &str = "read-ceiling";
    /// Check 6: data moves up in classification, never down.
    pub const NO_WRITE_DOWN: &str = "no-write-down";
    /// Check 7: control values and the decision are the owner's.
    pub const INTEGRITY_BY_VALUE: &str = "integrity-by-value";
    /// Check 8: the owner is asked before the taint rises above what is usual here.
    pub const BUMPER: &str = "bumper";
    /// The owner is asked before each call of the tool (`[policy.tools.NAME] approval`).
    pub const TOOL_APPROVAL: &str = "tool-approval";
    /// The context's level must be within the model provider's clearance.
    pub const PROVIDER_CLEARANCE: &str = "provider-clearance";
    /// Check 10: secrets go only where they may.
    pub const SECRET_SCOPE: &str = "secret-scope";
    /// The gate itself failed: nothing is let through on that.
    pub const INTERNAL_ERROR: &str = "internal-error";
    /// A blocked MCP server is not called, nor a tool of it that changed since the owner approved it.
    pub const MCP_STATUS: &str = "mcp-status";

    /// All of them: names that no custom rule can have.
    pub const ALL: &[&str] = &[
        ALLOWED_SET,
        ROLE,
        ARGUMENTS,
        NEVER_WRITE_OWN_FILES,
        TOOL_FLOOR,
        READ_CEILING,
        NO_WRITE_DOWN,
        INTEGRITY_BY_VALUE,
        BUMPER,
        TOOL_APPROVAL,
        SECRET_SCOPE,
        PROVIDER_CLEARANCE,
        MCP_STATUS,
        INTERNAL_ERROR,
    ];
}

/// The one gate.
///
/// Each kind of flow passes its own list of rules, in order:
/// - [`Flow::ToolCall`]: allowed-set, role, arguments, never-write-own-files, tool-floor, read-ceiling,
///   no-write-down, integrity-by-value, bumper, tool-approval. What moves is the context that produced the arguments, with what
///   the call sends along and what it reads (it may copy that to where it writes).
/// - [`Flow::Response`]: read-ceiling. What moves has the tool's source label, that of what was read, and the
///   level the result declares.
/// - [`Flow::Model`]: provider-clearance. What moves is the whole context, so the taint.
/// - [`Flow::Context`]: read-ceiling, with the text's label.
/// - [`Flow::Answer`]: no-write-down, with the taint.
/// - [`Flow::SecretAccess`] and [`Flow::SessionReset`]: custom rules alone.
/// - [`Flow::AgentInvocation`]: no-write-down, with the label of the context that wrote the task.
/// - [`Flow::McpToolCall`]: mcp-status, and no-write-down with the label of the context that produced the arguments.
///
/// After its built-in rules each flow but [`Flow::Model`] passes the custom rules of its [`Hook`], see [`RuleSet`].
/// They can refuse, ask and redact what the built-in rules let pass, and let through nothing those refused.
///
/// The first refusal ends it. The last two built-in rules of a call do not refuse: they want the owner to be asked, and
/// are satisfied by a grant for exactly that call
/// ([`ToolCallFlow::granted`](crate::ToolCallFlow::granted)). A grant satisfies no other rule, so what is refused
/// stays refused.
///
/// A response or a context that is let in raises the taint, and so does one that a custom rule refuses, since that
/// it did tells of the content; nothing else does.
///
/// ```
/// use tidegate_policy::{AnswerFlow, Caller, Classification::*, Flow, Gate, Label, SessionFacts, Taint};
///
/// let taint = Taint::new(Label::trusted(Confidential));
/// let session = SessionFacts { taint: &taint, clearance: Confidential, bumper: None, caller: Caller::default() };
/// let answer = AnswerFlow { reader: "guest", clearance: Internal, texts: None, recipients: &[], granted: false };
/// let evaluation = Gate::default().judge(Flow::Answer(&answer), session);
///
/// assert!(!evaluation.is_allowed());
/// assert_eq!(evaluation.rule.as_ref().map(|rule| rule.as_str()), Some("no-write-down"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gate {
    rules: Arc<RuleSet>,
    secrets: Arc<SecretScopes>,
}

impl Gate {
    /// A gate that looks at these custom rules after its own. It copies nothing, and a clone of it shares them.
    #[must_use]
    pub fn with_rules(self, rules: impl Into<Arc<RuleSet>>) -> Self {
        Self {
            rules: rules.into(),
            ..self
        }
    }

    /// A gate that knows where these secrets may go. Without, every placeholder for a secret is refused.
    #[must_use]
    pub fn with_secrets(self, secrets: impl Into<Arc<SecretScopes>>) -> Self {
        Self {
            secrets: secrets.into(),
            ..self
        }
    }

    /// Where secrets may go.
    pub fn secrets(&self) -> &SecretScopes {
        &self.secrets
    }

    /// The custom rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// What redacts the text of a flow as its evaluation wants it.
    ///
    /// # Errors
    /// If the evaluation comes from a gate with other rules: then nothing may be let through on its word.
    pub fn redactor(&self, evaluation: &Evaluation) -> Result<Redactor<'_>, UnknownRedaction> {
        match evaluation.flow.hook() {
            Some(hook) => self.rules.redactor(hook, &evaluation.redactions),
            None => Ok(Redactor::default()),
        }
    }

    /// Judges one flow. The same flow in the same session always has the same evaluation.
    ///
    /// A fault of the gate itself is a refusal ([`rule::INTERNAL_ERROR`]), never a permission.
    pub fn judge(&self, flow: Flow<'_>, session: SessionFacts<'_>) -> Evaluation {
        guarded(flow.kind(), session.taint.label(), || self.judged(flow, session))
    }

    fn judged(&self, flow: Flow<'_>, session: SessionFacts<'_>) -> Evaluation {
        let taint = session.taint.label();
        match flow {
            Flow::ToolCall(call) => {
                let moving = Moving::Through(tool_call::moving(call));
                let mut judging = self.begin(FlowKind::ToolCall, session, moving);
                judging.run(&tool_call::stages(), call);
                judging.custom(&Subject {
                    hook: Hook::PreToolCall,
                    what: &|| format!("the call of {}", shown(call.tool.name.as_str())),
                    told: "This call",
                    granted: call.granted,
                    facts: &CallSubject::new(call, session),
                });
                judging.built_in(rule::SECRET_SCOPE, || secrets::secret_scope(call, &self.secrets));
                judging.end()
            }
            Flow::Response(response) => {
                let label = crossing::label_of_response(response);
                let mut judging = self.begin(FlowKind::Response, session, Moving::Into(label));
                judging.run(&crossing::response_stages(), response);
                judging.custom(&Subject {
                    hook: Hook::PostToolResponse,
                    what: &|| format!("the result of {}", shown(response.tool.name.as_str())),
                    told: "The result",
                    granted: false,
                    facts: &ResponseSubject::new(response, label, session),
                });
                judging.end()
            }
            Flow::Model(model) => {
                let mut judging = self.begin(FlowKind::Model, session, Moving::Through(taint));
                judging.run(&crossing::model_stages(), model);
                judging.end()
            }
            Flow::Context(context) => {
                let mut judging = self.begin(FlowKind::Context, session, Moving::Into(context.label));
                judging.run(&crossing::context_stages(), context);
                judging.custom(&Subject {
                    hook: Hook::PreContextInjection,
                    what: &|| escaped(context.what).into_owned(),
                    told: "The text",
                    granted: false,
                    facts: &ContextSubject::new(context, session),
                });
                judging.end()
            }
            Flow::Answer(answer) => {
                let mut judging = self.begin(FlowKind::Answer, session, Moving::Through(taint));
                judging.run(&crossing::answer_stages(), answer);
                judging.custom(&Subject {
                    hook: Hook::PreOutput,
                    what: &|| format!("the text for {}", shown(answer.reader)),
                    told: "This text",
                    granted: answer.granted,
                    facts: &OutputSubject::new(answer, session),
                });
                judging.end()
            }
            Flow::SecretAccess(secret) => {
                let mut judging = self.begin(FlowKind::SecretAccess, session, Moving::Through(taint));
                judging.custom(&Subject {
                    hook: Hook::SecretAccess,
                    what: &|| format!("the secret {} in {}", shown(secret.secret), shown(secret.tool)),
                    told: "The secret",
                    granted: secret.granted,
                    facts: &SecretSubject::new(secret, session),
                });
                judging.end()
            }
            Flow::SessionReset(reset) => {
                let mut judging = self.begin(FlowKind::SessionReset, session, Moving::Through(taint));
                judging.custom(&Subject {
                    hook: Hook::SessionReset,
                    what: &|| "the reset of the session".to_owned(),
                    told: "The reset",
                    granted: false,
                    facts: &ResetSubject { reset, session },
                });
                judging.end()
            }
            Flow::AgentInvocation(agent) => {
                let moving = Moving::Through(agent.produced_by);
                let mut judging = self.begin(FlowKind::AgentInvocation, session, moving);
                judging.run(&agents::agent_stages(), agent);
                judging.custom(&Subject {
                    hook: Hook::AgentInvocation,
                    what: &|| format!("the start of a {}", agent.kind.as_str()),
                    told: "This agent",
                    granted: agent.granted,
                    facts: &AgentSubject { agent, session },
                });
                judging.end()
            }
            Flow::McpToolCall(call) => {
                let moving = Moving::Through(call.produced_by);
                let mut judging = self.begin(FlowKind::McpToolCall, session, moving);
                judging.run(&agents::mcp_stages(), call);
                judging.custom(&Subject {
                    hook: Hook::McpToolCall,
                    what: &|| format!("the call of {} at {}", shown(call.tool), shown(call.server)),
                    told: "This call",
                    granted: call.granted,
                    facts: &McpSubject::new(call, session),
                });
                judging.end()
            }
        }
    }

    fn begin<'g>(&'g self, flow: FlowKind, session: SessionFacts<'g>, moving: Moving) -> Judging<'g> {
        let taint = session.taint.label();
        let (label, taint_after) = match moving {
            Moving::Into(label) => (label, taint.join(label)),
            Moving::Through(label) => (label, taint),
        };
        let custom = flow.hook().map_or(0, |hook| self.rules.at(hook).len());
        Judging {
            gate: self,
            session,
            refused: false,
            evaluation: Evaluation {
                flow,
                decision: Decision::Allow,
                rule: None,
                rules: Vec::with_capacity(custom + MOST_STAGES),
                taint_before: taint,
                taint_after,
                label,
                redactions: Vec::new(),
                explanation: None,
                told: None,
            },
        }
    }
}

/// Built-in rules of the kind of flow with the most.
const MOST_STAGES: usize = 12;

/// One flow on its way through the checks.
struct Judging<'g> {
    gate: &'g Gate,
    session: SessionFacts<'g>,
    /// Once it is, nothing more is looked at.
    refused: bool,
    evaluation: Evaluation,
}

impl Judging<'_> {
    /// Looks at built-in rules, in order.
    fn run<F>(&mut self, stages: &[Stage<F>], flow: &F) {
        let session = self.session;
        for stage in stages {
            self.built_in(stage.rule, || (stage.judge)(flow, session));
        }
    }

    /// Looks at one built-in rule.
    fn built_in(&mut self, rule: &'static str, judge: impl FnOnce() -> Verdict) {
        if self.refused {
            return;
        }
        let rule = RuleId::built_in(rule);
        let (ruling, outcome, refusal) = match judge() {
            Verdict::Passed(why) => {
                self.evaluation.trace(rule, RuleOutcome::Passed, why.into());
                return;
            }
            Verdict::Refused(refusal) => (Ruling::Refused, RuleOutcome::Refused, refusal),
            Verdict::Asked(refusal) => (Ruling::Asked, RuleOutcome::Asked, refusal),
        };
        self.evaluation
            .trace(rule.clone(), outcome, refusal.why.as_str().into());
        self.evaluation.taint_after = self.evaluation.taint_before;
        self.refused = ruling == Ruling::Refused;
        self.evaluation.settle(rule, ruling, refusal);
    }

    /// Looks at the custom rules of a hook (check 9 of a tool call).
    ///
    /// What enters has been let in by the built-in rules when these look at its content. Whoever learns that
    /// they refused it learns of that content; so the taint rises all the same.
    fn custom(&mut self, subject: &Subject<'_>) {
        if !self.refused {
            self.refused = !custom::apply(&mut self.evaluation, &self.gate.rules, subject);
        }
    }

    fn end(self) -> Evaluation {
        self.evaluation
    }
}

/// The evaluation, or a refusal if making it panics.
fn guarded(flow: FlowKind, taint: Label, judge: impl FnOnce() -> Evaluation) -> Evaluation {
    // Nothing is kept of an evaluation that was not finished, and the gate has no state.
    catch_unwind(AssertUnwindSafe(judge)).unwrap_or_else(|_| {
        let rule = RuleId::from(rule::INTERNAL_ERROR);
        Evaluation {
            flow,
            decision: Decision::Block,
            rule: Some(rule.clone()),
            rules: vec![RuleTrace {
                rule,
                outcome: RuleOutcome::Refused,
                why: "the gate failed while it judged this".into(),
            }],
            taint_before: taint,
            taint_after: taint,
            // Nothing is known of what moves.
            label: Label::UNREADABLE,
            redactions: Vec::new(),
            explanation: Some(
                "the gate failed inside while it judged this, so it is refused\n  \
                 possible: report it as a fault of the program, with the rules in use"
                    .into(),
            ),
            told: Some("This was refused because of a fault inside the program.".into()),
        }
    })
}

/// A rule as one of the stages a flow of kind `F` passes.
struct Stage<F> {
    rule: &'static str,
    judge: fn(&F, SessionFacts<'_>) -> Verdict,
}

/// What a rule says.
enum Verdict {
    /// Nothing against it, and why.
    Passed(String),
    /// No.
    Refused(Refusal),
    /// Not before the owner was asked.
    Asked(Refusal),
}

/// The texts of a refusal, or of a question. All names in them are escaped.
struct Refusal {
    /// For the trace: a sentence without a final stop.
    why: String,
    /// For people.
    explanation: String,
    /// For the model.
    told: String,
}

/// The label of the data that moves, and whether it enters the session's context.
enum Moving {
    /// It enters: the taint rises if it may.
    Into(Label),
    /// It leaves, or only asks.
    Through(Label),
}

/// What a rule that does not let pass wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ruling {
    /// No.
    Refused,
    /// Not before the owner was asked.
    Asked,
}

impl Evaluation {
    fn trace(&mut self, rule: RuleId, outcome: RuleOutcome, why: Why) {
        self.rules.push(RuleTrace { rule, outcome, why });
    }

    /// Decides as `rule` wants; the first question counts, and the first refusal counts more.
    fn settle(&mut self, rule: RuleId, ruling: Ruling, refusal: Refusal) {
        let decision = match ruling {
            Ruling::Refused => Decision::Block,
            Ruling::Asked => Decision::RequireApproval,
        };
        let Refusal {
            why,
            explanation,
            told,
        } = refusal;
        if decision == self.decision {
            // One question: what is granted is the flow, whichever rules ask.
            let also = self.explanation.take().unwrap_or_default();
            self.explanation = Some(format!("{also}\n  also: {why}"));
            return;
        }
        self.decision = decision;
        self.rule = Some(rule);
        self.explanation = Some(explanation);
        self.told = Some(told);
        if decision == Decision::Block {
            self.redactions.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_gate_is_a_refusal() {
        let taint = Label::trusted(crate::Classification::Internal);
        let evaluation = guarded(FlowKind::Answer, taint, || panic!("a fault"));
        assert_eq!(evaluation.decision, Decision::Block);
        assert_eq!(
            evaluation.rule.as_ref().map(RuleId::as_str),
            Some(rule::INTERNAL_ERROR)
        );
        assert_eq!((evaluation.taint_before, evaluation.taint_after), (taint, taint));
        assert!(!evaluation.for_model().is_empty());
    }
}
