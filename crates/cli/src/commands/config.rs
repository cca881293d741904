//! `tidegate config`.

use crate::args::{ConfigCommand, Global};
use crate::environment;
use crate::exit::Exit;
use crate::output;
use tidegate_runtime::config::{self, TrustedFiles};
use tidegate_runtime::{Runtime, user_config_folder};

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
            let trusted = TrustedFiles::in_folder(data.root()).trust_with_named(&file)?;
            let trusted: Vec<String> = trusted.iter().map(|file| file.display().to_string()).collect();
            if global.json {
                output::json(&serde_json::json!({ "trusted": trusted }))?;
            } else {
                for file in trusted {
                    output::line(&format!("trusted as it is now: {file}"))?;
                }
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
            "data_folder": data.root().display().to_string(),
            "values": loaded.values(),
        }));
    }
    match &file {
        Some(file) => output::line(&format!("# file: {file}"))?,
        None => {
            let folder = user_config_folder();
            let place = folder.map_or_else(String::new, |folder| {
                format!(", or {}", folder.join("tidegate.toml").display())
            });
            output::line(&format!("# file: none; looked for ./tidegate.toml{place}"))?;
        }
    }
    output::line(&format!("# data: {}", data.root().display()))?;
    for shown in loaded.values() {
        let value = output::json_text(&shown.value)?;
        output::line(&format!("{} = {value}  # {}", shown.key, shown.origin))?;
    }
    Ok(())
}

fn check(global: &Global) -> anyhow::Result<()> {
    let loaded = environment::configuration(global, Vec::new())?;
    let file = loaded.file.as_ref().map(|file| file.path.display().to_string());
    let data = environment::data_folder(global)?;
    let mut notes = config::notes(&loaded);
    // The file may be right and its keys be elsewhere, so these are no errors here.
    for error in Runtime::missing(&loaded, &data, &environment::variables()) {
        notes.push(output::with_causes(&error.into()));
    }
    if global.json {
        return output::json(&serde_json::json!({ "file": file, "ok": true, "notes": notes }));
    }
    output::line(&format!(
        "{}: ok",
        file.as_deref().unwrap_or("no tidegate.toml, defaults only")
    ))?;
    for note in notes {
        output::line(&format!("note: {note}"))?;
    }
    Ok(())
}
