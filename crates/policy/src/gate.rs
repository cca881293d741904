//! The one gate: which rules a flow has to pass, in which order.

mod asking;
mod crossing;
mod tool_call;
mod wording;

use crate::{Decision, Evaluation, Flow, FlowKind, Label, RuleId, RuleOutcome, RuleTrace, SessionFacts};

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
    /// Check 8: the owner is asked before the taint rises above what is usual here.
    pub const BUMPER: &str = "bumper";
    /// The owner is asked before each call of the tool (`[policy.tools.NAME] approval`).
    pub const TOOL_APPROVAL: &str = "tool-approval";
    /// The context's level must be within the model provider's clearance.
    pub const PROVIDER_CLEARANCE: &str = "provider-clearance";
}

/// The one gate.
///
/// Each kind of flow passes its own list of rules, in order:
/// - [`Flow::ToolCall`]: allowed-set, role, arguments, never-write-own-files, tool-floor, read-ceiling,
///   no-write-down, bumper, tool-approval. What moves is the context that produced the arguments, with what
///   the call sends along and what it reads (it may copy that to where it writes).
/// - [`Flow::Response`]: read-ceiling. What moves has the tool's source label, that of what was read, and the
///   level the result declares.
/// - [`Flow::Model`]: provider-clearance. What moves is the whole context, so the taint.
/// - [`Flow::Context`]: read-ceiling, with the text's label.
/// - [`Flow::Answer`]: no-write-down, with the taint.
///
/// The first refusal ends it. The last two rules of a call do not refuse: they want the owner to be asked, and
/// are satisfied by a grant for exactly that call
/// ([`ToolCallFlow::granted`](crate::ToolCallFlow::granted)). A grant satisfies no other rule, so what is refused
/// stays refused.
///
/// A response or a context that is let in raises the taint; nothing else does.
///
/// ```
/// use tidegate_policy::{AnswerFlow, Classification::*, Flow, Gate, Label, SessionFacts, Taint};
///
/// let taint = Taint::new(Label::trusted(Confidential));
/// let session = SessionFacts { taint: &taint, clearance: Confidential, bumper: None };
/// let answer = AnswerFlow { reader: "guest", clearance: Internal };
/// let evaluation = Gate::default().judge(Flow::Answer(&answer), session);
///
/// assert!(!evaluation.is_allowed());
/// assert_eq!(evaluation.rule.as_ref().map(|rule| rule.as_str()), Some("no-write-down"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gate {}

impl Gate {
    /// Judges one flow. The same flow in the same session always has the same evaluation.
    pub fn judge(&self, flow: Flow<'_>, session: SessionFacts<'_>) -> Evaluation {
        let taint = session.taint.label();
        match flow {
            Flow::ToolCall(call) => {
                let moving = Moving::Through(tool_call::moving(call));
                evaluate(FlowKind::ToolCall, &tool_call::stages(), call, session, moving)
            }
            Flow::Response(response) => {
                let moving = Moving::Into(crossing::label_of_response(response));
                evaluate(
                    FlowKind::Response,
                    &crossing::response_stages(),
                    response,
                    session,
                    moving,
                )
            }
            Flow::Model(model) => {
                let moving = Moving::Through(taint);
                evaluate(FlowKind::Model, &crossing::model_stages(), model, session, moving)
            }
            Flow::Context(context) => {
                let moving = Moving::Into(context.label);
                evaluate(
                    FlowKind::Context,
                    &crossing::context_stages(),
                    context,
                    session,
                    moving,
                )
            }
            Flow::Answer(answer) => {
                let moving = Moving::Through(taint);
                evaluate(
                    FlowKind::Answer,
                    &crossing::answer_stages(),
                    answer,
                    session,
                    moving,
                )
            }
        }
    }
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

fn evaluate<F>(
    kind: FlowKind,
    stages: &[Stage<F>],
    flow: &F,
    session: SessionFacts<'_>,
    moving: Moving,
) -> Evaluation {
    let taint = session.taint.label();
    let (label, taint_if_allowed) = match moving {
        Moving::Into(label) => (label, taint.join(label)),
        Moving::Through(label) => (label, taint),
    };
    let mut evaluation = Evaluation {
        flow: kind,
        decision: Decision::Allow,
        rule: None,
        rules: Vec::with_capacity(stages.len()),
        taint_before: taint,
        taint_after: taint_if_allowed,
        label,
        explanation: None,
        told: None,
    };
    for stage in stages {
        let rule = RuleId::from(stage.rule);
        let (outcome, refusal) = match (stage.judge)(flow, session) {
            Verdict::Passed(why) => {
                evaluation.trace(rule, RuleOutcome::Passed, why);
                continue;
            }
            Verdict::Refused(refusal) => (RuleOutcome::Refused, refusal),
            Verdict::Asked(refusal) => (RuleOutcome::Asked, refusal),
        };
        let Refusal {
            why,
            explanation,
            told,
        } = refusal;
        evaluation.trace(rule.clone(), outcome, why.clone());
        evaluation.taint_after = taint;
        let decision = if outcome == RuleOutcome::Refused {
            Decision::Block
        } else {
            Decision::RequireApproval
        };
        if decision == evaluation.decision {
            // One question: what is granted is the call, whichever rules ask.
            let also = evaluation.explanation.take().unwrap_or_default();
            evaluation.explanation = Some(format!("{also}\n  also: {why}"));
        } else {
            evaluation.decision = decision;
            evaluation.rule = Some(rule);
            evaluation.explanation = Some(explanation);
            evaluation.told = Some(told);
        }
        if decision == Decision::Block {
            break;
        }
    }
    evaluation
}

impl Evaluation {
    fn trace(&mut self, rule: RuleId, outcome: RuleOutcome, why: String) {
        self.rules.push(RuleTrace { rule, outcome, why });
    }
}
