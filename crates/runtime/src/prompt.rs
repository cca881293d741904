//! What prompts are made of here: the templates, and the system prompt of a session.

use crate::config::{FilePlace, Loaded, TrustedFiles};
use crate::open::SystemMessage;
use crate::runtime::Shared;
use crate::{DataFolder, RuntimeError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tidegate_policy::Label;
use tidegate_prompt::{Fact, ProjectFile, SessionDate, SystemPrompt, SystemPromptInput, Templates, sanitise};

/// The folder of templates that the configuration names, if it names one.
pub(crate) fn templates_folder(loaded: &Loaded) -> Option<PathBuf> {
    let named = &loaded.configuration.prompt.templates_dir;
    let base = loaded.file.as_ref().and_then(|file| file.path.parent());
    let folder = base.map_or_else(|| PathBuf::from(named), |base| base.join(named));
    (!named.is_empty()).then_some(folder)
}

/// The templates, with those of the configured folder in the place of built-in ones. Of a configuration that came with
/// the work, each has to be trusted as it is.
pub(crate) fn templates(loaded: &Loaded, data: &DataFolder) -> Result<Templates, RuntimeError> {
    let Some(folder) = templates_folder(loaded) else {
        return Ok(Templates::builtin()?);
    };
    let came_with_the_work = loaded
        .file
        .as_ref()
        .is_some_and(|file| file.place == FilePlace::WorkingFolder);
    let trusted = came_with_the_work.then(|| TrustedFiles::in_folder(data.root()));
    let mut overrides = BTreeMap::new();
    for file in template_files(&folder).map_err(|cause| unusable(&folder, cause))? {
        let text = std::fs::read_to_string(&file).map_err(|cause| unusable(&file, cause))?;
        if let Some(trusted) = &trusted {
            let file = file.canonicalize().map_err(|cause| unusable(&file, cause))?;
            if !trusted.is_trusted(&file, text.as_bytes())? {
                return Err(RuntimeError::UntrustedTemplate { file });
            }
        }
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        overrides.insert(name, text);
    }
    Templates::with_overrides(&overrides).map_err(|cause| RuntimeError::Templates {
        folder,
        cause: Box::new(cause),
    })
}

/// The template files in a folder, by name.
pub(crate) fn template_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for found in std::fs::read_dir(folder)? {
        let path = found?.path();
        if path.extension().is_some_and(|extension| extension == "j2") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn unusable(path: &Path, cause: std::io::Error) -> RuntimeError {
    RuntimeError::Folder {
        what: "folder or file of templates",
        path: path.to_path_buf(),
        hint: "name a folder of .j2 files in templates_dir of [prompt], or leave it out",
        cause,
    }
}

/// Whether a system prompt was built with this message.
pub(crate) fn has_message(system_prompt: &str, message: &SystemMessage) -> bool {
    system_prompt.contains(&*sanitise(message.text.trim()))
}

/// The system prompt of a session that begins today.
pub(crate) fn system_prompt(
    shared: &Shared,
    project_file: Option<(&ProjectFile, Label)>,
    system_message: Option<(&str, Label)>,
) -> Result<SystemPrompt, RuntimeError> {
    let day = jiff::ZonedDateTime::now().date();
    let runs_commands = shared.extras.launcher.is_some() && shared.configuration.agent.commands;
    let environment = if runs_commands {
        vec![Fact::new("operating system", std::env::consts::OS)]
    } else {
        Vec::new()
    };
    let input = SystemPromptInput {
        tool_guidance: &[],
        files: shared.file_tools,
        model_guidance: None,
        environment: &environment,
        system_message,
        project_file,
        skills: &[],
        date: SessionDate::new(day.year(), day.month(), day.day())?,
    };
    Ok(SystemPrompt::build(&shared.templates, &input)?)
}
