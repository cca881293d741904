//! Which index: the one place where the configuration becomes one.

use std::sync::Arc;
use tidegate_memory::VectorIndex;
use tidegate_runtime::DataFolder;
use tidegate_runtime::config::{Loaded, MemoryIndexKind};

/// The index of the configuration; none where everything is searched exactly. Nothing is opened yet.
pub(crate) fn pick(loaded: &Loaded, data: &DataFolder) -> anyhow::Result<Option<Arc<dyn VectorIndex>>> {
    match loaded.configuration.memory.index.kind {
        MemoryIndexKind::Exact => Ok(None),
        MemoryIndexKind::Auto => built_in::automatic(data),
        MemoryIndexKind::Embedded => built_in::embedded(data).map(Some),
        MemoryIndexKind::Server => built_in::server(loaded).map(Some),
    }
}

#[cfg(feature = "qdrant")]
mod built_in {
    use super::*;
    use crate::environment;
    use anyhow::Context as _;
    use tidegate_qdrant::{EmbeddedIndex, ServerIndex, ServerSettings};
    use tidegate_runtime::{MemoryService, Runtime};

    pub(super) fn automatic(data: &DataFolder) -> anyhow::Result<Option<Arc<dyn VectorIndex>>> {
        embedded(data).map(Some)
    }

    pub(super) fn embedded(data: &DataFolder) -> anyhow::Result<Arc<dyn VectorIndex>> {
        Ok(Arc::new(EmbeddedIndex::open(data.root().join("memory-index"))?))
    }

    pub(super) fn server(loaded: &Loaded) -> anyhow::Result<Arc<dyn VectorIndex>> {
        let index = &loaded.configuration.memory.index;
        let url = index
            .url
            .parse()
            .with_context(|| format!("[memory.index] url {:?} is no address", index.url))?;
        let mut settings = ServerSettings::new(url);
        settings.api_key = Runtime::memory_key(loaded, MemoryService::Index, &environment::variables())?;
        settings.replication = index.replication;
        settings.shards = Some(index.shards);
        settings.clearance = index.effective_clearance();
        Ok(Arc::new(ServerIndex::connect(settings)?))
    }
}

#[cfg(not(feature = "qdrant"))]
mod built_in {
    use super::*;

    pub(super) fn automatic(_: &DataFolder) -> anyhow::Result<Option<Arc<dyn VectorIndex>>> {
        Ok(None)
    }

    pub(super) fn embedded(_: &DataFolder) -> anyhow::Result<Arc<dyn VectorIndex>> {
        anyhow::bail!(
            "this program was built without Qdrant, and [memory.index] kind asks for it; write kind = \"exact\" or \
             \"auto\", or build it with the feature qdrant"
        )
    }

    pub(super) fn server(_: &Loaded) -> anyhow::Result<Arc<dyn VectorIndex>> {
        embedded(&DataFolder::new(""))
    }
}
