//! A local model that is loaded when it is first needed.

use crate::blocking::off_thread;
use crate::{EmbedError, LibraryPlaces, LocalEmbedder, ModelFolder, ModelKind, OnnxRuntime};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tidegate_memory::{EmbedWork, Embedder, EmbedderError, Embedding};
use tidegate_policy::Classification;
use tidegate_store::ModelRecord;
use tidegate_tools::BoxFuture;

/// The model of a folder, loaded with the first text that is embedded or counted, or when somebody asks how many tokens
/// count: what never embeds anything does not wait for it. What is known without loading it is told at once.
#[derive(Clone)]
pub struct LazyEmbedder {
    folder: ModelFolder,
    places: LibraryPlaces,
    loaded: Arc<OnceLock<Arc<LocalEmbedder>>>,
    /// Held while it is being loaded.
    loading: Arc<Mutex<()>>,
}

impl fmt::Debug for LazyEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyEmbedder")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl LazyEmbedder {
    /// The model of `folder`, to be run by a library that is in one of `places`.
    ///
    /// # Errors
    /// [`EmbedError::NoLibrary`]: then it could never be loaded.
    pub fn new(folder: ModelFolder, places: LibraryPlaces) -> Result<Self, EmbedError> {
        places.find()?;
        Ok(Self {
            folder,
            places,
            loaded: Arc::default(),
            loading: Arc::default(),
        })
    }

    /// Loads it, unless it is loaded. Blocks. What failed is tried again the next time.
    fn load(&self) -> Result<Arc<LocalEmbedder>, EmbedError> {
        if let Some(embedder) = self.loaded.get() {
            return Ok(Arc::clone(embedder));
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = self.loaded.get() {
            return Ok(Arc::clone(embedder));
        }
        let embedder = Arc::new(LocalEmbedder::open(
            &self.folder,
            &OnnxRuntime::load(&self.places)?,
        )?);
        Ok(Arc::clone(self.loaded.get_or_init(|| embedder)))
    }

    async fn ready(&self) -> Result<Arc<LocalEmbedder>, EmbedderError> {
        // Once it is there nothing waits for another thread.
        if let Some(embedder) = self.loaded.get() {
            return Ok(Arc::clone(embedder));
        }
        let own = self.clone();
        off_thread(move || own.load())
            .await
            .map_err(|error| EmbedderError::Failed {
                model: self.folder.record().id.clone(),
                transient: false,
                cause: Box::new(error),
            })
    }
}

impl Embedder for LazyEmbedder {
    fn model(&self) -> &ModelRecord {
        self.folder.record()
    }

    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn most_tokens(&self) -> usize {
        match self.load() {
            // Less than the folder says, by special tokens and prefixes. A chunk that leaves them no room would lose
            // its end.
            Ok(embedder) => embedder.most_tokens(),
            Err(_) => self.folder.most_tokens(),
        }
    }

    fn count_tokens(&self, text: &str) -> usize {
        match self.load() {
            Ok(embedder) => embedder.count_tokens(text),
            // No tokenizer makes more of a text than it has bytes. What is cut by it cannot be embedded either, and then
            // is not stored.
            Err(_) => text.len().saturating_add(2),
        }
    }

    fn is_calibrated(&self) -> bool {
        self.folder.kind() == ModelKind::BgeM3
    }

    fn dense_share(&self) -> f32 {
        self.folder.dense_share
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        Box::pin(async move { self.ready().await?.embed_documents(texts, work).await })
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        Box::pin(async move { self.ready().await?.embed_query(text, work).await })
    }
}
