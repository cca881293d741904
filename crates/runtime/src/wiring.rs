//! A runtime from a configuration: the store, the providers and the tiers it names.

use crate::config::{Configuration, DurabilitySetting, Loaded, ProviderKind, ProviderSettings};
use crate::{DataFolder, Runtime, RuntimeError, user_config_folder};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidegate_message::{ModelId, ProviderId, Tier};
use tidegate_providers::{OpenAi, OpenAiConfig, Provider, Scripted};
use tidegate_store::{Durability, SqliteStore, Store};
use url::Url;

impl Runtime {
    /// Opens the store of `data` and sets up every configured provider.
    ///
    /// `variables` are the process's environment: keys are looked up there.
    ///
    /// # Errors
    /// If the store cannot be opened, a key is missing, or a scenario file is wrong.
    pub fn open(
        loaded: &Loaded,
        data: &DataFolder,
        variables: &[(String, String)],
    ) -> Result<Self, RuntimeError> {
        let configuration = &loaded.configuration;
        let database = database_path(configuration, data);
        let store = open_store(configuration, data)?;
        let mut own_files = vec![absolute(data.root()), absolute(&database)];
        own_files.extend(user_config_folder().map(|folder| absolute(&folder)));
        own_files.extend(loaded.file.as_ref().map(|file| file.path.clone()));

        let base = loaded
            .file
            .as_ref()
            .and_then(|file| file.path.parent())
            .map(Path::to_path_buf);
        let mut builder = Self::builder()
            .store(store)
            .lock_folder(data.locks())
            .session_workspaces(absolute(&data.workspaces()));
        for (name, settings) in &configuration.providers {
            let id = ProviderId::new(name.as_str());
            own_files.extend(
                settings
                    .api_key_file
                    .as_ref()
                    .map(|file| absolute(&beside(base.as_deref(), file))),
            );
            let provider: Arc<dyn Provider> = match settings.kind {
                ProviderKind::Openai => openai(&id, settings, base.as_deref(), variables)?,
                ProviderKind::Scripted => {
                    let path = beside(base.as_deref(), &settings.scenario);
                    own_files.push(absolute(&path));
                    let scripted = Scripted::from_file(id.clone(), &path);
                    Arc::new(scripted.map_err(|error| broken(&id, "its scenario cannot be played", error))?)
                }
                ProviderKind::Gemini | ProviderKind::Anthropic => {
                    return Err(RuntimeError::Provider {
                        provider: id,
                        message: "this kind is not in this version".into(),
                        cause: None,
                    });
                }
            };
            let clearance = settings
                .clearance
                .unwrap_or_else(|| crate::config::default_clearance(settings));
            builder = builder.provider(provider, clearance, settings.max_concurrent);
        }
        for (tier, names) in [
            (Tier::Lite, &configuration.tiers.lite),
            (Tier::Flash, &configuration.tiers.flash),
            (Tier::Pro, &configuration.tiers.pro),
        ] {
            // Loading has checked that each name parses and has its provider.
            let models: Vec<ModelId> = names.iter().filter_map(|name| name.parse().ok()).collect();
            builder = builder.tier(tier, models);
        }
        builder
            .own_files(own_files)
            .configuration(configuration.clone())
            .build()
    }

    /// Opens the store alone: for commands that only look.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn open_store(
        configuration: &Configuration,
        data: &DataFolder,
    ) -> Result<Arc<dyn Store>, RuntimeError> {
        open_store(configuration, data)
    }
}

fn open_store(configuration: &Configuration, data: &DataFolder) -> Result<Arc<dyn Store>, RuntimeError> {
    let durability = match configuration.store.durability {
        DurabilitySetting::Power => Durability::Power,
        DurabilitySetting::Process => Durability::Process,
    };
    Ok(Arc::new(SqliteStore::open(
        database_path(configuration, data),
        durability,
    )?))
}

fn database_path(configuration: &Configuration, data: &DataFolder) -> PathBuf {
    if configuration.store.path.is_empty() {
        data.database()
    } else {
        PathBuf::from(&configuration.store.path)
    }
}

fn openai(
    id: &ProviderId,
    settings: &ProviderSettings,
    base: Option<&Path>,
    variables: &[(String, String)],
) -> Result<Arc<dyn Provider>, RuntimeError> {
    let text = settings.base_url.as_deref().unwrap_or_default();
    let base_url = Url::parse(text).map_err(|error| broken(id, "its base_url is no address", error))?;
    let api_key = api_key(id, settings, base, variables)?;
    let provider = OpenAi::new(OpenAiConfig {
        id: id.clone(),
        base_url,
        api_key: api_key.map(Into::into),
        timeout: Duration::from_secs(settings.timeout_s),
    });
    Ok(Arc::new(provider))
}

fn api_key(
    id: &ProviderId,
    settings: &ProviderSettings,
    base: Option<&Path>,
    variables: &[(String, String)],
) -> Result<Option<String>, RuntimeError> {
    let refuse = |message: String| {
        Err(RuntimeError::Provider {
            provider: id.clone(),
            message,
            cause: None,
        })
    };
    if let Some(name) = &settings.api_key_env {
        return match variables.iter().find(|(known, _)| known == name) {
            Some((_, key)) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
            Some(_) => refuse(format!(
                "variable {name} (api_key_env) is empty; set it to the provider's key"
            )),
            None => refuse(format!(
                "variable {name} (api_key_env) is not set; set it to the provider's key, or remove api_key_env if it needs none"
            )),
        };
    }
    let Some(file) = &settings.api_key_file else {
        return Ok(None);
    };
    let path = beside(base, file);
    let metadata = std::fs::metadata(&path).map_err(|error| {
        broken(
            id,
            &format!("the key file {} cannot be read", path.display()),
            error,
        )
    })?;
    if !is_private(&metadata) {
        return refuse(format!(
            "the key file {} can be read by others; run: chmod 600 {}",
            path.display(),
            path.display()
        ));
    }
    let key = std::fs::read_to_string(&path).map_err(|error| {
        broken(
            id,
            &format!("the key file {} cannot be read", path.display()),
            error,
        )
    })?;
    if key.trim().is_empty() {
        return refuse(format!("the key file {} is empty", path.display()));
    }
    Ok(Some(key.trim().to_owned()))
}

#[cfg(unix)]
fn is_private(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(_metadata: &std::fs::Metadata) -> bool {
    true
}

fn broken(
    provider: &ProviderId,
    message: &str,
    cause: impl std::error::Error + Send + Sync + 'static,
) -> RuntimeError {
    RuntimeError::Provider {
        provider: provider.clone(),
        message: message.into(),
        cause: Some(Box::new(cause)),
    }
}

/// A path of the configuration file: relative ones stand beside it.
fn beside(base: Option<&Path>, path: &str) -> PathBuf {
    base.map_or_else(|| PathBuf::from(path), |base| base.join(path))
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_path_buf())
}
