//! `tidegate policy`.

mod check;
mod explain;
mod fields;
mod release;
pub(super) mod replay;
mod simulate;
mod verdict;

use crate::args::{Global, PolicyCommand};
use crate::environment;
use crate::exit::Exit;
use tidegate_runtime::Runtime;

pub(crate) async fn run(global: &Global, command: PolicyCommand) -> anyhow::Result<Exit> {
    match command {
        PolicyCommand::Check { file } => check::run(global, file),
        PolicyCommand::Fields { hook } => fields::run(global, hook),
        PolicyCommand::Simulate(args) => simulate::run(global, args).await,
        PolicyCommand::Release { event } => release::run(global, event).await,
        PolicyCommand::Replay(args) => replay::run(global, &args),
        PolicyCommand::Explain { event } => explain::run(global, event).await,
    }
}

/// A runtime that judges and needs no model.
fn judging(global: &Global) -> anyhow::Result<Runtime> {
    let loaded = environment::configuration(global, Vec::new())?;
    let data = environment::data_folder(global)?;
    Ok(Runtime::judging(&loaded, &data, &environment::variables())?.build()?)
}
