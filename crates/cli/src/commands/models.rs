//! `tidegate models`.

use crate::args::{Global, ModelsCommand};
use crate::exit::Exit;

pub(crate) async fn run(_global: &Global, command: ModelsCommand) -> anyhow::Result<Exit> {
    match command {
        ModelsCommand::List | ModelsCommand::Fetch(_) | ModelsCommand::Test(_) => {
            anyhow::bail!("this build has no models; build it with the feature embed")
        }
    }
}
