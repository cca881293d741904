//! What a command starts from: the data folder, the configuration, the store.

use crate::args::Global;
use anyhow::{Context as _, bail};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use tidegate_runtime::config::{self, ConfigError, LoadOptions, Loaded, Override, TrustedFiles};
use tidegate_runtime::{DataFolder, Runtime, user_config_folder};
use tidegate_store::Store;

/// The data folder in use.
pub(crate) fn data_folder(global: &Global) -> anyhow::Result<DataFolder> {
    match &global.data_dir {
        Some(folder) => Ok(DataFolder::new(folder)),
        None => DataFolder::of_platform()
            .context("this system names no data folder: pass --data-dir DIR or set TIDEGATE_DATA_DIR"),
    }
}

/// The process's variables that are text.
pub(crate) fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The configuration in effect. At a terminal, asks about a file of the working folder that nobody trusted yet.
pub(crate) fn configuration(global: &Global, overrides: Vec<Override>) -> anyhow::Result<Loaded> {
    let data = data_folder(global)?;
    let options = LoadOptions {
        file: global.config.clone(),
        working_folder: std::env::current_dir().ok(),
        user_folder: user_config_folder(),
        data_folder: data.root().to_path_buf(),
        variables: variables(),
        overrides,
    };
    match config::load(&options) {
        Err(ConfigError::Untrusted { file })
            if !global.json && io::stdin().is_terminal() && io::stderr().is_terminal() =>
        {
            ask_to_trust(&file, &data)?;
            Ok(config::load(&options)?)
        }
        other => Ok(other?),
    }
}

/// Shows the file and asks. What is trusted is what was shown.
fn ask_to_trust(file: &Path, data: &DataFolder) -> anyhow::Result<()> {
    let content = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut terminal = io::stderr().lock();
    writeln!(
        terminal,
        "{} was found in the working folder and is new or has changed:\n",
        file.display()
    )?;
    for line in String::from_utf8_lossy(&content).lines() {
        writeln!(terminal, "    {}", tidegate_policy::escaped(line))?;
    }
    write!(
        terminal,
        "\nIt chooses models, keys and levels. Use it from now on, as it is? [y/N] "
    )?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("{} is not used; pass another file with --config", file.display());
    }
    TrustedFiles::in_folder(data.root()).trust_content(file, &content)?;
    Ok(())
}

/// The runtime in effect.
pub(crate) fn runtime(global: &Global, overrides: Vec<Override>) -> anyhow::Result<Runtime> {
    let loaded = configuration(global, overrides)?;
    Ok(Runtime::open(&loaded, &data_folder(global)?, &variables())?)
}

/// The store in effect, for commands that only look: they need no provider and no key.
pub(crate) fn store(global: &Global) -> anyhow::Result<Arc<dyn Store>> {
    let loaded = configuration(global, Vec::new())?;
    Ok(Runtime::open_store(&loaded.configuration, &data_folder(global)?)?)
}
