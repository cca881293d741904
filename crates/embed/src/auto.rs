//! Opening what `auto` chose.

use crate::fetch::{BGE_M3, MINILM};
use crate::{
    Choice, Chosen, EmbedError, FolderOptions, LazyEmbedder, LibraryPlaces, LocalEmbedder, ModelFolder,
    Offers, OnnxRuntime, choose,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_memory::{Embedder, HashedEmbedder};
use tidegate_store::ModelRecord;

/// The configuration `auto`: which embedder is used when nobody says. It never fetches anything and never goes remote.
#[derive(Clone, Debug, Default)]
pub struct Auto {
    /// The model the records were embedded with. None: there are no records yet, or the best for embedding all anew is
    /// asked for.
    pub recorded: Option<ModelRecord>,
    /// The configured folder of a model.
    pub model_dir: Option<PathBuf>,
    /// What is configured about that folder.
    pub options: FolderOptions,
    /// The models folder.
    pub models: PathBuf,
    /// Where ONNX Runtime may be.
    pub library: LibraryPlaces,
}

/// The folders that are there, read.
struct Folders {
    model_dir: Option<ModelFolder>,
    bge_m3: Option<ModelFolder>,
    minilm: Option<ModelFolder>,
}

impl Auto {
    /// Chooses and loads nothing. Blocks: a `model_dir` that was not fetched is hashed.
    ///
    /// # Errors
    /// A `model_dir` that is no model's, a fetched model that is damaged: going on with another would be a surprise.
    pub fn choose(&self) -> Result<Chosen, EmbedError> {
        Ok(self.chosen(&self.folders()?))
    }

    /// Chooses and opens. Blocks for the time a model takes to load, up to some seconds.
    ///
    /// # Errors
    /// As [`choose`](Self::choose); and if what was chosen cannot be loaded, as without ONNX Runtime's library. It does
    /// not go on with something worse, which would embed the records differently.
    pub fn open(&self) -> Result<(Arc<dyn Embedder>, Chosen), EmbedError> {
        let (folder, chosen) = self.chosen_folder()?;
        let embedder: Arc<dyn Embedder> = match folder {
            Some(folder) => {
                let runtime = OnnxRuntime::load(&self.library)?;
                Arc::new(LocalEmbedder::open(&folder, &runtime)?)
            }
            None => Arc::new(HashedEmbedder::new()),
        };
        Ok((embedder, chosen))
    }

    /// Chooses, and loads what was chosen when it is first needed.
    ///
    /// # Errors
    /// As [`choose`](Self::choose), and if there is no library to load it with.
    pub fn open_lazily(&self) -> Result<(Arc<dyn Embedder>, Chosen), EmbedError> {
        let (folder, chosen) = self.chosen_folder()?;
        let embedder: Arc<dyn Embedder> = match folder {
            Some(folder) => Arc::new(LazyEmbedder::new(folder, self.library.clone())?),
            None => Arc::new(HashedEmbedder::new()),
        };
        Ok((embedder, chosen))
    }

    fn chosen_folder(&self) -> Result<(Option<ModelFolder>, Chosen), EmbedError> {
        let folders = self.folders()?;
        let chosen = self.chosen(&folders);
        let folder = match chosen.choice {
            Choice::ModelDir => folders.model_dir,
            Choice::BgeM3 => folders.bge_m3,
            Choice::Minilm => folders.minilm,
            Choice::Hashed => None,
        };
        Ok((folder, chosen))
    }

    fn folders(&self) -> Result<Folders, EmbedError> {
        let fetched = |name: &str| {
            let folder = self.models.join(name);
            let read = |folder: &Path| ModelFolder::read(folder, &FolderOptions::default());
            folder.is_dir().then(|| read(&folder)).transpose()
        };
        let configured = |folder: &PathBuf| ModelFolder::read(folder, &self.options);
        Ok(Folders {
            model_dir: self.model_dir.as_ref().map(configured).transpose()?,
            bge_m3: fetched(BGE_M3)?,
            minilm: fetched(MINILM)?,
        })
    }

    fn chosen(&self, folders: &Folders) -> Chosen {
        let record = |folder: &Option<ModelFolder>| folder.as_ref().map(|folder| folder.record().clone());
        choose(&Offers {
            recorded: self.recorded.clone(),
            model_dir: record(&folders.model_dir),
            bge_m3: record(&folders.bge_m3),
            minilm: record(&folders.minilm),
        })
    }
}
