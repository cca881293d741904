//! Check 7: in an UNTRUSTED context, what a call does and that it is made are the owner's.

use super::wording::{lines, shown, some_of};
use super::{Refusal, Verdict};
use crate::{
    Integrity, IntegrityAction, IntegrityMode, IntegrityVerdict, SessionFacts, ToolCallFlow, ValueOrigin,
    escaped,
};

pub(super) fn integrity_by_value(call: &ToolCallFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let Some(facts) = call.integrity.filter(|facts| facts.mode != IntegrityMode::Off) else {
        return Verdict::Passed("integrity is not judged here".to_owned());
    };
    if !call.tool.consequential && !call.tool.integrity.egress {
        return Verdict::Passed("the call changes nothing outside the conversation".to_owned());
    }
    if call.produced_by.integrity == Integrity::Trusted {
        return Verdict::Passed("the context that wrote the call is TRUSTED".to_owned());
    }
    let tool = shown(call.tool.name.as_str());
    let verdict = match facts.mode {
        IntegrityMode::Values => facts.ledger.judge(call.tool, facts.arguments),
        IntegrityMode::Session | IntegrityMode::Off => IntegrityVerdict {
            satisfied: false,
            licence: None,
            missing: Vec::new(),
            values: Vec::new(),
            why: "the session holds UNTRUSTED data, and integrity is judged by session".to_owned(),
        },
    };
    if verdict.satisfied {
        return Verdict::Passed(verdict.why);
    }
    if call.granted && facts.action == IntegrityAction::Approve {
        return Verdict::Passed("the owner granted this call".to_owned());
    }
    let lacking: Vec<String> = verdict
        .values
        .iter()
        .filter(|value| !value.trusted)
        .map(|value| format!("{} {}", shown(&value.argument), source_of(&value.origin)))
        .collect();
    let (what, told) = if lacking.is_empty() {
        (
            verdict.why.clone(),
            format!("{tool} is not covered by what the user asked for."),
        )
    } else {
        let names: Vec<String> = verdict
            .values
            .iter()
            .filter(|value| !value.trusted)
            .map(|value| shown(&value.argument))
            .collect();
        (
            format!("not the owner's: {}", some_of(lacking).join("; ")),
            format!(
                "{tool} needs the user's approval: {} did not come from the user.",
                some_of(names).join(", ")
            ),
        )
    };
    let missing = if verdict.missing.is_empty() {
        "no clause of the owner's words licenses it".to_owned()
    } else {
        format!("looked at: {}", some_of(verdict.missing).join("; "))
    };
    let possible = match facts.action {
        IntegrityAction::Approve => {
            "possible: grant this one call, or refuse it; or ask for it by name in a new message"
        }
        IntegrityAction::Block => {
            "possible: ask for it by name in a new message, or set `integrity_action = \"approve\"` in [policy]"
        }
    };
    let refusal = Refusal {
        why: verdict.why,
        explanation: lines(
            format!("{tool} wants to act, and the session holds data that is not the owner's"),
            [what, missing, possible.to_owned()],
        ),
        told,
    };
    match facts.action {
        IntegrityAction::Approve => Verdict::Asked(refusal),
        IntegrityAction::Block => Verdict::Refused(refusal),
    }
}

/// Where a value came from, without the value.
fn source_of(origin: &ValueOrigin) -> String {
    match origin {
        ValueOrigin::Result { tool, .. } => format!("(from a result of {})", escaped(tool)),
        ValueOrigin::Owner { .. }
        | ValueOrigin::Derived { .. }
        | ValueOrigin::Configuration
        | ValueOrigin::TrustedField { .. }
        | ValueOrigin::Row { .. }
        | ValueOrigin::NewObject { .. }
        | ValueOrigin::Unknown => "(of unknown origin)".to_owned(),
    }
}
