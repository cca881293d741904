//! `tidegate config`.

use crate::args::{ConfigCommand, Global};
use crate::environment;
use crate::exit::Exit;
use crate::output;
use tidegate_runtime::config::{self, TrustedFiles};

pub(crate) fn run(global: &Global, command: ConfigCommand) -> anyhow::Result<Exit> {
    match command {
        ConfigCommand::Show => show(global)?,
        ConfigCommand::Check { file } => {
            let mut global = global.clone();
            global.config = file.or(global.config);
            check(&global)?;
        }
        ConfigCommand::Schema => {
            let schema = config::schema();
            if global.json {
                output::json(&schema)?;
            } else {
                output::line(&serde_json::to_string_pretty(&schema)?)?;
            }
        }
        ConfigCommand::Trust { file } => {
            let data = environment::data_folder(global)?;
            let trusted = TrustedFiles::in_folder(data.root()).trust(&file)?;
            if global.json {
                output::json(&serde_json::json!({ "trusted": trusted }))?;
            } else {
                output::line(&format!("trusted as it is now: {}", trusted.display()))?;
            }
        }
    }
    Ok(Exit::Ok)
}

fn show(global: &Global) -> anyhow::Result<()> {
    let loaded = environment::configuration(global, Vec::new())?;
    let data = environment::data_folder(global)?;
    let file = loaded.file.as_ref().map(|file| file.path.display().to_string());
    if global.json {
        return output::json(&serde_json::json!({
            "file": file,
            "data_folder": data.root(),
            "values": loaded.values(),
        }));
    }
    output::line(&format!(
        "# file: {}",
        file.as_deref().unwrap_or("none, defaults only")
    ))?;
    output::line(&format!("# data: {}", data.root().display()))?;
    for shown in loaded.values() {
        output::line(&format!("{} = {}  # {}", shown.key, shown.value, shown.origin))?;
    }
    Ok(())
}

fn check(global: &Global) -> anyhow::Result<()> {
    let loaded = environment::configuration(global, Vec::new())?;
    let file = loaded.file.as_ref().map(|file| file.path.display().to_string());
    let notes = config::notes(&loaded);
    if global.json {
        return output::json(&serde_json::json!({ "file": file, "ok": true, "notes": notes }));
    }
    output::line(&format!(
        "{}: ok",
        file.as_deref().unwrap_or("no file, defaults only")
    ))?;
    for note in notes {
        output::line(&format!("note: {note}"))?;
    }
    Ok(())
}
