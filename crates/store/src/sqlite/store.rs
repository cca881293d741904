//! The handle, which any number of tasks share.

use super::approvals;
use super::connection::{locate, open_writer};
use super::failure::Failure;
use super::migrations::known_schema;
use super::reader::{Read, Readers};
use super::writer::{Request, Writer};
use super::{notes, queries, search, segments};
use crate::clock::now_ms;
use crate::{
    ApprovalFilter, ApprovalRecord, BoxFuture, CallRecord, Checkpoint, Committed, CompactionRest, Durability,
    EventFilter, FileLabel, FileLabelRange, PendingWrites, Segment, SessionList, SessionRecord,
    SessionSummary, SourceText, Store, StoreError, StoredEvent, StoredNote, Write,
};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use tidegate_message::Entry;
use tidegate_policy::{ApprovalId, EventId, SessionId, SessionName, SourceId, TurnId};
use tokio::sync::oneshot;

/// The store on one SQLite file. Clones share it.
///
/// One thread writes: commits that are queued while it writes become one transaction. A few threads read.
/// Neither needs an async runtime. Other processes may have the same file open; a lock that one of them holds
/// is waited for, at most 10 s.
///
/// Beside FILE there are FILE-wal and FILE-shm while it is open; a copy of a store that is open needs all
/// three. The file system has to be a local one.
///
/// Erasing writes the whole file anew, so that no byte of what was erased is left in it. Where several
/// sessions are to go, one commit for all of them does that once. Bytes that another connection still reads
/// go when it has finished, or when the store is opened again; until then a warning is logged.
///
/// When the last clone is dropped the threads finish what is queued and end; [`close`](Self::close) waits for
/// it.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    transactions: Arc<AtomicU64>,
    requests: Sender<Request>,
    /// None of a store that is closed.
    readers: Mutex<Option<Readers>>,
    /// Up to which position events that cannot be read were told of.
    told: AtomicU64,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let readers = self
            .readers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (done, _) = oneshot::channel();
        // If the writer is gone there is nothing to end.
        let _ = self.requests.send(Request::Close(readers, done));
    }
}

impl SqliteStore {
    /// Opens the store in `path`, and makes or migrates it if needed. Takes a few milliseconds; it waits for
    /// other processes that do the same.
    ///
    /// A new file, and new folders above it, are for the owner alone.
    ///
    /// # Errors
    /// [`StoreError::Foreign`], [`StoreError::Newer`] and [`StoreError::Corrupt`] for a file that is not one
    /// of this program's, which then is as it was; [`StoreError::Unwritable`], [`StoreError::Unopenable`],
    /// [`StoreError::Full`], [`StoreError::Busy`].
    pub fn open(path: impl AsRef<Path>, durability: Durability) -> Result<Self, StoreError> {
        let path = locate(path.as_ref())?;
        let connection = open_writer(&path, durability)?;
        let readers = Readers::start(&path).map_err(|error| StoreError::Failed {
            path: path.clone(),
            cause: Arc::new(error),
        })?;
        Self::start(path, connection, readers)
    }

    /// The number of the schema this program writes; an open store has it.
    pub fn schema() -> i64 {
        known_schema()
    }

    fn start(path: PathBuf, connection: Connection, readers: Readers) -> Result<Self, StoreError> {
        let transactions = Arc::new(AtomicU64::new(0));
        let (requests, queue) = channel();
        let writer = Writer::new(connection, path.clone(), Arc::clone(&transactions));
        Builder::new()
            .name("store-writer".into())
            .spawn(move || writer.run(queue))
            .map_err(|error| StoreError::Failed {
                path: path.clone(),
                cause: Arc::new(error),
            })?;
        let readers = Mutex::new(Some(readers));
        let told = AtomicU64::new(0);
        Ok(Self {
            shared: Arc::new(Shared {
                path,
                transactions,
                requests,
                readers,
                told,
            }),
        })
    }

    /// The file: absolute, its folder without symbolic links.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// How many transactions were committed through this handle and its clones: fewer than commits, where
    /// several were queued.
    pub fn transactions(&self) -> u64 {
        self.shared.transactions.load(Ordering::Relaxed)
    }

    /// Finishes what is queued, closes the file and takes its log into it. Of every clone: what is asked
    /// afterwards answers [`StoreError::Closed`].
    pub async fn close(&self) {
        let readers = self
            .shared
            .readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (done, closed) = oneshot::channel();
        if self.shared.requests.send(Request::Close(readers, done)).is_ok() {
            // An error says that it closed already.
            let _ = closed.await;
        }
    }

    /// Queues a request for the writer. Whether it will get to it.
    pub(super) fn request(&self, request: Request) -> bool {
        self.shared.requests.send(request).is_ok()
    }

    pub(super) fn closed(&self) -> StoreError {
        StoreError::Closed {
            path: self.shared.path.clone(),
        }
    }

    /// Runs `query` on a reader.
    pub(super) fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection, &Path) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let path = self.shared.path.clone();
            let read: Read = Box::new(move |connection| {
                let result = connection
                    .and_then(|connection| query(connection, &path).map_err(|failure| failure.of(&path)));
                // Who asked may have gone.
                let _ = answer.send(result);
            });
            if !self.send(read) {
                return Err(self.closed());
            }
            answered.await.unwrap_or_else(|_| Err(self.closed()))
        })
    }

    fn send(&self, read: Read) -> bool {
        let readers = self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.as_ref().is_some_and(|readers| readers.read(read))
    }

    /// Logs that events could not be read, each once.
    fn tell(&self, unreadable: &[(u64, StoreError)]) {
        let Some(last) = unreadable.iter().map(|(position, _)| *position).max() else {
            return;
        };
        let told = self.shared.told.fetch_max(last, Ordering::Relaxed);
        let mut new = unreadable.iter().filter(|(position, _)| *position > told);
        if let Some((_, first)) = new.next() {
            let number = new.count().saturating_add(1);
            let cause = std::error::Error::source(first)
                .map(ToString::to_string)
                .unwrap_or_default();
            tracing::warn!(number, %first, cause, "left out events that cannot be read");
        }
    }
}

impl Store for SqliteStore {
    fn commit(&self, writes: Vec<Write>) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            if writes.is_empty() {
                return Ok(Committed::default());
            }
            let (answer, answered) = oneshot::channel();
            if self
                .shared
                .requests
                .send(Request::Commit(writes, answer))
                .is_err()
            {
                return Err(self.closed());
            }
            answered.await.unwrap_or_else(|_| Err(self.closed()))
        })
    }

    fn session(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionRecord>, StoreError>> {
        self.read(move |connection, _| {
            queries::summary(connection, id).map(|found| found.map(|summary| summary.record))
        })
    }

    fn session_named<'a>(
        &'a self,
        name: &'a SessionName,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        let name = name.clone();
        self.read(move |connection, _| {
            queries::summary_named(connection, &name).map(|found| found.map(|summary| summary.record))
        })
    }

    fn summary(&self, id: SessionId) -> BoxFuture<'_, Result<Option<SessionSummary>, StoreError>> {
        self.read(move |connection, _| queries::summary(connection, id))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<SessionList, StoreError>> {
        self.read(queries::sessions)
    }

    fn entries(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Arc<Entry>>, StoreError>> {
        self.read(move |connection, _| queries::entries(connection, session))
    }

    fn checkpoint(&self, session: SessionId) -> BoxFuture<'_, Result<Option<Checkpoint>, StoreError>> {
        self.read(move |connection, _| queries::checkpoint(connection, session))
    }

    fn calls(&self, session: SessionId, turn: TurnId) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.read(move |connection, _| queries::calls(connection, session, turn))
    }

    fn approval(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<ApprovalRecord>, StoreError>> {
        self.read(move |connection, _| approvals::approval(connection, id, now_ms()))
    }

    fn approvals(&self, filter: ApprovalFilter) -> BoxFuture<'_, Result<Vec<ApprovalRecord>, StoreError>> {
        self.read(move |connection, _| approvals::approvals(connection, &filter, now_ms()))
    }

    fn source<'a>(
        &'a self,
        session: SessionId,
        id: &'a SourceId,
    ) -> BoxFuture<'a, Result<Option<SourceText>, StoreError>> {
        let id = id.clone();
        self.read(move |connection, _| queries::source(connection, session, &id))
    }

    fn sources(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<SourceText>, StoreError>> {
        self.read(move |connection, _| queries::sources(connection, session))
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<StoredEvent>, StoreError>> {
        Box::pin(async move {
            let events = self
                .read(move |connection, path| queries::events(connection, path, &filter))
                .await?;
            self.tell(&events.unreadable);
            Ok(events.readable)
        })
    }

    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<StoredEvent>, StoreError>> {
        self.read(move |connection, _| queries::event(connection, id))
    }

    fn file_label<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<FileLabel>, StoreError>> {
        let path = path.to_owned();
        self.read(move |connection, _| queries::file_label(connection, &path))
    }

    fn file_labels(
        &self,
        range: FileLabelRange,
    ) -> BoxFuture<'_, Result<Vec<(String, FileLabel)>, StoreError>> {
        self.read(move |connection, _| queries::file_labels(connection, &range))
    }

    fn pending_writes(&self) -> BoxFuture<'_, Result<Vec<PendingWrites>, StoreError>> {
        self.read(|connection, _| queries::pending_writes(connection))
    }

    fn notes(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<StoredNote>, StoreError>> {
        self.read(move |connection, _| notes::waiting(connection, session))
    }

    fn segments(&self, session: SessionId) -> BoxFuture<'_, Result<Vec<Segment>, StoreError>> {
        self.read(move |connection, _| segments::segments(connection, session))
    }

    fn compaction_rest(&self, session: SessionId) -> BoxFuture<'_, Result<CompactionRest, StoreError>> {
        self.read(move |connection, _| segments::known_rest(connection, session))
    }

    fn search<'a>(
        &'a self,
        session: SessionId,
        text: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<Entry>>, StoreError>> {
        Box::pin(async move {
            self.commit(vec![Write::IndexMessages(session)]).await?;
            let text = text.to_owned();
            self.read(move |connection, _| search::search(connection, session, &text))
                .await
        })
    }
}
