//! Integrity by value, through the public interface: what licenses a call and what does not.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

mod apart;
mod attacks;
mod honest;
mod hostile;
mod licences;
mod properties;
mod rows;
mod suite;
mod toolbox;
mod values;

use serde_json::Value;
use tidegate_policy::{
    ActionClass, CallId, Classification, IntegrityVerdict, Label, ProvenanceLedger, Role, RowFields,
    ToolIntegrity, ToolName, ToolOutcome, ToolPolicy, TrustedFields,
};

/// A tool that only reads, and is trusted in nothing.
fn reader(name: &str) -> ToolPolicy {
    ToolPolicy {
        name: ToolName::new(name),
        role: Role::User,
        consequential: false,
        source: Label::untrusted(Classification::Public),
        floor: Classification::Public,
        control_arguments: Vec::new(),
        approval: false,
        integrity: ToolIntegrity::default(),
    }
}

fn trusted_reader(name: &str) -> ToolPolicy {
    let mut tool = reader(name);
    tool.integrity.trusted_fields = TrustedFields::All;
    tool
}

/// A consequential tool.
fn tool(name: &str, action: ActionClass, recipients: &[&str], content: &[&str]) -> ToolPolicy {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
    let mut tool = reader(name);
    tool.consequential = true;
    tool.integrity.action = action;
    tool.integrity.egress = matches!(action, ActionClass::Egress | ActionClass::Financial);
    tool.integrity.recipient_arguments = names(recipients);
    tool.integrity.content_arguments = names(content);
    tool
}

fn mail() -> ToolPolicy {
    tool("send_email", ActionClass::Egress, &["to"], &["subject", "body"])
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("arguments are JSON")
}

/// A session in which `owner` was typed.
fn said(owner: &str) -> ProvenanceLedger {
    let mut ledger = ProvenanceLedger::default();
    ledger.owner_text(owner);
    ledger
}

fn listed(ledger: &mut ProvenanceLedger, tool: &ToolPolicy, arguments: &str, result: &str) {
    let call = CallId::new(format!("read-{}-{}", tool.name, result.len()));
    ledger.tool_result(&call, tool, &json(arguments), ToolOutcome::Text(result));
}

fn judge(ledger: &ProvenanceLedger, tool: &ToolPolicy, arguments: &str) -> IntegrityVerdict {
    ledger.judge(tool, &json(arguments))
}

/// The rows of a table with whether each was licensed, for one message at the end.
#[track_caller]
fn check(rows: impl IntoIterator<Item = (String, bool, IntegrityVerdict)>) {
    let wrong: Vec<String> = rows
        .into_iter()
        .filter(|(_, expected, verdict)| verdict.satisfied != *expected)
        .map(|(row, expected, verdict)| {
            format!(
                "{row}\n    expected {expected}: {} {:?}",
                verdict.why, verdict.missing
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn content_reader(name: &str) -> ToolPolicy {
    let mut tool = reader(name);
    tool.integrity.rows = RowFields::none();
    tool
}
