//! Keeping the memories in order: what idle and erased sessions left goes, memories whose time is over go, small ones
//! become one, and what the index got is made durable.

use crate::runtime::Shared;
use crate::{CancelToken, Runtime, RuntimeError};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_memory::{Consolidated, Memory};
use tidegate_policy::{SessionId, UserId};
use tidegate_store::{RecordWrite, Records, SessionState};
use tidegate_tools::Cancel;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tracing::Instrument as _;

/// How often what the index got is made durable. What a crash takes from it is taken from the records again.
const FLUSH: Duration = Duration::from_secs(15);

/// How often it is looked whether the daily jobs are due.
const LOOK: Duration = Duration::from_secs(15 * 60);

/// A day, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Under this name the records know when the daily jobs were done last, in milliseconds since 1970 (UTC).
const DAILY: &str = "daily jobs";

/// What a round of the jobs did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUpkeep {
    /// Sessions whose saved texts were erased: they are gone, or idle for too long.
    pub purged: usize,
    /// Memories whose time was over.
    pub expired: usize,
    /// What was consolidated.
    pub consolidated: Consolidated,
}

/// The jobs of the memories while a program runs. Dropping it leaves them running; [`stop`](Self::stop) ends them.
pub struct MemoryJobs {
    stop: CancelToken,
    task: JoinHandle<()>,
    runtime: Runtime,
}

impl std::fmt::Debug for MemoryJobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryJobs")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

impl MemoryJobs {
    /// Ends the jobs, and makes durable what the index got.
    ///
    /// # Errors
    /// [`RuntimeError::Memory`] if the index cannot; nothing is lost by that: it is caught up at the next start.
    pub async fn stop(self) -> Result<(), RuntimeError> {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the jobs of the memories did not end as they should");
        }
        self.runtime.flush_memory().await
    }
}

impl Runtime {
    /// Starts the jobs of the memories in the background: first what a crash, or a program that ran without them, left;
    /// then, as long as they run, the index is flushed and the daily jobs are done once a day, over all processes of this
    /// store. None without memories. Call it inside a tokio runtime.
    pub fn start_memory_jobs(&self) -> Option<MemoryJobs> {
        self.shared.memory.as_ref()?;
        let stop = CancelToken::new();
        let (runtime, stopped) = (self.clone(), stop.clone());
        let work = async move {
            tokio::select! {
                biased;
                () = stopped.cancelled() => {}
                () = runtime.keep_memory_in_order(&stopped) => {}
            }
        };
        let task = tokio::spawn(work.in_current_span());
        Some(MemoryJobs {
            stop,
            task,
            runtime: self.clone(),
        })
    }

    /// Does all jobs once, whether they are due or not.
    ///
    /// # Errors
    /// Those of records and index. What was done before stays done.
    pub async fn memory_upkeep(&self, cancel: &CancelToken) -> Result<MemoryUpkeep, RuntimeError> {
        let Some(memory) = &self.shared.memory else {
            return Ok(MemoryUpkeep::default());
        };
        let purged = self.purge_left_sessions().await?;
        let (expired, consolidated) = self.daily(memory, cancel).await?;
        Ok(MemoryUpkeep {
            purged,
            expired,
            consolidated,
        })
    }

    /// Makes durable what the index got. At the end of a program; the jobs do it from time to time.
    ///
    /// # Errors
    /// [`RuntimeError::Memory`].
    pub async fn flush_memory(&self) -> Result<(), RuntimeError> {
        match &self.shared.memory {
            Some(memory) => Ok(memory.flush().await?),
            None => Ok(()),
        }
    }

    async fn keep_memory_in_order(&self, cancel: &CancelToken) {
        let Some(memory) = &self.shared.memory else { return };
        let mut flush = tokio::time::interval(FLUSH);
        let mut look = tokio::time::interval(LOOK);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = look.tick() => {
                    if let Err(error) = self.if_due(memory, cancel).await {
                        tracing::warn!(%error, "a job of the memories failed; it is tried again later");
                    }
                }
                _ = flush.tick() => {
                    if let Err(error) = memory.flush().await {
                        tracing::warn!(%error, "the index of the memories is not durable; it is caught up from the records");
                    }
                }
            }
        }
    }

    async fn if_due(&self, memory: &Memory, cancel: &CancelToken) -> Result<(), RuntimeError> {
        self.purge_left_sessions().await?;
        let Some(records) = &self.shared.records else {
            return Ok(());
        };
        let now_ms = now_ms();
        let last = records.mark(DAILY).await?;
        if last.is_some_and(|last| i64::try_from(last).is_ok_and(|last| now_ms < last.saturating_add(DAY_MS)))
        {
            return Ok(());
        }
        // Whoever takes the day does the work; of two processes at the same moment both do, and nothing is done twice.
        self.took_the_day(&**records, now_ms).await?;
        self.daily(memory, cancel).await?;
        Ok(())
    }

    async fn took_the_day(&self, records: &dyn Records, now_ms: i64) -> Result<(), RuntimeError> {
        let mark = RecordWrite::SetMark {
            name: DAILY.to_owned(),
            value: u64::try_from(now_ms).unwrap_or(0),
        };
        records.write(vec![mark]).await?;
        Ok(())
    }

    async fn daily(
        &self,
        memory: &Memory,
        cancel: &CancelToken,
    ) -> Result<(usize, Consolidated), RuntimeError> {
        let expired = memory.expire().await?;
        let mut consolidated = Consolidated::default();
        if self.shared.configuration.memory.consolidate {
            let cancel: Arc<dyn Cancel> = Arc::new(cancel.clone());
            for user in self.users() {
                let done = memory.consolidate(&user, &cancel).await?;
                consolidated.made += done.made;
                consolidated.parts += done.parts;
            }
        }
        if expired > 0 || consolidated.made > 0 {
            tracing::info!(
                expired,
                made = consolidated.made,
                parts = consolidated.parts,
                "memories were put in order"
            );
        }
        Ok((expired, consolidated))
    }

    fn users(&self) -> Vec<UserId> {
        let users = &self.shared.configuration.users.0;
        let mut names: Vec<&str> = users.keys().map(String::as_str).collect();
        if !users.contains_key(crate::config::LOCAL_USER) {
            names.push(crate::config::LOCAL_USER);
        }
        names.into_iter().map(UserId::new).collect()
    }

    /// Erases what sessions saved that are gone, or that nobody used for too long.
    async fn purge_left_sessions(&self) -> Result<usize, RuntimeError> {
        let Some(memory) = &self.shared.memory else {
            return Ok(0);
        };
        let days = i64::from(self.shared.configuration.store.session_idle_days);
        let idle_before_ms = now_ms().saturating_sub(days.saturating_mul(DAY_MS));
        let mut purged = 0;
        for (user, chat, last_ms) in memory.conversations().await? {
            if self.is_left(&user, &chat, last_ms, idle_before_ms).await? {
                memory.purge_session(&user, &chat).await?;
                purged += 1;
            }
        }
        Ok(purged)
    }

    /// Whether what a conversation saved is to go. What belongs to no session of this store, but was put there by hand,
    /// goes when it is old.
    async fn is_left(
        &self,
        user: &UserId,
        chat: &str,
        last_ms: i64,
        idle_before_ms: i64,
    ) -> Result<bool, RuntimeError> {
        let is_idle = last_ms < idle_before_ms;
        let Ok(id) = chat.parse::<SessionId>() else {
            return Ok(is_idle);
        };
        let Some(record) = self.shared.store.session(id).await? else {
            return Ok(is_idle);
        };
        if record.session.user != *user {
            return Ok(is_idle);
        }
        if record.state == SessionState::Erased {
            return Ok(true);
        }
        if !is_idle || record.changed_ms >= idle_before_ms {
            return Ok(false);
        }
        // Somebody may be using it this very moment.
        match self.shared.lock(id) {
            Ok(_lock) => Ok(true),
            Err(RuntimeError::SessionBusy { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Erases what a session saved to be searched: it was reset or deleted. The store did it in the commit that reset or
/// deleted it, where it holds the records too; this takes it from the index, and from records elsewhere.
pub(crate) async fn purge_session(
    shared: &Shared,
    user: &UserId,
    session: SessionId,
) -> Result<(), RuntimeError> {
    if let Some(memory) = &shared.memory {
        memory.purge_session(user, &session.to_string()).await?;
    }
    Ok(())
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
