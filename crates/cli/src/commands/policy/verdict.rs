//! A decision, for people: the rules that were looked at, and where values came from.

use crate::output;
use tidegate_policy::{Decision, Evaluation, IntegrityVerdict, Label, RuleOutcome, ValueOrigin, escaped};

pub(super) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "ALLOW",
        Decision::Block => "BLOCK",
        Decision::RequireApproval => "REQUIRE_APPROVAL",
    }
}

pub(super) fn label(label: Label) -> String {
    format!("{} {}", label.classification, label.integrity)
}

/// The decision, why, the taint before and after, and every rule.
pub(super) fn evaluation(evaluation: &Evaluation) -> anyhow::Result<()> {
    if let Some(explanation) = &evaluation.explanation {
        for line in explanation.lines() {
            output::line(&format!("  {line}"))?;
        }
    }
    let (before, after) = (label(evaluation.taint_before), label(evaluation.taint_after));
    output::line(&if before == after {
        format!("taint: {before}, before and after")
    } else {
        format!("taint: {before} before, {after} after")
    })?;
    output::line("rules looked at:")?;
    for trace in &evaluation.rules {
        let mark = match trace.outcome {
            RuleOutcome::Passed => "passed  ",
            RuleOutcome::Refused => "refused ",
            RuleOutcome::Asked => "asks    ",
            RuleOutcome::Allowed => "allowed ",
            RuleOutcome::Redacted => "redacts ",
        };
        output::line(&format!("  {mark} {}: {}", trace.rule, trace.why))?;
    }
    Ok(())
}

/// Which of the owner's words license a call, or what is missing, and where its values came from.
pub(super) fn integrity(verdict: &IntegrityVerdict) -> anyhow::Result<()> {
    match &verdict.licence {
        Some(licence) => output::line(&format!("licence: \"{}\"", escaped(licence.clause.trim())))?,
        None if verdict.missing.is_empty() => {}
        None => {
            output::line("licence: none")?;
            for missing in &verdict.missing {
                output::line(&format!("  {}", output::printable(missing)))?;
            }
        }
    }
    if !verdict.values.is_empty() {
        output::line("values that decide what the call does:")?;
    }
    for value in &verdict.values {
        let trusted = if value.trusted { "trusted" } else { "not trusted" };
        output::line(&format!(
            "  {} = \"{}\": {trusted}, {}",
            escaped(&value.argument),
            escaped(&value.value),
            origin(&value.origin)
        ))?;
        output::line(&format!("    {}", output::printable(&value.why)))?;
    }
    Ok(())
}

fn origin(origin: &ValueOrigin) -> String {
    match origin {
        ValueOrigin::Owner { clause } => format!("the owner wrote it: \"{}\"", escaped(clause.trim())),
        ValueOrigin::Derived { from } => format!("it follows from \"{}\"", escaped(from)),
        ValueOrigin::Configuration => "it stands in the configuration".into(),
        ValueOrigin::TrustedField { call, tool } => {
            format!(
                "a trusted field of the result of {} ({})",
                escaped(tool),
                escaped(call)
            )
        }
        ValueOrigin::Row { call, tool, name } => format!(
            "the only row named \"{}\" that {} listed ({})",
            escaped(name),
            escaped(tool),
            escaped(call)
        ),
        ValueOrigin::NewObject { call, tool } => {
            format!("{} made it in this session ({})", escaped(tool), escaped(call))
        }
        ValueOrigin::Result { call, tool } => {
            format!("it stood in the result of {} ({})", escaped(tool), escaped(call))
        }
        ValueOrigin::Unknown => "nothing that was read holds it".into(),
    }
}
