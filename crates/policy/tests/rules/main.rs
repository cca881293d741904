//! Custom rules: what a file may say, what is said of a wrong one, what rules do to flows, and redaction.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod conditions;
mod files;
mod flows;
mod properties;
mod redaction;

use serde_json::Value;
use tidegate_policy::{
    Admission, AnswerFlow, ArgumentCheck, CallFacts, Caller, Classification, Evaluation, Flow, Gate, Label,
    Resource, Role, RuleSet, SessionFacts, Taint, ToolCallFlow, ToolPolicy,
};

/// The rules of a file that is right.
fn rules(text: &str) -> RuleSet {
    RuleSet::parse("tidegate.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// One rule of a file, from its short form.
fn rule(id: &str, hook: &str, rest: &str) -> String {
    format!("[[policy.rules]]\nid = \"{id}\"\nhook = \"{hook}\"\n{rest}\n\n")
}

fn gate(text: &str) -> Gate {
    Gate::default().with_rules(rules(text))
}

fn tool_policy(name: &str) -> ToolPolicy {
    ToolPolicy {
        name: name.into(),
        role: Role::Guest,
        consequential: false,
        source: Label::BOTTOM,
        floor: Classification::Public,
        control_arguments: Vec::new(),
        approval: false,
        integrity: tidegate_policy::ToolIntegrity::default(),
    }
}

/// A tool call that every built-in rule lets pass until a test changes something.
struct Call {
    tool: ToolPolicy,
    resources: Vec<Resource>,
    arguments: Option<Value>,
    parallel: Option<u64>,
    granted: bool,
    taint: Label,
    caller: Caller<'static>,
}

impl Call {
    fn of(tool: &str, arguments: Value) -> Self {
        Self {
            tool: tool_policy(tool),
            resources: Vec::new(),
            arguments: Some(arguments),
            parallel: Some(1),
            granted: false,
            taint: Label::BOTTOM,
            caller: Caller {
                user: Some("ann"),
                role: Some(Role::User),
                session_name: None,
                channel: None,
                attended: true,
            },
        }
    }

    fn judge(&self, gate: &Gate) -> Evaluation {
        let flow = ToolCallFlow {
            tool: &self.tool,
            admission: &Admission::Offered,
            role: Role::User,
            arguments: &ArgumentCheck::Valid,
            produced_by: self.taint,
            resources: &self.resources,
            granted: self.granted,
            released: false,
            integrity: None,
            facts: CallFacts {
                arguments: self.arguments.as_ref(),
                parallel: self.parallel,
            },
        };
        let taint = Taint::new(self.taint);
        gate.judge(Flow::ToolCall(&flow), session(&taint, self.caller))
    }
}

fn session<'a>(taint: &'a Taint, caller: Caller<'a>) -> SessionFacts<'a> {
    SessionFacts {
        taint,
        clearance: Classification::Restricted,
        bumper: None,
        caller,
    }
}

/// An answer of a session that holds PUBLIC data, for somebody who may read all.
fn judge_answer(gate: &Gate, texts: Option<&[&str]>) -> Evaluation {
    let answer = AnswerFlow {
        reader: "ann",
        clearance: Classification::Restricted,
        texts,
        recipients: &[],
        granted: false,
    };
    gate.judge(
        Flow::Answer(&answer),
        session(&Taint::default(), Caller::default()),
    )
}

fn deciding(evaluation: &Evaluation) -> Option<&str> {
    evaluation.rule.as_ref().map(|rule| rule.as_str())
}
