//! Finding, reading and layering.

use super::check;
use super::error::{ConfigError, Location};
use super::layers::{Layer, Override};
use super::model::Configuration;
use super::trust::TrustedFiles;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file in a folder.
const FILE_NAME: &str = "tidegate.toml";

/// Where to look, and what overrides what is found.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `--config FILE`: this file and no other.
    pub file: Option<PathBuf>,
    /// The working folder; a file found there must be trusted.
    pub working_folder: Option<PathBuf>,
    /// The user's configuration folder; a file found there is trusted.
    pub user_folder: Option<PathBuf>,
    /// The data folder, where the list of trusted files is.
    pub data_folder: PathBuf,
    /// Variables; those that start with `TIDEGATE__` count.
    pub variables: Vec<(String, String)>,
    /// Values of flags.
    pub overrides: Vec<Override>,
}

/// How a file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// Named with `--config`.
    Named,
    /// In the working folder.
    WorkingFolder,
    /// In the user's configuration folder.
    UserFolder,
}

/// The file that was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its canonical path.
    pub path: PathBuf,
    /// How it was found.
    pub place: FilePlace,
}

/// A configuration in effect.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The values.
    pub configuration: Configuration,
    /// The file, if there was one.
    pub file: Option<ConfigFile>,
    /// The origin of each value that is not a default, by dotted key.
    pub origins: BTreeMap<String, String>,
}

/// One value with its origin, for showing.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ShownValue {
    /// The dotted key; parts that are no bare TOML keys are quoted.
    pub key: String,
    /// The value.
    pub value: serde_json::Value,
    /// `default`, `FILE:LINE`, a variable's name or a flag.
    pub origin: String,
}

/// Loads: defaults, then the file, then variables, then flags. The working folder's file comes before the
/// user's; they are not merged.
///
/// # Errors
/// See [`ConfigError`]. Nothing of a file with an error is used.
pub fn load(options: &LoadOptions) -> Result<Loaded, ConfigError> {
    let found = find(options)?;
    let mut builder = config::Config::builder();
    if let Some((file, text)) = &found {
        read_strictly(&file.path, text)?;
        builder = builder.add_source(Layer::of_file(&file.path, text)?);
    }
    let variables = options
        .variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    builder = builder
        .add_source(Layer::of_variables(variables)?)
        .add_source(Layer::of_overrides(&options.overrides));
    let merged = builder
        .build()
        .map_err(|error| ConfigError::Layers(error.to_string()))?;

    let mut origins = BTreeMap::new();
    collect_origins(&merged.cache, "", &mut origins);
    let configuration: Configuration = merged
        .try_deserialize()
        .map_err(|error| blame(&error, &options.variables))?;
    let loaded = Loaded {
        configuration,
        file: found.map(|(file, _)| file),
        origins,
    };
    check::check(&loaded)?;
    Ok(loaded)
}

/// The JSON schema of the file: every key with its meaning and default; `x-hot` marks those that take effect
/// without a restart.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Configuration).to_value()
}

impl Loaded {
    /// The origin of a dotted key, or of the nearest table it stands in.
    pub fn origin(&self, key: &str) -> String {
        self.origins
            .get(key)
            .or_else(|| {
                self.origins
                    .iter()
                    .find(|(known, _)| known.starts_with(&format!("{key}.")))
                    .map(|(_, at)| at)
            })
            .cloned()
            .unwrap_or_else(|| "default".into())
    }

    /// Every value with its origin, in the order of the sections.
    pub fn values(&self) -> Vec<ShownValue> {
        let mut shown = Vec::new();
        if let Ok(json) = serde_json::to_value(&self.configuration) {
            self.show(&json, "", &mut shown);
        }
        shown
    }

    fn show(&self, json: &serde_json::Value, key: &str, shown: &mut Vec<ShownValue>) {
        match json {
            serde_json::Value::Object(members) => {
                for (name, value) in members {
                    self.show(value, &join(key, name), shown);
                }
            }
            leaf => shown.push(ShownValue {
                key: key.into(),
                value: leaf.clone(),
                origin: self.origin(key),
            }),
        }
    }
}

fn find(options: &LoadOptions) -> Result<Option<(ConfigFile, String)>, ConfigError> {
    if let Some(file) = &options.file {
        let text = read(file)?;
        return Ok(Some((
            ConfigFile {
                path: canonical(file),
                place: FilePlace::Named,
            },
            text,
        )));
    }
    let in_folder = |folder: &Option<PathBuf>| {
        folder
            .as_ref()
            .map(|folder| folder.join(FILE_NAME))
            .filter(|file| file.symlink_metadata().is_ok())
    };
    let user_file = in_folder(&options.user_folder);
    if let Some(file) = in_folder(&options.working_folder) {
        let path = canonical(&file);
        let text = read(&file)?;
        if user_file.as_ref().is_some_and(|user| canonical(user) == path) {
            return Ok(Some((
                ConfigFile {
                    path,
                    place: FilePlace::UserFolder,
                },
                text,
            )));
        }
        if !TrustedFiles::in_folder(&options.data_folder).is_trusted(&path, text.as_bytes())? {
            return Err(ConfigError::Untrusted { file: path });
        }
        return Ok(Some((
            ConfigFile {
                path,
                place: FilePlace::WorkingFolder,
            },
            text,
        )));
    }
    user_file
        .map(|file| {
            Ok((
                ConfigFile {
                    path: canonical(&file),
                    place: FilePlace::UserFolder,
                },
                read(&file)?,
            ))
        })
        .transpose()
}

fn canonical(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_path_buf())
}

fn read(file: &Path) -> Result<String, ConfigError> {
    let bytes = std::fs::read(file).map_err(|cause| ConfigError::Unreadable {
        file: file.to_path_buf(),
        cause,
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default()).into_owned();
        ConfigError::File {
            at: Location::of(file, &text, valid),
            message: "the file is not UTF-8 from here on".into(),
            hint: None,
        }
    })
}

/// Reads the file alone, strictly, so that its errors have a place in it.
fn read_strictly(file: &Path, text: &str) -> Result<(), ConfigError> {
    toml::from_str::<Configuration>(text)
        .map(drop)
        .map_err(|error| ConfigError::File {
            at: Location::of(file, text, error.span().map_or(0, |span| span.start)),
            message: error.message().replace('\n', " "),
            hint: nearest(error.message()),
        })
}

/// For serde's "unknown field `x`, expected one of `a`, `b`": the nearest valid name.
fn nearest(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let given = names.next()?;
    names
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min()
        .map(|(_, name)| format!("did you mean `{name}`?"))
}

/// The file was read strictly before, so an error of the whole is the fault of a variable or a flag.
fn blame(error: &config::ConfigError, variables: &[(String, String)]) -> ConfigError {
    let (origin, message) = match error {
        config::ConfigError::Type {
            origin,
            unexpected,
            expected,
            ..
        } => (origin.clone(), format!("expected {expected}, not {unexpected}")),
        config::ConfigError::At { error, origin, .. } => (origin.clone(), error.to_string()),
        other => (None, other.to_string()),
    };
    let unknown = message.split('`').nth(1).map(str::to_ascii_uppercase);
    let name = origin.or_else(|| {
        let part = unknown?;
        variables
            .iter()
            .find(|(name, _)| name.starts_with("TIDEGATE__") && name.split("__").any(|piece| piece == part))
            .map(|(name, _)| name.clone())
    });
    match name {
        Some(name) => {
            let hint = nearest(&message)
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default();
            ConfigError::Variable {
                name,
                message: format!("{message}{hint}"),
            }
        }
        None => ConfigError::Layers(message),
    }
}

fn collect_origins(value: &config::Value, key: &str, origins: &mut BTreeMap<String, String>) {
    if let config::ValueKind::Table(members) = &value.kind {
        for (name, inner) in members {
            collect_origins(inner, &join(key, name), origins);
        }
    } else if let Some(origin) = value.origin() {
        origins.insert(key.into(), origin.into());
    }
}

fn join(key: &str, name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let name = if bare {
        name.to_owned()
    } else {
        format!("{name:?}")
    };
    if key.is_empty() {
        name
    } else {
        format!("{key}.{name}")
    }
}
