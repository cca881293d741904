//! What a command starts from: the data folder, the configuration, the store.

use crate::args::Global;
use crate::asker::TerminalAsker;
use crate::memory::{self, Wanted};
use crate::output;
use anyhow::{Context as _, bail};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_builtins::confine::Launcher;
use tidegate_memory::Memory;
use tidegate_policy::UserId;
use tidegate_runtime::config::{self, ConfigError, LoadOptions, Loaded, Override, TrustedFiles};
use tidegate_runtime::{DataFolder, Reader, Runtime, RuntimeBuilder, RuntimeError, user_config_folder};

/// The data folder in use.
pub(crate) fn data_folder(global: &Global) -> anyhow::Result<DataFolder> {
    let variable = || std::env::var_os("TIDEGATE_DATA_DIR").map(PathBuf::from);
    match global.data_dir.clone().or_else(variable) {
        // An empty variable is one that is not set.
        Some(folder) if !folder.as_os_str().is_empty() => Ok(DataFolder::new(folder)),
        Some(_) | None => DataFolder::of_platform()
            .context("this system names no data folder: pass --data-dir DIR or set TIDEGATE_DATA_DIR"),
    }
}

/// Stands for what is no text.
const NO_TEXT: char = char::REPLACEMENT_CHARACTER;

/// The process's variables. What is no text in one of them is shown as such: it is then no name of a key, no
/// number and no key of a provider, and told of as what it looks like.
pub(crate) fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .map(|(name, value)| {
            let text = |part: std::ffi::OsString| part.to_string_lossy().into_owned();
            (text(name), text(value))
        })
        .collect()
}

/// The configuration in effect. At a terminal, asks about a file of the working folder that nobody trusted yet.
pub(crate) fn configuration(global: &Global, overrides: Vec<Override>) -> anyhow::Result<Loaded> {
    let options = load_options(global, overrides)?;
    match config::load(&options) {
        Err(ConfigError::Untrusted { file }) if is_attended(global) => {
            let data = data_folder(global)?;
            ask_to_trust(&file, &data, "It says which models, keys and levels are used.")?;
            Ok(config::load(&options)?)
        }
        other => Ok(other?),
    }
}

/// Where the configuration is looked for.
pub(crate) fn load_options(global: &Global, overrides: Vec<Override>) -> anyhow::Result<LoadOptions> {
    let data = data_folder(global)?;
    let variables = variables();
    if let Some((name, _)) = variables.iter().find(|(name, value)| {
        name.starts_with("TIDEGATE__") && (name.contains(NO_TEXT) || value.contains(NO_TEXT))
    }) {
        bail!("variable {name} is not UTF-8 text; write it anew");
    }
    Ok(LoadOptions {
        file: global.config.clone(),
        working_folder: std::env::current_dir().ok(),
        user_folder: user_config_folder(),
        data_folder: data.root().to_path_buf(),
        variables,
        overrides,
    })
}

/// Shows the file and asks. What is trusted is what was shown.
fn ask_to_trust(file: &Path, data: &DataFolder, meaning: &str) -> anyhow::Result<()> {
    let content = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let shown = file.display();
    output::tell(&format!(
        "{shown} was found in the working folder and is new or has changed:\n"
    ));
    for line in String::from_utf8_lossy(&content).lines() {
        // Escaped without exception: what cannot be seen is not agreed to.
        output::tell(&format!("    {}", tidegate_policy::escaped(line)));
    }
    output::tell(&format!("\n{meaning}"));
    if !asked("Use it from now on, as it is?")? {
        bail!("{shown} is not used; pass another file with --config FILE");
    }
    TrustedFiles::in_folder(data.root()).trust_content(file, &content)?;
    Ok(())
}

/// Asks at the terminal. Whatever is not a yes is a no.
pub(crate) fn asked(question: &str) -> anyhow::Result<bool> {
    let mut terminal = io::stderr().lock();
    write!(terminal, "{} [y/N] ", output::printable(question))?;
    terminal.flush()?;
    let mut answer = String::new();
    if io::stdin().read_line(&mut answer)? == 0 {
        // The end of the input leaves the cursor behind the question.
        writeln!(terminal)?;
    }
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Whether somebody is there to be asked.
pub(crate) fn is_attended(global: &Global) -> bool {
    !global.json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The runtime in effect, for one task.
pub(crate) async fn runtime(global: &Global, overrides: Vec<Override>) -> anyhow::Result<Runtime> {
    runtime_of(global, &configuration(global, overrides)?, Wanted::Briefly).await
}

/// The runtime of a configuration that is loaded already.
pub(crate) async fn runtime_of(
    global: &Global,
    loaded: &Loaded,
    memories: Wanted,
) -> anyhow::Result<Runtime> {
    let launcher = Launcher::this_program().context("the system does not tell which program this is")?;
    let data = data_folder(global)?;
    let builder = trusting(global, &data, || Runtime::configured(loaded, &data, &variables()))?;
    let builder = memory::added_to(builder, loaded, &data, memories).await?;
    Ok(builder
        .commands(launcher)
        .asker(Arc::new(TerminalAsker::new(is_attended(global))))
        .build()?)
}

/// A runtime that begins sessions and runs none: no model has to be there, and no key. Its sessions have the tools of
/// `memory`.
pub(crate) fn runtime_without_model(global: &Global, memory: &Arc<Memory>) -> anyhow::Result<Runtime> {
    let launcher = Launcher::this_program().context("the system does not tell which program this is")?;
    let loaded = configuration(global, Vec::new())?;
    let data = data_folder(global)?;
    let builder = trusting(global, &data, || Runtime::preparing(&loaded, &data, &variables()))?;
    Ok(builder
        .memory(Arc::clone(memory))
        .commands(launcher)
        .asker(Arc::new(TerminalAsker::new(is_attended(global))))
        .build()?)
}

/// Builds; at a terminal, asks about files that nobody trusted yet.
fn trusting(
    global: &Global,
    data: &DataFolder,
    build: impl Fn() -> Result<RuntimeBuilder, RuntimeError>,
) -> anyhow::Result<RuntimeBuilder> {
    loop {
        match build() {
            Err(RuntimeError::UntrustedScenario { file }) if is_attended(global) => {
                ask_to_trust(&file, data, "It says what the scripted model does.")?;
            }
            Err(RuntimeError::UntrustedTemplate { file }) if is_attended(global) => {
                ask_to_trust(&file, data, "Models read it as the program's own words.")?;
            }
            other => return Ok(other?),
        }
    }
}

/// The store in effect before whoever sits at the command line, for commands that only look: they need no provider and no
/// key.
pub(crate) fn reader(global: &Global) -> anyhow::Result<Reader> {
    let loaded = configuration(global, Vec::new())?;
    let store = Runtime::open_store(&loaded.configuration, &data_folder(global)?)?;
    Ok(Reader::new(store, &loaded.configuration.users, local())?)
}

/// Whoever sits at the command line.
pub(crate) fn local() -> UserId {
    UserId::new(config::LOCAL_USER)
}
