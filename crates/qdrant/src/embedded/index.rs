//! The index, for the memory.

use super::settings::EmbeddedSettings;
use super::writer::{Command, Reply, Shards, Shared, Writer};
use crate::QdrantError;
use crate::cut::{Cut, Next};
use crate::error::first_line;
use crate::schema::conditions;
use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tidegate_memory::{IndexChange, IndexError, IndexFilter, IndexHit, IndexSearch, Leg, VectorIndex};
use tidegate_store::{Collection, ModelRecord};
use tidegate_tools::BoxFuture;
use tokio::sync::oneshot;

/// Qdrant's engine in the process, in one folder that no other process has meanwhile.
///
/// One thread writes. Changes are searchable when [`apply`](VectorIndex::apply) returns, and durable after
/// [`flush`](VectorIndex::flush), when nothing has come for a while ([`EmbeddedSettings::rest`]), and when it is dropped.
/// After a crash it stands where it was last flushed, and what came behind is applied again from the records. Where there
/// are many points a graph is built of them on a thread of its own; a flush waits for that, and dropping does not.
pub struct EmbeddedIndex {
    name: Arc<str>,
    shared: Arc<Shared>,
    commands: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EmbeddedIndex {
    /// In this folder, which is made when the index is first opened by a memory.
    ///
    /// # Errors
    /// [`QdrantError::Folder`] if no thread can be started.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, QdrantError> {
        Self::with(EmbeddedSettings::new(folder))
    }

    /// With these settings.
    ///
    /// # Errors
    /// [`QdrantError::Folder`] if no thread can be started.
    pub fn with(settings: EmbeddedSettings) -> Result<Self, QdrantError> {
        let name: Arc<str> = format!("in {}", settings.folder.display()).into();
        let (commands, received) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let path = settings.folder.clone();
        let writer = Writer {
            settings,
            name: Arc::clone(&name),
            shared: Arc::clone(&shared),
            to_self: commands.clone(),
            folder: None,
            opened: None,
            building: None,
            gave_up: false,
        };
        let thread = thread::Builder::new()
            .name("tidegate-index".to_owned())
            .spawn(move || writer.run(&received))
            .map_err(|cause| QdrantError::Folder {
                path,
                action: "no thread can be started to write it",
                cause,
            })?;
        Ok(Self {
            name,
            shared,
            commands,
            thread: Mutex::new(Some(thread)),
        })
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, IndexError> {
        let (reply, answered) = oneshot::channel();
        let stopped = || QdrantError::Stopped.of(&self.name);
        self.commands.send(command(reply)).map_err(|_| stopped())?;
        answered.await.map_err(|_| stopped())?
    }

    /// Reads on a thread for such work; on this one where there is no async runtime.
    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Shards) -> Result<T, QdrantError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let shards = self.shared.shards().map_err(|error| error.of(&self.name))?;
        let done = match tokio::runtime::Handle::try_current() {
            Ok(runtime) => runtime
                .spawn_blocking(move || look(&shards))
                .await
                .unwrap_or_else(|cause| {
                    let problem = first_line(&cause.to_string());
                    Err(QdrantError::Interrupted { problem })
                }),
            Err(_) => look(&shards),
        };
        done.map_err(|error| error.of(&self.name))
    }
}

impl fmt::Debug for EmbeddedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedIndex")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Drop for EmbeddedIndex {
    fn drop(&mut self) {
        // Either may fail only if the thread has ended before.
        let _has_ended = self.commands.send(Command::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(_)) = thread.map(JoinHandle::join) {
            tracing::warn!(
                index = &*self.name,
                "the thread that wrote the index had broken off"
            );
        }
    }
}

impl VectorIndex for EmbeddedIndex {
    fn name(&self) -> &str {
        "embedded"
    }

    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        let model = model.clone();
        Box::pin(self.ask(|reply| Command::Open(model, reply)))
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(self.ask(Command::Position))
    }

    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(self.ask(move |reply| Command::Apply(changes, position, reply)))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>> {
        Box::pin(self.ask(Command::Flush))
    }

    /// Builds graphs now where there are enough points without one. Otherwise that happens after a rest. Writing and
    /// searching go on meanwhile.
    fn optimise(&self) -> BoxFuture<'_, Result<bool, IndexError>> {
        Box::pin(self.ask(Command::Optimise))
    }

    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>> {
        Box::pin(self.read(move |shards| found(shards, &search)))
    }

    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>> {
        Box::pin(self.read(move |shards| shards.of(collection)?.count(&filter)))
    }

    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>> {
        let model = model.clone();
        Box::pin(self.ask(|reply| Command::Reset(model, reply)))
    }
}

fn found(shards: &Shards, search: &IndexSearch) -> Result<Vec<IndexHit>, QdrantError> {
    let Some(filter) = conditions(&search.filter) else {
        return Ok(Vec::new());
    };
    if matches!(&search.leg, Leg::Sparse(sparse) if sparse.indices.is_empty()) || search.limit == 0 {
        return Ok(Vec::new());
    }
    let shard = shards.of(search.collection)?;
    let mut cut = Cut::new(search.limit);
    loop {
        let mut hits = shard.search(&search.leg, &filter, cut.ask())?;
        if let Leg::Sparse(_) = search.leg {
            hits.retain(|hit| hit.score > 0.0);
        }
        match cut.settle(hits, search.least) {
            Next::Done(hits) => return Ok(hits),
            Next::More(more) => cut = more,
        }
    }
}
