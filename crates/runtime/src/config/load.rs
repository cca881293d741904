//! Finding, reading and layering.

use super::check;
use super::error::{ConfigError, Location};
use super::layers::{Layer, Override};
use super::model::{Configuration, LOCAL_USER};
use super::trust::TrustedFiles;
use super::wording::{nearest, plain};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tidegate_policy::RuleSet;

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
    /// The custom rules of `policy.rules`, checked.
    pub rules: RuleSet,
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
/// user's; they are not merged, but the clearances of the user's file stay the limits of the other.
///
/// # Errors
/// See [`ConfigError`]. Nothing of a file with an error is used.
pub fn load(options: &LoadOptions) -> Result<Loaded, ConfigError> {
    let found = find(options)?;
    let mut builder = config::Config::builder();
    let mut limits = Layer::default();
    if let Some(Found { file, text, behind }) = &found {
        let layer = layer(&file.path, text)?;
        if let Some(user_file) = behind {
            limits = self::layer(user_file, &read(user_file)?)?.clearances(&layer);
            builder = builder.add_source(limits.clone());
        }
        builder = builder.add_source(layer);
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
    let configuration: Configuration =
        serde_path_to_error::deserialize(merged.cache).map_err(|error| blame(&error, &origins))?;
    let rules = rules(&configuration, found.as_ref(), &origins)?;
    let loaded = Loaded {
        configuration,
        file: found.map(|found| found.file),
        origins,
        rules,
    };
    check::check(&loaded, &limits)?;
    Ok(loaded)
}

/// The custom rules. Those of the file are read from its text, so that their errors have a place in it.
fn rules(
    configuration: &Configuration,
    found: Option<&Found>,
    origins: &BTreeMap<String, String>,
) -> Result<RuleSet, ConfigError> {
    let tables = &configuration.policy.rules;
    if tables.is_empty() {
        return Ok(RuleSet::default());
    }
    let elsewhere = origins
        .iter()
        .find(|(key, origin)| key.starts_with("policy.rules") && !origin.contains(':'));
    let rules = match (elsewhere, found) {
        (None, Some(found)) => RuleSet::parse(&found.file.path.display().to_string(), &found.text),
        (Some((_, name)), _) => RuleSet::of_tables(name, tables),
        (None, None) => RuleSet::of_tables("policy.rules", tables),
    };
    rules.map_err(ConfigError::Rules)
}

/// The layer of a file. It is read strictly and alone first, so that its errors have a place in it.
fn layer(file: &Path, text: &str) -> Result<Layer, ConfigError> {
    read_strictly(file, text)?;
    Layer::of_file(file, text)
}

/// The JSON schema of the file: every key with its meaning and default; `x-hot` marks those that take effect
/// without a restart.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Configuration).to_value()
}

impl Loaded {
    /// The origin of a dotted key; `default` if it was not set.
    pub fn origin(&self, key: &str) -> String {
        self.set(key).unwrap_or("default").to_owned()
    }

    /// Where a key, or else what stands nearest to it, was set: for errors, which have to name a place to change.
    pub(super) fn place(&self, key: &str) -> String {
        let mut near = key;
        loop {
            if let Some(at) = self.set(near) {
                return at.to_owned();
            }
            match near.rsplit_once('.') {
                Some((section, _)) => near = section,
                None => return "default".into(),
            }
        }
    }

    /// Where a key, or the first one of the section it names, was set.
    fn set(&self, key: &str) -> Option<&str> {
        let inside = format!("{key}.");
        self.origins
            .get(key)
            .or_else(|| {
                self.origins
                    .iter()
                    .find(|(known, _)| known.starts_with(&inside))
                    .map(|(_, at)| at)
            })
            .map(String::as_str)
    }

    /// Every value with its origin, in the order of the sections; also those that a default depends on
    /// something else for, such as a provider's clearance.
    pub fn values(&self) -> Vec<ShownValue> {
        let mut effective = self.configuration.clone();
        for provider in effective.providers.values_mut() {
            provider.clearance = Some(provider.clearance.unwrap_or(check::default_clearance(provider)));
        }
        effective.users.0.entry(LOCAL_USER.into()).or_default();
        let users = effective.users.clone();
        for (name, user) in &mut effective.users.0 {
            user.role = users.role(name);
            user.clearance = users.clearance(name);
        }
        let mut shown = Vec::new();
        // A configuration that was read from text can be written as text.
        if let Ok(table) = toml::Table::try_from(&effective) {
            self.show(&toml::Value::Table(table), "", &mut shown);
        }
        shown
    }

    fn show(&self, value: &toml::Value, key: &str, shown: &mut Vec<ShownValue>) {
        let value = match value {
            toml::Value::Table(members) => {
                for (name, value) in members {
                    self.show(value, &join(key, name), shown);
                }
                return;
            }
            toml::Value::Datetime(moment) => moment.to_string().into(),
            leaf => serde_json::to_value(leaf).unwrap_or_default(),
        };
        shown.push(ShownValue {
            key: key.into(),
            value,
            origin: self.origin(key),
        });
    }
}

/// The file to use.
struct Found {
    file: ConfigFile,
    text: String,
    /// The user's own file, if another one stands in for it.
    behind: Option<PathBuf>,
}

fn find(options: &LoadOptions) -> Result<Option<Found>, ConfigError> {
    let found = |file: &Path, place, text, behind| {
        let path = canonical(file);
        let file = ConfigFile { path, place };
        Ok(Some(Found { file, text, behind }))
    };
    if let Some(file) = &options.file {
        return found(file, FilePlace::Named, read(file)?, None);
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
        let user_path = user_file.as_deref().map(canonical);
        if user_path.as_ref() == Some(&path) {
            return found(&path, FilePlace::UserFolder, text, None);
        }
        if !TrustedFiles::in_folder(&options.data_folder).is_trusted(&path, text.as_bytes())? {
            return Err(ConfigError::Untrusted { file: path });
        }
        return found(&path, FilePlace::WorkingFolder, text, user_path);
    }
    match user_file {
        Some(file) => found(&file, FilePlace::UserFolder, read(&file)?, None),
        None => Ok(None),
    }
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
            at: Location::of(&canonical(file), &text, valid),
            message: "the file is not UTF-8 from here on; save it as UTF-8".into(),
            hint: None,
        }
    })
}

/// Reads the file alone, strictly, so that its errors have a place in it.
fn read_strictly(file: &Path, text: &str) -> Result<(), ConfigError> {
    toml::from_str::<Configuration>(text).map(drop).map_err(|error| {
        let message = plain(error.message());
        ConfigError::File {
            at: Location::of(file, text, error.span().map_or(0, |span| span.start)),
            hint: nearest(&message),
            message,
        }
    })
}

/// The file was read strictly before, so an error of the whole is the fault of a variable or a flag.
fn blame(
    error: &serde_path_to_error::Error<config::ConfigError>,
    origins: &BTreeMap<String, String>,
) -> ConfigError {
    use serde_path_to_error::Segment;
    let mut key = String::new();
    for segment in error.path() {
        match segment {
            Segment::Map { key: name } => key = join(&key, name),
            // Items have the origin of their list, variants that of their value.
            Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    let mut inner = error.inner();
    while let config::ConfigError::At { error, .. } = inner {
        inner = error;
    }
    let message = match inner {
        config::ConfigError::Type {
            unexpected, expected, ..
        } => format!("wrong type: {unexpected}, expected {expected}"),
        config::ConfigError::NotFound(missing) => {
            let name = missing.rsplit('.').next().unwrap_or(missing);
            format!("missing key `{name}`")
        }
        other => other.to_string(),
    };
    let message = plain(&message);
    let hint = nearest(&message).map_or_else(String::new, |hint| format!("; {hint}"));
    let inside = format!("{key}.");
    // `FILE:LINE` has a colon, a variable's name has none.
    let origin = origins
        .iter()
        .find(|(known, origin)| (**known == key || known.starts_with(&inside)) && !origin.contains(':'));
    match origin {
        Some((_, name)) => ConfigError::Variable {
            name: name.clone(),
            message: format!("{key}: {message}{hint}"),
        },
        None => ConfigError::Layers(format!("{key}: {message}{hint}")),
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

/// `key.name`, with the name in quotes if it is no bare TOML key.
pub(super) fn join(key: &str, name: &str) -> String {
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
