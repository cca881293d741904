//! `tidegate policy simulate`.

use super::{judging, verdict};
use crate::args::{Global, SimulateArgs};
use crate::exit::Exit;
use crate::output;
use tidegate_policy::{Label, UserId, escaped};
use tidegate_runtime::SimulatedCall;
use tidegate_runtime::config::LOCAL_USER;

/// Shows what the gate would say to a call. Nothing is run or recorded.
pub(super) async fn run(global: &Global, args: SimulateArgs) -> anyhow::Result<Exit> {
    let workspace = match args.workspace {
        Some(folder) => folder,
        None => std::env::current_dir()?,
    };
    let call = SimulatedCall {
        tool: args.tool.as_str().into(),
        arguments: args.args,
        taint: Label::new(args.taint, args.integrity),
        user: UserId::new(args.user.as_deref().unwrap_or(LOCAL_USER)),
        workspace: workspace.canonicalize()?,
        task: args.task,
        attended: args.attended,
    };
    let simulation = judging(global)?.simulate(&call).await?;
    if global.json {
        output::json(&simulation)?;
        return Ok(Exit::Ok);
    }
    let evaluation = &simulation.evaluation;
    let rule = evaluation
        .rule
        .as_ref()
        .map_or_else(String::new, |rule| format!(" by {rule}"));
    output::line(&format!(
        "{}{rule}: {}",
        verdict::word(evaluation.decision),
        escaped(call.tool.as_str())
    ))?;
    verdict::evaluation(evaluation)?;
    if let Some(problem) = &simulation.problem {
        output::line("what it touches is not known, and was judged as nothing:")?;
        output::line(&format!("  {}", output::printable(problem)))?;
    }
    if let Some(integrity) = &simulation.integrity {
        verdict::integrity(integrity)?;
    }
    if !simulation.told.is_empty() {
        output::line("the model would be told:")?;
        output::line(&format!("  {}", output::printable(&simulation.told)))?;
    }
    Ok(Exit::Ok)
}
