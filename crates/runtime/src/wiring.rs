//! A runtime from a configuration: the store, the providers and the tiers it names.

use crate::api_key::{KeyPlace, NoKey};
use crate::config::{
    Configuration, DurabilitySetting, FilePlace, Loaded, ProviderKind, ProviderSettings, TrustedFiles,
};
use crate::{DataFolder, Runtime, RuntimeBuilder, RuntimeError, user_config_folder};
use crate::{prompt, secrets};
use secrecy::SecretString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidegate_message::{ModelId, ProviderId, Tier};
use tidegate_providers::{OpenAi, OpenAiConfig, Provider, ScenarioError, Scripted};
use tidegate_store::{Durability, Records, SqliteStore, Store};
use url::Url;

impl Runtime {
    /// Opens the store of `data` and sets up every configured provider; see [`configured`](Self::configured).
    ///
    /// # Errors
    /// As there.
    pub fn open(
        loaded: &Loaded,
        data: &DataFolder,
        variables: &[(String, String)],
    ) -> Result<Self, RuntimeError> {
        Self::configured(loaded, data, variables)?.build()
    }

    /// A builder with the store of `data`, opened, every configured provider, the tiers, and the tools that need
    /// nothing of the program (`http_get`, `list_tools`, `get_tool_schema` among them). Add
    /// [`commands`](RuntimeBuilder::commands) and an [`asker`](RuntimeBuilder::asker) where there are.
    ///
    /// `variables` are the process's environment: keys are looked up there.
    ///
    /// # Errors
    /// If the store cannot be opened, a key is missing, or a scenario file is wrong.
    pub fn configured(
        loaded: &Loaded,
        data: &DataFolder,
        variables: &[(String, String)],
    ) -> Result<RuntimeBuilder, RuntimeError> {
        let mut builder = Self::judging(loaded, data, variables)?;
        let configuration = &loaded.configuration;
        for (name, settings) in &configuration.providers {
            let setup = Setup::new(loaded, data, name, settings, variables);
            let clearance = settings
                .clearance
                .unwrap_or_else(|| crate::config::default_clearance(settings));
            builder = builder.provider(setup.provider()?, clearance, settings.max_concurrent);
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
        let auxiliary = configuration.tiers.auxiliary.iter();
        builder = builder
            .auxiliary(auxiliary.filter_map(|name| name.parse().ok()).collect())
            .templates(prompt::templates(loaded, data)?);
        let base = loaded.file.as_ref().and_then(|file| file.path.parent());
        Ok(builder.secret_values(secrets::values(configuration, base, variables)?))
    }

    /// The same without a model: no key is looked up and no scenario read. It opens no session, and does for
    /// [`simulate`](Self::simulate) and [`explain`](Self::explain).
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn judging(
        loaded: &Loaded,
        data: &DataFolder,
        variables: &[(String, String)],
    ) -> Result<RuntimeBuilder, RuntimeError> {
        let configuration = &loaded.configuration;
        let store = open_store(configuration, data)?;
        let mut own_files = vec![absolute(data.root())];
        own_files.extend(database_files(&absolute(&database_path(configuration, data))));
        own_files.extend(user_config_folder().map(|folder| absolute(&folder)));
        // Another run may use another data folder: those that are there are the program's own all the same.
        let named = variables
            .iter()
            .find(|(name, _)| name == "TIDEGATE_DATA_DIR")
            .map(|(_, folder)| folder);
        let others = named.map(PathBuf::from).into_iter();
        let others = others.chain(DataFolder::of_platform().map(|folder| folder.root().to_path_buf()));
        own_files.extend(
            others
                .filter(|folder| folder.is_dir())
                .map(|folder| absolute(&folder)),
        );
        own_files.extend(loaded.file.as_ref().map(|file| file.path.clone()));
        own_files.extend(prompt::templates_folder(loaded).map(|folder| absolute(&folder)));

        for (name, settings) in &configuration.providers {
            own_files.extend(Setup::new(loaded, data, name, settings, variables).files());
        }
        let base = loaded.file.as_ref().and_then(|file| file.path.parent());
        let memory_files =
            [MemoryService::Embedder, MemoryService::Index].map(|service| key_of(loaded, service).path());
        own_files.extend(memory_files.into_iter().flatten().map(|file| absolute(&file)));
        own_files.extend(Self::model_folder(loaded).map(|folder| absolute(&folder)));
        let secrets = configuration.secrets.values();
        own_files.extend(secrets.filter_map(|secret| secret.file.as_ref()).map(|file| {
            let file = base.map_or_else(|| PathBuf::from(file), |base| base.join(file));
            absolute(&file)
        }));
        Ok(Self::builder()
            .records(Arc::clone(&store) as Arc<dyn Records>)
            .store(store)
            .lock_folder(data.locks())
            .session_workspaces(absolute(&data.workspaces()))
            .rules(loaded.rules.clone())
            .own_files(own_files)
            .trusted_files(TrustedFiles::in_folder(data.root()))
            .web()
            .catalogue()
            .configuration(configuration.clone()))
    }

    /// The same with the values of secrets, to be taken out of what is shown of sessions: for
    /// [`system_prompt`](Self::system_prompt) and [`sent_request`](Self::sent_request).
    ///
    /// # Errors
    /// If the store cannot be opened, or a secret cannot be read: what it is could be shown then.
    pub fn showing(
        loaded: &Loaded,
        data: &DataFolder,
        variables: &[(String, String)],
    ) -> Result<RuntimeBuilder, RuntimeError> {
        let base = loaded.file.as_ref().and_then(|file| file.path.parent());
        let values = secrets::values(&loaded.configuration, base, variables)?;
        Ok(Self::judging(loaded, data, variables)?.secret_values(values))
    }

    /// The same with the templates, for [`begin_without_models`](Self::begin_without_models).
    ///
    /// # Errors
    /// As [`showing`](Self::showing), and if a template cannot be used.
    pub fn preparing(
        loaded: &Loaded,
        data: &DataFolder,
        variables: &[(String, String)],
    ) -> Result<RuntimeBuilder, RuntimeError> {
        let templates = prompt::templates(loaded, data)?;
        Ok(Self::showing(loaded, data, variables)?.templates(templates))
    }

    /// What keeps the configured providers from being set up here and now: keys that are not there, scenarios
    /// that cannot be played or that nobody trusts; and templates that cannot be used. [`open`](Self::open) fails with the first of them.
    pub fn missing(loaded: &Loaded, data: &DataFolder, variables: &[(String, String)]) -> Vec<RuntimeError> {
        let providers = loaded.configuration.providers.iter();
        let of_providers = providers.filter_map(|(name, settings)| {
            Setup::new(loaded, data, name, settings, variables)
                .provider()
                .err()
        });
        of_providers
            .chain(prompt::templates(loaded, data).err())
            .collect()
    }

    /// The file of the store.
    pub fn store_file(configuration: &Configuration, data: &DataFolder) -> PathBuf {
        database_path(configuration, data)
    }

    /// Opens the store alone: for commands that only look.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn open_store(
        configuration: &Configuration,
        data: &DataFolder,
    ) -> Result<Arc<dyn Store>, RuntimeError> {
        Ok(open_store(configuration, data)?)
    }

    /// Opens the store for its records of memories: for commands without a session.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn open_records(
        configuration: &Configuration,
        data: &DataFolder,
    ) -> Result<Arc<SqliteStore>, RuntimeError> {
        open_store(configuration, data)
    }

    /// The key of a service that `[memory]` names; none if it needs none.
    ///
    /// # Errors
    /// [`RuntimeError::MemoryKey`] if it is to have one that is not there, or that others can read.
    pub fn memory_key(
        loaded: &Loaded,
        service: MemoryService,
        variables: &[(String, String)],
    ) -> Result<Option<SecretString>, RuntimeError> {
        let key = key_of(loaded, service).read(variables);
        let key = key.map_err(|NoKey { message, cause }| RuntimeError::MemoryKey {
            section: service.section(),
            message,
            cause,
        })?;
        Ok(key.map(Into::into))
    }

    /// The folder of `[memory] model_dir`, if it names one: relative ones stand beside the configuration file.
    pub fn model_folder(loaded: &Loaded) -> Option<PathBuf> {
        let named = &loaded.configuration.memory.model_dir;
        let base = loaded.file.as_ref().and_then(|file| file.path.parent());
        let folder = base.map_or_else(|| PathBuf::from(named), |base| base.join(named));
        (!named.is_empty()).then_some(folder)
    }
}

/// A service that the memories may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryService {
    /// The endpoint of `[memory.remote]`.
    Embedder,
    /// The server of `[memory.index]`.
    Index,
}

impl MemoryService {
    fn section(self) -> &'static str {
        match self {
            Self::Embedder => "[memory.remote]",
            Self::Index => "[memory.index]",
        }
    }
}

fn key_of(loaded: &Loaded, service: MemoryService) -> KeyPlace<'_> {
    let memory = &loaded.configuration.memory;
    let (variable, file) = match service {
        MemoryService::Embedder => (&memory.remote.api_key_env, &memory.remote.api_key_file),
        MemoryService::Index => (&memory.index.api_key_env, &memory.index.api_key_file),
    };
    KeyPlace {
        variable: variable.as_deref(),
        file: file.as_deref(),
        base: loaded.file.as_ref().and_then(|file| file.path.parent()),
    }
}

fn open_store(configuration: &Configuration, data: &DataFolder) -> Result<Arc<SqliteStore>, RuntimeError> {
    if data.root().metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(RuntimeError::Folder {
            what: "data folder",
            path: data.root().to_path_buf(),
            hint: "choose another with --data-dir DIR or TIDEGATE_DATA_DIR",
            cause: std::io::ErrorKind::NotADirectory.into(),
        });
    }
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
        data.root().join(&configuration.store.path)
    }
}

/// The database and what SQLite keeps beside it.
fn database_files(database: &Path) -> [PathBuf; 4] {
    ["", "-wal", "-shm", "-journal"].map(|suffix| {
        let mut path = database.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    })
}

/// One provider of the configuration, to be set up.
pub(crate) struct Setup<'a> {
    id: ProviderId,
    settings: &'a ProviderSettings,
    /// The folder of the configuration file.
    base: Option<&'a Path>,
    /// The list to be on for files that came with the work, if the configuration did.
    trusted: Option<TrustedFiles>,
    variables: &'a [(String, String)],
}

impl<'a> Setup<'a> {
    pub(crate) fn new(
        loaded: &'a Loaded,
        data: &DataFolder,
        name: &str,
        settings: &'a ProviderSettings,
        variables: &'a [(String, String)],
    ) -> Self {
        let file = loaded.file.as_ref();
        let came_with_the_work = file.is_some_and(|file| file.place == FilePlace::WorkingFolder);
        Self {
            id: ProviderId::new(name),
            settings,
            base: file.and_then(|file| file.path.parent()),
            trusted: came_with_the_work.then(|| TrustedFiles::in_folder(data.root())),
            variables,
        }
    }

    /// The files it needs.
    fn files(&self) -> Vec<PathBuf> {
        let scenario = Some(&self.settings.scenario).filter(|scenario| !scenario.is_empty());
        let scenario = scenario.map(|file| self.beside(file));
        self.key()
            .path()
            .into_iter()
            .chain(scenario)
            .map(|file| absolute(&file))
            .collect()
    }

    pub(crate) fn provider(&self) -> Result<Arc<dyn Provider>, RuntimeError> {
        match self.settings.kind {
            ProviderKind::Openai => self.openai(),
            ProviderKind::Scripted => {
                let path = self.beside(&self.settings.scenario);
                let text = self.scenario(&path)?;
                match Scripted::from_str(self.id.clone(), &path.display().to_string(), &text) {
                    Ok(scripted) => Ok(Arc::new(scripted)),
                    Err(error) => Err(self.broken("its scenario cannot be played".into(), error)),
                }
            }
            ProviderKind::Gemini | ProviderKind::Anthropic => {
                Err(self.refused("this kind is not in this version".into()))
            }
        }
    }

    /// The scenario's text, if it may be played: what is trusted is what is played.
    fn scenario(&self, path: &Path) -> Result<String, RuntimeError> {
        let text = std::fs::read_to_string(path).map_err(|cause| {
            let file = path.to_path_buf();
            let unreadable = ScenarioError::Unreadable { file, cause };
            self.broken("its scenario cannot be played".into(), unreadable)
        })?;
        if let Some(trusted) = &self.trusted {
            let canonical = absolute(path);
            if !trusted.is_trusted(&canonical, text.as_bytes())? {
                return Err(RuntimeError::UntrustedScenario { file: canonical });
            }
        }
        Ok(text)
    }

    fn openai(&self) -> Result<Arc<dyn Provider>, RuntimeError> {
        let timeout = Duration::from_secs(self.settings.timeout_s);
        Ok(Arc::new(OpenAi::new(self.openai_config(timeout)?)))
    }

    pub(crate) fn openai_config(&self, timeout: Duration) -> Result<OpenAiConfig, RuntimeError> {
        let text = self.settings.base_url.as_deref().unwrap_or_default();
        let base_url =
            Url::parse(text).map_err(|error| self.broken("its base_url is no address".into(), error))?;
        Ok(OpenAiConfig {
            id: self.id.clone(),
            base_url,
            api_key: self.api_key()?.map(Into::into),
            timeout,
        })
    }

    fn key(&self) -> KeyPlace<'_> {
        KeyPlace {
            variable: self.settings.api_key_env.as_deref(),
            file: self.settings.api_key_file.as_deref(),
            base: self.base,
        }
    }

    fn api_key(&self) -> Result<Option<String>, RuntimeError> {
        self.key()
            .read(self.variables)
            .map_err(|NoKey { message, cause }| match cause {
                Some(cause) => self.broken(message, cause),
                None => self.refused(message),
            })
    }

    /// A path of the configuration file: relative ones stand beside it.
    fn beside(&self, path: &str) -> PathBuf {
        self.base
            .map_or_else(|| PathBuf::from(path), |base| base.join(path))
    }

    fn refused(&self, message: String) -> RuntimeError {
        RuntimeError::Provider {
            provider: self.id.clone(),
            message,
            cause: None,
        }
    }

    fn broken(&self, message: String, cause: impl std::error::Error + Send + Sync + 'static) -> RuntimeError {
        RuntimeError::Provider {
            provider: self.id.clone(),
            message,
            cause: Some(Box::new(cause)),
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_path_buf())
}
