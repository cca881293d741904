//! The writer: one thread with the only connection that writes.
//!
//! What is queued when it gets to it becomes one transaction, so that many small commits wait for the disk
//! once. Each commit has its savepoint in it: one that fails takes itself back alone.

use super::apply::{Applied, apply};
use super::connection::BUSY_TIMEOUT;
use super::erase::{erasures, overwrite};
use super::failure::Failure;
use super::memory_apply;
use super::migrations::{known_schema, newer, schema};
use super::reader::Readers;
use crate::clock::now_ms;
use crate::{Committed, RecordWrite, RecordsCommit, StoreError, Write};
use rusqlite::{Connection, TransactionBehavior};
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The most commits in one transaction: a bound on how long the first of them waits for the last.
const LARGEST_GROUP: usize = 256;

/// How long readers of an older state are waited for when content was erased and is to be overwritten, and
/// how much later it is tried again.
const OVERWRITE_PATIENCE: Duration = Duration::from_secs(1);

/// How much later it is tried again after an error: a full disk, say.
const OVERWRITE_PAUSE: Duration = Duration::from_secs(60);

/// What the writer is asked to do.
pub(crate) enum Request {
    /// A commit.
    Commit(Vec<Write>, oneshot::Sender<Result<Committed, StoreError>>),
    /// A commit of memory records.
    Records(
        Vec<RecordWrite>,
        oneshot::Sender<Result<RecordsCommit, StoreError>>,
    ),
    /// To end, after the readers did.
    Close(Option<Readers>, oneshot::Sender<()>),
}

/// The writer.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    path: PathBuf,
    transactions: Arc<AtomicU64>,
    /// While erased content may still be on the disk: when to try again to overwrite it.
    overwrite_at: Option<Instant>,
}

impl Writer {
    /// A writer on its connection to the store in `path`, which counts its transactions in `transactions`.
    pub(crate) fn new(connection: Connection, path: PathBuf, transactions: Arc<AtomicU64>) -> Self {
        Self {
            connection,
            path,
            transactions,
            overwrite_at: None,
        }
    }

    /// Serves until it is told to close or nobody is left to ask.
    pub(crate) fn run(mut self, requests: Receiver<Request>) {
        // A process that ended between erasing and overwriting left that to the next.
        if !matches!(erasures(&self.connection), Ok(None)) {
            self.overwrite(Duration::ZERO);
        }
        let mut put_back = None;
        loop {
            if self.overwrite_at.is_some_and(|at| at <= Instant::now()) {
                self.overwrite(Duration::ZERO);
            }
            let request = match (put_back.take(), self.overwrite_at) {
                (Some(request), _) => request,
                (None, None) => match requests.recv() {
                    Ok(request) => request,
                    Err(_) => return,
                },
                (None, Some(at)) => match requests.recv_timeout(at.saturating_duration_since(Instant::now()))
                {
                    Ok(request) => request,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return,
                },
            };
            match request {
                Request::Commit(writes, answer) => {
                    let (mut group, mut answers) = (vec![writes], vec![answer]);
                    while group.len() < LARGEST_GROUP {
                        match requests.try_recv() {
                            Ok(Request::Commit(writes, answer)) => {
                                group.push(writes);
                                answers.push(answer);
                            }
                            Ok(other) => {
                                put_back = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    let results = self.commit(&group);
                    for (answer, result) in answers.into_iter().zip(results) {
                        // Who asked may have gone; the commit stands.
                        let _ = answer.send(result);
                    }
                }
                Request::Records(writes, answer) => {
                    let (mut group, mut answers) = (vec![writes], vec![answer]);
                    while group.len() < LARGEST_GROUP {
                        match requests.try_recv() {
                            Ok(Request::Records(writes, answer)) => {
                                group.push(writes);
                                answers.push(answer);
                            }
                            Ok(other) => {
                                put_back = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    for (answer, result) in answers.into_iter().zip(self.commit_records(&group)) {
                        // Who asked may have gone; the commit stands.
                        let _ = answer.send(result);
                    }
                }
                Request::Close(readers, done) => {
                    if let Some(readers) = readers {
                        readers.end();
                    }
                    if self.overwrite_at.is_some() {
                        self.overwrite(OVERWRITE_PATIENCE);
                    }
                    // The last connection takes the log into the file and removes it.
                    drop(self.connection);
                    let _ = done.send(());
                    return;
                }
            }
        }
    }

    /// Commits a group: one result for each, in order.
    pub(crate) fn commit(&mut self, group: &[Vec<Write>]) -> Vec<Result<Committed, StoreError>> {
        let mut any_erased = false;
        let results = self.commit_group(group, &mut |connection, writes: &Vec<Write>| {
            let Applied { committed, erased } = apply(connection, writes, now_ms())?;
            any_erased |= erased;
            Ok(Done::Kept(committed))
        });
        if any_erased {
            self.overwrite(OVERWRITE_PATIENCE);
        }
        results
    }

    /// The same for commits of memory records.
    fn commit_records(&mut self, group: &[Vec<RecordWrite>]) -> Vec<Result<RecordsCommit, StoreError>> {
        let results = self.commit_group(group, &mut |connection, writes: &Vec<RecordWrite>| {
            Ok(match memory_apply::apply(connection, writes)? {
                done @ RecordsCommit::Done { .. } => Done::Kept(done),
                conflict @ RecordsCommit::Conflict { .. } => Done::TakenBack(conflict),
            })
        });
        let mut writes = group.iter().flatten();
        if writes.any(|write| matches!(write, RecordWrite::Erase))
            && !matches!(erasures(&self.connection), Ok(None))
        {
            self.overwrite(OVERWRITE_PATIENCE);
        }
        results
    }

    fn commit_group<W, T>(&mut self, group: &[W], apply: &mut Apply<'_, W, T>) -> Vec<Result<T, StoreError>> {
        match self.transaction(group, apply) {
            Ok(results) => results,
            Err(Lost { failure, begun }) if !begun || group.len() == 1 => {
                let error = failure.of(&self.path);
                group.iter().map(|_| Err(error.clone())).collect()
            }
            // The whole transaction is gone. One of the group may be to blame: each by itself.
            Err(_) => group
                .iter()
                .flat_map(|writes| self.commit_group(slice::from_ref(writes), apply))
                .collect(),
        }
    }

    /// One transaction of a whole group: the results.
    fn transaction<W, T>(
        &mut self,
        group: &[W],
        apply: &mut Apply<'_, W, T>,
    ) -> Result<Vec<Result<T, StoreError>>, Lost> {
        let mut transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| Lost {
                failure: error.into(),
                begun: false,
            })?;
        // Another process may have migrated the file since it was opened.
        let found = schema(&transaction).map_err(|failure| Lost {
            failure,
            begun: false,
        })?;
        if found > known_schema() {
            let failure =
                newer(&transaction, &self.path, found).map_or_else(|failure| failure, Failure::Store);
            return Err(Lost {
                failure,
                begun: false,
            });
        }
        let mut results = Vec::with_capacity(group.len());
        for writes in group {
            let mut savepoint = transaction.savepoint()?;
            let result = match apply(&savepoint, writes) {
                Ok(Done::Kept(result)) => {
                    savepoint.commit()?;
                    Ok(result)
                }
                Ok(Done::TakenBack(result)) => {
                    savepoint.rollback()?;
                    savepoint.commit()?;
                    Ok(result)
                }
                // Some errors end the whole transaction, a full disk for one.
                Err(failure) if savepoint.is_autocommit() => return Err(Lost { failure, begun: true }),
                Err(failure) => {
                    savepoint.rollback()?;
                    savepoint.commit()?;
                    Err(failure.of(&self.path))
                }
            };
            results.push(result);
        }
        transaction.commit()?;
        self.transactions.fetch_add(1, Ordering::Relaxed);
        Ok(results)
    }

    /// Removes erased content from the disk, now or later; waits so long for readers of an older state.
    fn overwrite(&mut self, patience: Duration) {
        let done = self
            .connection
            .busy_timeout(patience)
            .map_err(Failure::from)
            .and_then(|()| overwrite(&self.connection));
        let restored = self.connection.busy_timeout(BUSY_TIMEOUT).map_err(Failure::from);
        let first = self.overwrite_at.is_none();
        let (done, again_in) = match done.and_then(|done| restored.map(|()| done)) {
            Ok(done) => (done, OVERWRITE_PATIENCE),
            Err(failure) if failure.is_busy() => (false, OVERWRITE_PATIENCE),
            Err(failure) => {
                let error = failure.of(&self.path);
                let path = self.path.display();
                tracing::warn!(%path, %error, "erased content is still in the store's file");
                (false, OVERWRITE_PAUSE)
            }
        };
        if !done && first {
            tracing::warn!(
                path = %self.path.display(),
                "bytes of erased content stay in the store's files until other connections have finished"
            );
        }
        self.overwrite_at = (!done).then(|| Instant::now() + again_in);
    }
}

/// Applies one commit, inside a savepoint.
type Apply<'a, W, T> = dyn FnMut(&Connection, &W) -> Result<Done<T>, Failure> + 'a;

/// What applying one commit came to.
enum Done<T> {
    /// It stands.
    Kept(T),
    /// It was not as expected, and has to leave nothing behind.
    TakenBack(T),
}

/// A transaction that did not come about.
struct Lost {
    failure: Failure,
    /// Whether it had begun: then one commit of the group may be to blame.
    begun: bool,
}

impl From<rusqlite::Error> for Lost {
    fn from(error: rusqlite::Error) -> Self {
        Self {
            failure: error.into(),
            begun: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, Duration, Writer};
    use crate::sqlite::connection::open_writer;
    use crate::{Committed, Durability, NewSession, StoreError, Write};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tidegate_message::ModelPolicy;
    use tidegate_policy::{Classification, SessionId, Taint, UserId};

    fn create(n: u128, prompt: usize) -> Vec<Write> {
        vec![Write::CreateSession(Box::new(NewSession {
            id: SessionId::from_bits(n),
            name: None,
            user: UserId::new("local"),
            model_policy: ModelPolicy::Auto,
            clearance: Classification::Internal,
            taint: Taint::default(),
            workspace: "/home/owner/project".into(),
            system_prompt: "x".repeat(prompt).into(),
            tools: Vec::new(),
        }))]
    }

    fn writer(path: &Path) -> (Writer, Arc<AtomicU64>) {
        let connection = open_writer(path, Durability::Process).unwrap();
        let transactions = Arc::new(AtomicU64::new(0));
        (
            Writer::new(connection, path.into(), Arc::clone(&transactions)),
            transactions,
        )
    }

    fn outcomes(results: &[Result<Committed, StoreError>]) -> Vec<&'static str> {
        let word = |result: &Result<_, _>| match result {
            Ok(_) => "kept",
            Err(StoreError::Full { .. }) => "full",
            Err(StoreError::SessionExists { .. }) => "exists",
            Err(_) => "other",
        };
        results.iter().map(word).collect()
    }

    /// The same without a small disk: a file that may not grow beyond a limit.
    #[test]
    fn what_does_not_fit_fails_alone_and_the_rest_of_its_group_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, transactions) = writer(&folder.path().join("store.sqlite"));
        let pages: i64 = writer
            .connection
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap();
        writer
            .connection
            .pragma_update(None, "max_page_count", pages + 10)
            .unwrap();
        let group = [create(1, 10), create(2, 1_000_000), create(1, 10), create(3, 10)];
        assert_eq!(
            outcomes(&writer.commit(&group)),
            ["kept", "full", "exists", "kept"]
        );
        assert_eq!(outcomes(&writer.commit(&[create(4, 1_000_000)])), ["full"]);
        writer
            .connection
            .pragma_update(None, "max_page_count", 1_000_000)
            .unwrap();
        let before = transactions.load(Ordering::Relaxed);
        assert_eq!(
            outcomes(&writer.commit(&[create(2, 1_000_000), create(4, 10)])),
            ["kept", "kept"]
        );
        assert_eq!(transactions.load(Ordering::Relaxed), before + 1);
    }

    #[test]
    fn a_lock_that_another_process_keeps_is_told_and_passes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let (mut writer, transactions) = writer(&path);
        writer.connection.busy_timeout(Duration::ZERO).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let group = [create(1, 10), create(2, 10)];
        let results = writer.commit(&group);
        assert!(
            results
                .iter()
                .all(|result| matches!(result, Err(StoreError::Busy { .. }))),
            "{results:?}"
        );
        assert_eq!(transactions.load(Ordering::Relaxed), 0);
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(outcomes(&writer.commit(&group)), ["kept", "kept"]);
    }

    #[test]
    fn a_text_that_is_too_large_for_sqlite_is_told_from_a_full_disk() {
        use rusqlite::ffi::{Error, SQLITE_TOOBIG};
        let error = rusqlite::Error::SqliteFailure(Error::new(SQLITE_TOOBIG), None);
        let error = crate::sqlite::failure::Failure::from(error).of(Path::new("store.sqlite"));
        assert!(matches!(error, StoreError::TooLarge { .. }));
    }

    #[test]
    fn power_waits_for_the_disk_and_process_does_not() {
        // 2 is FULL: the log is flushed at each commit. 1 is NORMAL: at checkpoints alone.
        for (durability, expected) in [(Durability::Power, 2), (Durability::Process, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let connection = open_writer(&folder.path().join("store.sqlite"), durability).unwrap();
            let found: i64 = connection
                .query_row("PRAGMA synchronous", [], |row| row.get(0))
                .unwrap();
            assert_eq!(found, expected, "{durability:?}");
        }
    }

    #[test]
    fn times_of_a_session_never_go_back() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, _) = writer(&folder.path().join("store.sqlite"));
        let session = SessionId::from_bits(1);
        let kind = tidegate_message::EventKind::TurnStarted;
        let event = crate::NewEvent {
            turn: None,
            label: tidegate_policy::Label::BOTTOM,
            kind,
        };
        crate::sqlite::apply::apply(&writer.connection, &create(1, 1), 1_000).unwrap();
        let times = [500, 2_000, 1_999, i64::MIN, 2_001].map(|clock_ms| {
            let writes = [Write::Events(session, vec![event.clone()])];
            let applied = crate::sqlite::apply::apply(&writer.connection, &writes, clock_ms).unwrap();
            applied.committed.events[0].at_ms
        });
        assert_eq!(times, [1_000, 2_000, 2_000, 2_000, 2_001]);
    }
}
