//! `tidegate policy`.

pub(crate) mod replay;

use crate::args::{Global, PolicyCommand};
use crate::exit::Exit;

pub(crate) fn run(global: &Global, command: PolicyCommand) -> anyhow::Result<Exit> {
    match command {
        PolicyCommand::Replay(args) => replay::run(global, &args),
    }
}
