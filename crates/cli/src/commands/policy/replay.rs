//! `tidegate policy replay`.

use crate::args::{Global, TracesArgs};
use crate::exit::Exit;
use crate::output;
use anyhow::Context as _;
use serde::Serialize;
use std::path::Path;
use tidegate_policy::Decision;
use tidegate_policy::replay::{
    Figures, RecordedTrace, ReplayPolicy, ReplayTools, StepDecision, read_traces, replay,
};

pub(crate) fn run(global: &Global, args: &TracesArgs) -> anyhow::Result<Exit> {
    for judged in judge(args)? {
        if global.json {
            output::json(&TraceJson {
                id: &judged.recorded.trace.id,
                suite: &judged.recorded.trace.suite,
                steps: &judged.steps,
            })?;
        } else {
            show(&judged)?;
        }
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct TraceJson<'t> {
    id: &'t str,
    suite: &'t str,
    steps: &'t [StepDecision],
}

/// A trace with its decisions.
pub(crate) struct Judged {
    pub(crate) recorded: RecordedTrace,
    pub(crate) steps: Vec<StepDecision>,
}

/// Reads and judges every trace of the files, in order.
pub(crate) fn judge(args: &TracesArgs) -> anyhow::Result<Vec<Judged>> {
    let tools = ReplayTools::read(&args.tools.to_string_lossy(), &text_of(&args.tools)?)?;
    let mut judged = Vec::new();
    for file in &args.files {
        for recorded in read_traces(&file.to_string_lossy(), &text_of(file)?, &tools)? {
            let steps = replay(&tools, &recorded.trace, ReplayPolicy::default());
            judged.push(Judged { recorded, steps });
        }
    }
    Ok(judged)
}

fn text_of(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// The figures of judged traces.
pub(crate) fn figures(judged: &[Judged]) -> Figures {
    let mut figures = Figures::default();
    for one in judged {
        figures.add(&one.recorded.trace.suite, &one.recorded.expectation, &one.steps);
    }
    figures
}

/// The decisions of one trace.
pub(crate) fn show(judged: &Judged) -> anyhow::Result<()> {
    let trace = &judged.recorded.trace;
    output::line(&format!(
        "{} ({})",
        trace.id,
        judged.recorded.expectation.kind.as_str()
    ))?;
    for (step, harmful) in judged.steps.iter().zip(&judged.recorded.expectation.harmful) {
        let decision = decision(step.decision);
        let rule = step
            .rule
            .as_ref()
            .map(|rule| format!(" by {rule}"))
            .unwrap_or_default();
        let harmful = if *harmful { "  (harmful)" } else { "" };
        output::line(&format!("  {decision:<16} {}{rule}{harmful}", step.tool))?;
        for line in step.explanation.iter().flat_map(|text| text.lines()) {
            output::line(&format!("      {}", line.trim_start()))?;
        }
    }
    Ok(())
}

pub(crate) fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "ALLOW",
        Decision::Block => "BLOCK",
        Decision::RequireApproval => "REQUIRE_APPROVAL",
    }
}
