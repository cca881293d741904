//! Opening the memories over the records of the store.

use crate::config::Configuration;
use crate::memory::MemoryAuxiliary;
use crate::{Runtime, RuntimeBuilder, RuntimeError};
use std::sync::Arc;
use tidegate_memory::{Auxiliary, Embedder, Memory, MemoryBuilder, VectorIndex};
use tidegate_store::Records;

impl RuntimeBuilder {
    /// The memories: their tools are in every session, and what fits is recalled at the beginning of a turn. Default:
    /// none. [`with_memory`](Self::with_memory) opens them as configured.
    #[must_use]
    pub fn memory(mut self, memory: Arc<Memory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Where memories are recorded, for [`with_memory`](Self::with_memory). [`Runtime::configured`] and
    /// [`in_memory`](Self::in_memory) have set it: it is their store.
    #[must_use]
    pub fn records(mut self, records: Arc<dyn Records>) -> Self {
        self.records = Some(records);
        self
    }

    /// Where memories are recorded, if that is set.
    pub fn recorded(&self) -> Option<&Arc<dyn Records>> {
        self.records.as_ref()
    }

    /// Opens the memories as `[memory]` says, over the records, with this embedder and, if one is given, this index;
    /// without one everything is searched exactly. An index of the kind `server` gets what may flow to its clearance.
    /// [`HashedEmbedder`](tidegate_memory::HashedEmbedder) needs no model.
    /// The [`auxiliary`](Self::auxiliary) model, if one was set before, names and merges memories. With `enabled = false` there are none, and nothing is
    /// opened.
    ///
    /// # Errors
    /// [`RuntimeError::Memory`], with the two ways out if the records belong to another model;
    /// [`RuntimeError::Incomplete`] without records.
    pub async fn with_memory(
        self,
        embedder: Arc<dyn Embedder>,
        index: Option<Arc<dyn VectorIndex>>,
    ) -> Result<Self, RuntimeError> {
        if !self.configuration.memory.enabled {
            return Ok(self);
        }
        let records = self.records.clone().ok_or(RuntimeError::Incomplete {
            what: "records for the memories",
        })?;
        let mut memory = configured(&self.configuration, records, embedder, index);
        let mut this = self;
        if !this.auxiliary.is_empty() {
            let auxiliary = Arc::new(MemoryAuxiliary::default());
            memory = memory.auxiliary(Arc::clone(&auxiliary) as Arc<dyn Auxiliary>);
            this.memory_auxiliary = Some(auxiliary);
        }
        Ok(this.memory(Arc::new(memory.open().await?)))
    }
}

impl Runtime {
    /// The memories, if there are any.
    pub fn memory(&self) -> Option<&Arc<Memory>> {
        self.shared.memory.as_ref()
    }

    /// Opens the memories alone, as `[memory]` says: for commands without a session. No model names or merges.
    ///
    /// # Errors
    /// [`RuntimeError::Memory`], with the two ways out if the records belong to another model.
    pub async fn open_memory(
        configuration: &Configuration,
        records: Arc<dyn Records>,
        embedder: Arc<dyn Embedder>,
        index: Option<Arc<dyn VectorIndex>>,
    ) -> Result<Arc<Memory>, RuntimeError> {
        Ok(Arc::new(
            configured(configuration, records, embedder, index).open().await?,
        ))
    }
}

fn configured(
    configuration: &Configuration,
    records: Arc<dyn Records>,
    embedder: Arc<dyn Embedder>,
    index: Option<Arc<dyn VectorIndex>>,
) -> MemoryBuilder {
    let builder = Memory::builder(records, embedder).settings(configuration.memory.for_library());
    match index {
        Some(index) => builder.index(index),
        None => builder,
    }
}
