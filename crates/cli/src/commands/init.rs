//! `tidegate init`.

use super::usage::usage;
use crate::args::{Global, InitArgs};
use crate::environment;
use crate::exit::Exit;
use crate::output;
use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tidegate_message::{ModelId, ProviderId};
use tidegate_policy::{Classification, default_provider_clearance};
use tidegate_providers::{OpenAi, OpenAiConfig};
use tidegate_runtime::config::{self, LoadOptions};
use tidegate_runtime::user_config_folder;
use url::Url;

const TEMPLATE: &str = include_str!("../../templates/init.toml");

/// Proposed where nothing is given: where llama.cpp's server listens.
const BASE_URL: &str = "http://127.0.0.1:8080/v1";

/// How long the endpoint may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is to be written.
struct Choices {
    base_url: Url,
    model: String,
    key_env: Option<String>,
    workspace: Classification,
}

/// What came of testing the endpoint.
#[derive(Serialize)]
struct Tested {
    reached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) async fn run(global: &Global, args: InitArgs) -> anyhow::Result<Exit> {
    let file = place(global)?;
    ensure!(
        args.force || file.symlink_metadata().is_err(),
        "{} is there already; --force writes a new one in its place",
        file.display()
    );
    let asks = environment::is_attended(global) && !args.yes;
    let choices = choose(&args, asks).await?;
    let text = choices.text();
    write(&file, &text, args.force)?;

    let tested = if args.yes || (asks && environment::asked("Ask the endpoint whether it is there?")?) {
        Some(choices.test().await)
    } else {
        None
    };
    if global.json {
        output::json(&serde_json::json!({
            "file": file,
            "base_url": choices.base_url.as_str(),
            "model": choices.model_id(),
            "workspace": choices.workspace,
            "endpoint": tested,
            "notes": choices.notes(&file),
        }))?;
        return Ok(Exit::Ok);
    }
    output::line(&format!("wrote {}", file.display()))?;
    if let Some(tested) = &tested {
        output::line(&choices.told(tested))?;
    }
    for note in choices.notes(&file) {
        output::line(&format!("note: {note}"))?;
    }
    let option = match &global.config {
        Some(file) => format!(" --config {}", file.display()),
        None => String::new(),
    };
    output::line(&format!(
        "\nTry next, in a folder with something in it:\n  tidegate{option} doctor\n  tidegate{option} run \"what is in this folder?\"\n  tidegate{option} chat"
    ))?;
    Ok(Exit::Ok)
}

/// The file to write.
fn place(global: &Global) -> anyhow::Result<PathBuf> {
    if let Some(file) = &global.config {
        return Ok(std::path::absolute(file)?);
    }
    let folder = user_config_folder()
        .context("this system names no configuration folder: name the file with --config FILE")?;
    Ok(folder.join("tidegate.toml"))
}

/// Takes what is given, and asks for the rest or takes its default.
async fn choose(args: &InitArgs, asks: bool) -> anyhow::Result<Choices> {
    let given = |value: &Option<String>| value.as_deref().map(|text| text.trim().to_owned());
    let base_url = match given(&args.base_url) {
        Some(text) => address(&text).unwrap_or_else(|why| usage("init", &why)),
        None if asks => ask_until(
            "Address of the endpoint, up to and including /v1",
            Some(BASE_URL),
            address,
        )?,
        None if args.yes => address(BASE_URL).map_err(anyhow::Error::msg)?,
        None => usage(
            "init",
            "nobody is there to ask: give --base-url and --model, or --yes for the defaults",
        ),
    };
    let key_env = match given(&args.key_env) {
        Some(name) => Some(variable(&name).unwrap_or_else(|why| usage("init", &why))),
        None if asks => {
            let question = "Variable that holds its key (nothing if it needs none)";
            ask_until(question, Some(""), |text| match text {
                "" => Ok(None),
                name => variable(name).map(Some),
            })?
        }
        None => None,
    };
    let model = match given(&args.model) {
        Some(model) => usable_model(&model).unwrap_or_else(|why| usage("init", &why)),
        None if asks || args.yes => {
            let listed = listed(&base_url, key_env.as_deref()).await;
            let first = listed.first().cloned();
            if asks {
                if !listed.is_empty() {
                    output::tell(&format!("The endpoint has: {}", listed.join(", ")));
                }
                ask_until("Model", first.as_deref(), usable_model)?
            } else {
                let Some(first) = first else {
                    bail!("the endpoint at {base_url} names no model; name one with --model MODEL");
                };
                usable_model(&first).map_err(anyhow::Error::msg)?
            }
        }
        None => usage(
            "init",
            "nobody is there to ask: give --model, or --yes to take the endpoint's first",
        ),
    };
    let workspace = match args.workspace_level {
        Some(level) => level,
        None if asks => {
            let question = "Level of the files in a workspace: PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED";
            ask_until(question, Some("INTERNAL"), |text| {
                text.parse::<Classification>().map_err(|error| error.to_string())
            })?
        }
        None => Classification::Internal,
    };
    Ok(Choices {
        base_url,
        model,
        key_env,
        workspace,
    })
}

/// An address that can be used, or why not.
fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .map_err(|error| format!("{text:?} is no address ({error}); write for example {BASE_URL}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(format!(
            "{text:?} is no http or https address; write for example {BASE_URL}"
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "an address here has no user name or password in it; name the key's variable with --key-env"
                .into(),
        );
    }
    Ok(url)
}

/// A variable's name. What is none may be the key itself, so it is not repeated.
fn variable(text: &str) -> Result<String, String> {
    let mut bytes = text.bytes();
    let begins = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if begins && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        Ok(text.to_owned())
    } else {
        Err("that is no name of a variable. Give the name of one that holds the key, such as OPENAI_API_KEY, never the key itself".into())
    }
}

fn usable_model(text: &str) -> Result<String, String> {
    let id: Result<ModelId, _> = format!("x:{text}").parse();
    id.map(|_| text.to_owned())
        .map_err(|_| format!("{text:?} is no model's name; write it as the endpoint knows it"))
}

/// Asks until the answer can be used.
fn ask_until<T>(
    question: &str,
    default: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> anyhow::Result<T> {
    loop {
        let proposal = match default {
            None | Some("") => String::new(),
            Some(default) => format!(" [{default}]"),
        };
        let mut terminal = io::stderr().lock();
        write!(
            terminal,
            "{}: ",
            output::printable(&format!("{question}{proposal}"))
        )?;
        terminal.flush()?;
        drop(terminal);
        let mut answer = String::new();
        if io::stdin().read_line(&mut answer)? == 0 {
            output::tell("");
            bail!("the input ended before everything was answered; nothing was written");
        }
        let answer = match (answer.trim(), default) {
            ("", Some(default)) => default,
            (answer, _) => answer,
        };
        match read(answer) {
            Ok(value) => return Ok(value),
            Err(why) => output::tell(&why),
        }
    }
}

/// The models the endpoint names; none if it cannot be asked.
async fn listed(base_url: &Url, key_env: Option<&str>) -> Vec<String> {
    match asked_models(base_url, key_env).await {
        Ok(Some(models)) => models,
        Ok(None) | Err(_) => Vec::new(),
    }
}

async fn asked_models(
    base_url: &Url,
    key_env: Option<&str>,
) -> Result<Option<Vec<String>>, tidegate_providers::ProviderError> {
    let key = key_env
        .and_then(|name| std::env::var(name).ok())
        .map(|key| key.trim().to_owned())
        .filter(|key| !key.is_empty());
    let endpoint = OpenAi::new(OpenAiConfig {
        id: provider_of(base_url),
        base_url: base_url.clone(),
        api_key: key.map(Into::into),
        timeout: PATIENCE,
    });
    endpoint.models().await
}

/// What the provider is called: by where it is.
fn provider_of(base_url: &Url) -> ProviderId {
    let is_local = default_provider_clearance(base_url) == Classification::Restricted;
    ProviderId::new(if is_local { "local" } else { "remote" })
}

impl Choices {
    fn model_id(&self) -> String {
        format!("{}:{}", provider_of(&self.base_url), self.model)
    }

    fn clearance(&self) -> Classification {
        default_provider_clearance(&self.base_url)
    }

    /// The file.
    fn text(&self) -> String {
        let key = match &self.key_env {
            Some(name) => format!("api_key_env = {}", quoted(name)),
            None => "# api_key_env = \"NAME\"               # the name of a variable that holds the key, never the key".into(),
        };
        TEMPLATE
            .replace("{provider}", &provider_of(&self.base_url).to_string())
            .replace("{base_url}", &quoted(self.base_url.as_str()))
            .replace("{key}", &key)
            .replace("{clearance}", self.clearance().as_str())
            .replace("{workspace}", self.workspace.as_str())
            .replace("{model}", &quoted(&self.model_id()))
    }

    async fn test(&self) -> Tested {
        match asked_models(&self.base_url, self.key_env.as_deref()).await {
            Ok(models) => Tested {
                reached: true,
                models,
                error: None,
            },
            Err(error) => Tested {
                reached: false,
                models: None,
                error: Some(error.message),
            },
        }
    }

    fn told(&self, tested: &Tested) -> String {
        match (&tested.error, &tested.models) {
            (Some(error), _) => format!("the endpoint was not reached: {error}"),
            (None, Some(models)) if models.contains(&self.model) => {
                format!("the endpoint answers, and has the model {}", self.model)
            }
            (None, Some(models)) => format!(
                "the endpoint answers, and does not name the model {}; it names: {}",
                self.model,
                models.join(", ")
            ),
            (None, None) => "the endpoint answers".into(),
        }
    }

    /// What may surprise.
    fn notes(&self, file: &Path) -> Vec<String> {
        let mut notes = Vec::new();
        if self.workspace > self.clearance() {
            notes.push(format!(
                "the endpoint is cleared for {} and the workspace is {}: its files cannot be read until clearance of [providers.{}] is raised",
                self.clearance(),
                self.workspace,
                provider_of(&self.base_url)
            ));
        }
        if self.workspace > Classification::Confidential {
            notes.push(
                "sessions read up to CONFIDENTIAL; to work in this workspace raise clearance in [policy]"
                    .into(),
            );
        }
        if let Some(name) = &self.key_env
            && std::env::var_os(name).is_none_or(|value| value.is_empty())
        {
            notes.push(format!("the variable {name} is not set yet"));
        }
        let here = Path::new("tidegate.toml");
        if here.exists() && here.canonicalize().ok() != file.canonicalize().ok() {
            notes.push(
                "the tidegate.toml of this folder is used here in its place, once it is trusted".into(),
            );
        }
        notes
    }
}

/// The text as a string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Writes the file for its owner alone, after the program itself has read it.
fn write(file: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    make_folder(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut new = tempfile::Builder::new()
        .prefix(".tidegate-")
        .suffix(".toml")
        .tempfile_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    new.write_all(text.as_bytes())
        .and_then(|()| new.as_file().sync_all())
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    let options = LoadOptions {
        file: Some(new.path().to_path_buf()),
        data_folder: folder.to_path_buf(),
        ..LoadOptions::default()
    };
    config::load(&options).context("what would be written is no configuration; nothing was written")?;
    let kept = if force {
        new.persist(file)
    } else {
        new.persist_noclobber(file)
    };
    kept.map_err(|error| error.error)
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_before_anything_is_written() {
        for (text, usable) in [
            ("http://127.0.0.1:8080/v1", true),
            ("https://api.example.com/v1", true),
            ("127.0.0.1:8080", false),
            ("ftp://example.com", false),
            ("https://me:secret@example.com/v1", false),
            ("", false),
        ] {
            let read = address(text);
            assert_eq!(read.is_ok(), usable, "{text}: {read:?}");
            if let Err(why) = read {
                assert!(!why.contains("secret"), "{why}");
            }
        }
    }

    #[test]
    fn a_key_is_no_name_of_a_variable_and_is_not_repeated() {
        for (text, usable) in [
            ("OPENAI_API_KEY", true),
            ("_x1", true),
            ("sk-abc123", false),
            ("1X", false),
            ("", false),
        ] {
            let read = variable(text);
            assert_eq!(read.is_ok(), usable, "{text}");
            if let Err(why) = read {
                assert!(!why.contains("sk-abc"), "{why}");
            }
        }
    }

    #[test]
    fn whatever_is_chosen_is_read_back() {
        for (base_url, model, key_env) in [
            ("http://127.0.0.1:8080/v1", "small", None),
            ("https://api.example.com/v1", "org/model:7b", Some("KEY")),
            ("http://localhost:1/v1?a=\"b\"", "a \"quoted\" name", None),
        ] {
            let choices = Choices {
                base_url: address(base_url).unwrap(),
                model: usable_model(model).unwrap(),
                key_env: key_env.map(str::to_owned),
                workspace: Classification::Public,
            };
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("tidegate.toml");
            write(&file, &choices.text(), false).unwrap();
            assert!(write(&file, "", false).is_err());
            let options = LoadOptions {
                file: Some(file),
                ..LoadOptions::default()
            };
            let loaded = config::load(&options).unwrap();
            assert_eq!(loaded.configuration.tiers.lite, [choices.model_id()]);
            assert_eq!(loaded.configuration.policy.workspace, Classification::Public);
        }
    }
}
