//! `tidegate policy release`.

use super::judging;
use crate::ancestry;
use crate::approver::shown;
use crate::args::Global;
use crate::environment;
use crate::exit::Exit;
use crate::output;
use tidegate_policy::EventId;

/// Shows what would go where, and asks. Only a person at a terminal can release anything.
pub(super) async fn run(global: &Global, id: EventId) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        !ancestry::is_started_by_a_tool(),
        "a command that was started by a tool may not release anything; run this yourself"
    );
    let runtime = judging(global)?;
    runtime.reader(&environment::local())?.check_event(id).await?;
    let release = runtime.releasable(id).await?;
    anyhow::ensure!(
        environment::is_attended(global),
        "only a person at a terminal can release data, with the bytes before them; run this at one"
    );
    for line in shown(&release.request) {
        output::tell(&line);
    }
    let question = "Release exactly this to exactly there, once? It will be readable below its level.";
    if !environment::asked(question)? {
        output::tell("nothing was released");
        return Ok(Exit::Cancelled);
    }
    let record = runtime.release(&release).await?;
    output::line(&format!("released, once: {}", record.id))?;
    output::line(
        "  have the session make the same call again; if its taint changes before that, the release is void",
    )?;
    Ok(Exit::Ok)
}
