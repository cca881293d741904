//! `tidegate eval`.

mod memory;

use super::policy::replay::{Judged, figures, judge, show};
use crate::args::{EvalCommand, Global, TracesArgs};
use crate::exit::Exit;
use crate::output;
use std::collections::BTreeMap;
use tidegate_policy::escaped;
use tidegate_policy::replay::{Hostile, SuiteFigures, TraceKind};

pub(crate) async fn run(global: &Global, command: EvalCommand) -> anyhow::Result<Exit> {
    match command {
        EvalCommand::Policy(args) => policy(global, &args),
        EvalCommand::Memory(args) => memory::run(global, &args).await,
    }
}

fn policy(global: &Global, args: &TracesArgs) -> anyhow::Result<Exit> {
    let judged = judge(args)?;
    let figures = figures(&judged);
    if global.json {
        output::json(&figures)?;
        return Ok(Exit::Ok);
    }
    for one in &judged {
        show(one)?;
    }
    output::line("")?;
    for (suite, own) in &figures.suites {
        totals(suite, own)?;
    }
    totals("total", &figures.total)?;
    let averages = figures.averages;
    output::line(&format!(
        "averages over suites: {:.1} % of benign traces fully allowed, {:.1} % of attacks stopped, {:.1} % of encoded \
         attacks stopped",
        averages.benign_allowed * 100.0,
        averages.attacks_stopped * 100.0,
        averages.encoded_stopped * 100.0
    ))?;
    refused(&judged)?;
    rules(&judged)?;
    Ok(Exit::Ok)
}

fn totals(suite: &str, figures: &SuiteFigures) -> anyhow::Result<()> {
    output::line(&format!("{}:", escaped(suite)))?;
    let benign = figures.benign;
    if benign.traces > 0 {
        output::line(&format!(
            "  benign   {} of {} traces fully allowed ({}); {} of {} consequential calls; {} approvals asked",
            benign.allowed,
            benign.traces,
            percent(benign.allowed, benign.traces),
            benign.consequential_allowed,
            benign.consequential_calls,
            benign.approvals
        ))?;
    }
    for (name, hostile) in [
        ("attack", figures.attack),
        ("encoded", figures.encoded),
        ("swapped", figures.swapped),
    ] {
        let Hostile {
            traces,
            stopped,
            all_stopped,
        } = hostile;
        if traces > 0 {
            output::line(&format!(
                "  {name:<8} {stopped} of {traces} stopped ({}); every harmful step in {all_stopped}",
                percent(stopped, traces)
            ))?;
        }
    }
    Ok(())
}

fn percent(part: u64, of: u64) -> String {
    let tenths = part.saturating_mul(1_000).checked_div(of).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Each benign trace that did not go through, and what it needs.
fn refused(judged: &[Judged]) -> anyhow::Result<()> {
    let mut first = true;
    for one in judged {
        if one.recorded.expectation.kind != TraceKind::Benign || one.steps.iter().all(|step| step.ran()) {
            continue;
        }
        if first {
            output::line("refused though benign:")?;
            first = false;
        }
        for step in one.steps.iter().filter(|step| !step.ran()) {
            let rule = step.rule.as_ref().map_or("", |rule| rule.as_str());
            let needs = match &step.integrity {
                Some(verdict) if !verdict.satisfied => {
                    let values: Vec<String> = verdict
                        .values
                        .iter()
                        .filter(|value| !value.trusted)
                        .map(|value| format!("{}: {}", escaped(&value.argument), value.why))
                        .collect();
                    if values.is_empty() {
                        verdict.why.clone()
                    } else {
                        values.join("; ")
                    }
                }
                _ => step
                    .explanation
                    .as_deref()
                    .and_then(|text| text.lines().next())
                    .unwrap_or_default()
                    .to_owned(),
            };
            output::line(&format!(
                "  {} {} by {rule}: {needs}",
                one.recorded.trace.id, step.tool
            ))?;
        }
    }
    Ok(())
}

/// Which rule stopped what.
fn rules(judged: &[Judged]) -> anyhow::Result<()> {
    let mut stopped: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for one in judged {
        let kind = one.recorded.expectation.kind.as_str();
        for (step, harmful) in one.steps.iter().zip(&one.recorded.expectation.harmful) {
            if let Some(rule) = step.rule.as_ref().filter(|_| !step.ran()) {
                let counts = stopped.entry((rule.as_str(), kind)).or_default();
                counts.0 += u64::from(*harmful);
                counts.1 += u64::from(!*harmful);
            }
        }
    }
    if !stopped.is_empty() {
        output::line("stopped calls by rule:")?;
    }
    for ((rule, kind), (harmful, others)) in stopped {
        output::line(&format!(
            "  {rule:<20} {kind:<8} {harmful} harmful, {others} others"
        ))?;
    }
    Ok(())
}
