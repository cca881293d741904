//! Which embedder: the one place where the configuration becomes one.

use crate::progress::watched;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_memory::{EmbedWork, Embedder, HashedEmbedder};
use tidegate_runtime::config::{EmbedderChoice, Loaded};
use tidegate_runtime::{DataFolder, Runtime};
use tidegate_store::ModelRecord;

/// An embedder that was chosen.
pub(crate) struct Picked {
    pub(crate) embedder: Arc<dyn Embedder>,
    /// Why this one, as a sentence.
    pub(crate) why: String,
    /// What would be better and how to get it; none if this is the best.
    pub(crate) better: Option<String>,
}

/// What is known when an embedder is chosen.
pub(crate) struct Circumstances<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) data: &'a DataFolder,
    /// The model the records were embedded with; none if there is none yet or it shall be another.
    pub(crate) recorded: Option<ModelRecord>,
}

impl Circumstances<'_> {
    /// Where fetched models lie.
    pub(crate) fn models(&self) -> PathBuf {
        models_folder(self.data)
    }

    /// The embedder of this choice. `auto` never downloads and is never remote.
    pub(crate) async fn pick(&self, choice: &EmbedderChoice) -> anyhow::Result<Picked> {
        match choice {
            EmbedderChoice::Hashed => Ok(Picked {
                embedder: Arc::new(HashedEmbedder::new()),
                why: "[memory] embedder says so".to_owned(),
                better: None,
            }),
            EmbedderChoice::Auto => self.auto().await,
            EmbedderChoice::BgeM3 => self.local("bge-m3").await,
            EmbedderChoice::Minilm => self.local("minilm").await,
            EmbedderChoice::Named(name) => self.local(name).await,
            EmbedderChoice::Openai(model) => self.remote(model).await,
        }
    }
}

impl Picked {
    /// Loads the model if that was not done yet, so that the first search does not wait for it. Nothing is sent to a
    /// remote one but a word.
    pub(crate) async fn loaded(self) -> anyhow::Result<Self> {
        let word = self
            .embedder
            .embed_query("ready".to_owned(), EmbedWork::default());
        watched("loading the model", word).await?;
        Ok(self)
    }
}

/// Where fetched models lie.
pub(crate) fn models_folder(data: &DataFolder) -> PathBuf {
    data.root().join("models")
}

#[cfg(feature = "embed")]
mod built_in {
    use super::*;
    use crate::environment;
    use tidegate_embed::{
        Auto, FolderOptions, LazyEmbedder, LibraryPlaces, ModelFolder, RemoteEmbedder, RemoteSettings,
    };
    use tidegate_runtime::MemoryService;

    impl Circumstances<'_> {
        /// Where ONNX Runtime may be.
        pub(crate) fn library(&self) -> LibraryPlaces {
            LibraryPlaces {
                models: Some(self.models()),
                ..LibraryPlaces::default()
            }
            .with_environment()
        }

        /// What `auto` looks at.
        pub(crate) fn offers(&self) -> Auto {
            Auto {
                recorded: self.recorded.clone(),
                model_dir: Runtime::model_folder(self.loaded),
                options: FolderOptions::default(),
                models: self.models(),
                library: self.library(),
            }
        }

        pub(super) async fn auto(&self) -> anyhow::Result<Picked> {
            let auto = self.offers();
            let (embedder, chosen) = off_thread("reading the model", move || auto.open_lazily()).await??;
            Ok(Picked {
                embedder,
                why: chosen.why,
                better: chosen.better,
            })
        }

        pub(super) async fn local(&self, name: &str) -> anyhow::Result<Picked> {
            let folder = self.folder_of(name)?;
            let library = self.library();
            let open = move || {
                let folder = ModelFolder::read(&folder, &FolderOptions::default())?;
                LazyEmbedder::new(folder, library)
            };
            let embedder = off_thread("reading the model", open).await??;
            Ok(Picked {
                embedder: Arc::new(embedder),
                why: format!("[memory] embedder = {name:?}"),
                better: None,
            })
        }

        /// The folder of a model by the name it has here, or by that of its makers; or a folder that is named itself.
        pub(crate) fn folder_of(&self, name: &str) -> anyhow::Result<PathBuf> {
            let installed = tidegate_embed::installed(&self.models())?;
            let found = installed.into_iter().find(|model| {
                let makers = model.manifest.as_ref().map(|manifest| manifest.model.as_str());
                model.name == name || makers == Some(name)
            });
            if let Some(model) = found {
                return Ok(model.folder);
            }
            let folder = Path::new(name);
            if folder.components().count() > 1 && folder.is_dir() {
                return Ok(folder.to_path_buf());
            }
            anyhow::bail!(
                "there is no model {name:?} on this machine: `tidegate models fetch {name}` gets it once, `tidegate models \
                 list` shows what there is, and [memory] model_dir or a path names a folder of your own"
            )
        }

        pub(super) async fn remote(&self, model: &str) -> anyhow::Result<Picked> {
            let remote = &self.loaded.configuration.memory.remote;
            let url = remote.base_url.as_deref().with_context(|| {
                format!("openai:{model} needs base_url in [memory.remote], as in http://127.0.0.1:8080/v1")
            })?;
            let mut settings = RemoteSettings::new(url.parse()?, model);
            settings.api_key =
                Runtime::memory_key(self.loaded, MemoryService::Embedder, &environment::variables())?;
            settings.dimension = remote.dimensions;
            settings.clearance = Some(remote.effective_clearance());
            let embedder = RemoteEmbedder::open(settings)
                .await
                .with_context(|| format!("the embedder openai:{model} of {url} cannot be used"))?;
            Ok(Picked {
                embedder: Arc::new(embedder),
                why: format!(
                    "[memory] embedder says so; texts up to {} go to {url}",
                    remote.effective_clearance()
                ),
                better: None,
            })
        }
    }

    /// Runs blocking work on another thread, with something to look at while it takes long.
    pub(crate) async fn off_thread<T: Send + 'static>(
        what: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        Ok(watched(what, tokio::task::spawn_blocking(work)).await?)
    }
}

#[cfg(feature = "embed")]
pub(crate) use built_in::off_thread;

#[cfg(not(feature = "embed"))]
impl Circumstances<'_> {
    async fn auto(&self) -> anyhow::Result<Picked> {
        Ok(Picked {
            embedder: Arc::new(HashedEmbedder::new()),
            why: "this program was built without models".to_owned(),
            better: Some("Build it with the feature embed.".to_owned()),
        })
    }

    async fn local(&self, name: &str) -> anyhow::Result<Picked> {
        anyhow::bail!(
            "this program was built without models, so {name} cannot be used; build it with the feature embed"
        )
    }

    async fn remote(&self, model: &str) -> anyhow::Result<Picked> {
        self.local(&format!("openai:{model}")).await
    }
}
