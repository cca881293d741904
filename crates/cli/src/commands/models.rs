//! `tidegate models`.

#[cfg(feature = "embed")]
mod fetch;
#[cfg(feature = "embed")]
mod list;
#[cfg(feature = "embed")]
mod test;

use crate::args::{Global, ModelsCommand};
use crate::exit::Exit;

#[cfg(feature = "embed")]
pub(crate) async fn run(global: &Global, command: ModelsCommand) -> anyhow::Result<Exit> {
    match command {
        ModelsCommand::List => list::run(global)?,
        ModelsCommand::Fetch(args) => return fetch::run(global, &args).await,
        ModelsCommand::Test(args) => return test::run(global, &args).await,
    }
    Ok(Exit::Ok)
}

#[cfg(not(feature = "embed"))]
pub(crate) async fn run(_global: &Global, _command: ModelsCommand) -> anyhow::Result<Exit> {
    anyhow::bail!("this program was built without models; build it with the feature embed")
}
