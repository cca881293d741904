//! `tidegate policy explain`.

use super::{judging, verdict};
use crate::args::Global;
use crate::environment;
use crate::exit::Exit;
use crate::output;
use tidegate_message::EventKind;
use tidegate_policy::{EventId, FlowKind, escaped};

/// Shows why a decision was made.
pub(super) async fn run(global: &Global, id: EventId) -> anyhow::Result<Exit> {
    let runtime = judging(global)?;
    runtime.reader(&environment::local())?.check_event(id).await?;
    let explanation = runtime.explain(id).await?;
    if global.json {
        output::json(&explanation)?;
        return Ok(Exit::Ok);
    }
    let event = &explanation.event;
    let evaluation = &explanation.evaluation;
    let rule = evaluation
        .rule
        .as_ref()
        .map_or_else(String::new, |rule| format!(" by {rule}"));
    output::line(&format!(
        "{}{rule}: {}, {}",
        verdict::word(evaluation.decision),
        what(evaluation.flow, &event.kind),
        super::super::local_time(event.at_ms),
    ))?;
    if let Some(call) = &explanation.call {
        output::line(&format!(
            "  {} {}",
            escaped(call.name.as_str()),
            escaped(&call.arguments)
        ))?;
    }
    verdict::evaluation(evaluation)?;
    output::line(&format!("what moved: {}", verdict::label(evaluation.label)))?;
    if explanation.lineage.is_empty() {
        output::line("the session's label: from its start")?;
    } else {
        output::line("how the session came to its label:")?;
    }
    for step in &explanation.lineage {
        output::line(&format!(
            "  {} at turn {}, by {}",
            verdict::label(step.to),
            step.turn,
            escaped(&step.origin.to_string())
        ))?;
    }
    if let Some(integrity) = &explanation.integrity {
        verdict::integrity(integrity)?;
    }
    Ok(Exit::Ok)
}

fn what(flow: FlowKind, kind: &EventKind) -> String {
    match (flow, kind) {
        (FlowKind::ToolCall, EventKind::FlowJudged { tool: Some(tool), .. }) => {
            format!("the call of {}", escaped(tool.as_str()))
        }
        (FlowKind::Response, EventKind::FlowJudged { tool: Some(tool), .. }) => {
            format!("the result of {}", escaped(tool.as_str()))
        }
        (FlowKind::Model, EventKind::ModelSkipped { model, .. }) => format!("the context, to {model}"),
        (flow, _) => super::super::events::of_flow(flow).to_owned(),
    }
}
