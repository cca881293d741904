//! Who reads what is stored, and what of it may be shown to them.

use crate::config::Users;
use crate::runtime::{Shared, find};
use crate::{Runtime, RuntimeError, Session};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;
use tidegate_policy::{ApprovalId, Classification, EventId, Label, SessionId, UserId};
use tidegate_store::{
    ApprovalFilter, ApprovalRecord, EventFilter, SessionList, SessionRecord, SessionSummary, Store,
    StoreError, StoredEvent,
};

/// A store as one user may read it: the one check for every command that shows what sessions hold.
///
/// The reader's clearance is what it is now, whatever it was when something was stored. A session that is asked for by
/// name and holds more is refused, with [`RuntimeError::AboveReader`]; lists leave out what is above, and nothing in
/// them depends on it.
#[derive(Clone)]
pub struct Reader {
    store: Arc<dyn Store>,
    user: UserId,
    clearance: Classification,
}

/// A page of events, as far as they may be read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadEvents {
    /// Those that may be read, in their order.
    pub events: Vec<StoredEvent>,
    /// Where the page ended, whatever was left out of it: for [`EventFilter::after`] of the next one.
    pub after: u64,
    /// Whether nothing more was there.
    pub is_last: bool,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("user", &self.user)
            .field("clearance", &self.clearance)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// `user` before `store`.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownUser`] of one that nobody configured.
    pub fn new(store: Arc<dyn Store>, users: &Users, user: UserId) -> Result<Self, RuntimeError> {
        match users.clearance(user.as_str()) {
            Some(clearance) => Ok(Self {
                store,
                user,
                clearance,
            }),
            None => Err(RuntimeError::UnknownUser { user }),
        }
    }

    /// Who reads.
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// The highest level that may be shown.
    pub fn clearance(&self) -> Classification {
        self.clearance
    }

    /// Whether nothing can be above the reader: then nothing is left out anywhere.
    pub fn sees_all(&self) -> bool {
        Classification::Restricted.can_flow_to(self.clearance)
    }

    /// The store itself: only for what belongs to a record that was found here.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Whether data of this label may be shown.
    pub fn may_read(&self, label: Label) -> bool {
        label.can_flow_to(self.clearance)
    }

    /// Refuses a session that holds what may not be shown.
    ///
    /// # Errors
    /// [`RuntimeError::AboveReader`].
    pub fn check(&self, record: &SessionRecord) -> Result<(), RuntimeError> {
        self.check_label(record.session.id, record.session.taint.label())
    }

    fn check_label(&self, session: SessionId, label: Label) -> Result<(), RuntimeError> {
        if self.may_read(label) {
            return Ok(());
        }
        Err(RuntimeError::AboveReader {
            session,
            level: label.classification,
            reader: self.user.clone(),
            clearance: self.clearance,
        })
    }

    /// The session of this name or id (`s_…`).
    ///
    /// # Errors
    /// [`RuntimeError::UnknownSession`]; [`RuntimeError::AboveReader`].
    pub async fn session(&self, name_or_id: &str) -> Result<SessionRecord, RuntimeError> {
        let record = find(&*self.store, name_or_id).await?;
        self.check(&record)?;
        Ok(record)
    }

    /// The same with what a list tells of it.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownSession`]; [`RuntimeError::AboveReader`].
    pub async fn summary(&self, name_or_id: &str) -> Result<SessionSummary, RuntimeError> {
        let id = self.session(name_or_id).await?.session.id;
        let summary = self.store.summary(id).await?;
        let summary = summary.ok_or_else(|| RuntimeError::UnknownSession {
            given: name_or_id.to_owned(),
        })?;
        // It may have risen meanwhile.
        self.check(&summary.record)?;
        Ok(summary)
    }

    /// The sessions that may be shown. What a damaged one holds nobody knows: only who may read everything is told of it.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sessions(&self) -> Result<SessionList, RuntimeError> {
        let mut list = self.store.sessions().await?;
        list.sessions
            .retain(|summary| self.check(&summary.record).is_ok());
        if !self.sees_all() {
            list.damaged.clear();
        }
        Ok(list)
    }

    /// The events that may be shown: whose own label and whose session's taint are within the clearance.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn events(&self, filter: EventFilter) -> Result<ReadEvents, RuntimeError> {
        let (from, limit) = (filter.after, filter.limit);
        let mut events = self.store.events(filter).await?;
        let is_last = limit.is_none_or(|limit| events.len() < limit);
        let after = events.last().map_or(from, |last| last.position);
        // Asked after the events were read: a taint only rises.
        let mut shown: BTreeMap<SessionId, bool> = BTreeMap::new();
        if !self.sees_all() {
            for stored in &events {
                let session = stored.event.session;
                if let Entry::Vacant(entry) = shown.entry(session) {
                    entry.insert(self.may_read_session(session).await?);
                }
            }
            events.retain(|stored| {
                let is_shown = shown.get(&stored.event.session).copied().unwrap_or(false);
                is_shown && self.may_read(stored.event.label)
            });
        }
        Ok(ReadEvents {
            events,
            after,
            is_last,
        })
    }

    /// Refuses an event that may not be shown. One that is not there is not refused.
    ///
    /// # Errors
    /// [`RuntimeError::AboveReader`]; those of the store.
    pub async fn check_event(&self, id: EventId) -> Result<(), RuntimeError> {
        if let Some(record) = self.store.session(id.session).await? {
            self.check(&record)?;
        }
        match self.store.event(id).await? {
            Some(stored) => self.check_label(id.session, stored.event.label),
            None => Ok(()),
        }
    }

    /// The approvals and questions that may be shown.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn approvals(&self, filter: ApprovalFilter) -> Result<Vec<ApprovalRecord>, RuntimeError> {
        let mut shown = Vec::new();
        for record in self.store.approvals(filter).await? {
            if self.may_read(record.label) && self.may_read_session(record.session).await? {
                shown.push(record);
            }
        }
        Ok(shown)
    }

    /// Refuses to decide about a call that may not be shown: what cannot be seen is not agreed to. One that is not there
    /// is not refused.
    ///
    /// # Errors
    /// [`RuntimeError::AboveReader`]; those of the store.
    pub async fn check_approval(&self, id: ApprovalId) -> Result<(), RuntimeError> {
        let Some(record) = self.store.approval(id).await? else {
            return Ok(());
        };
        if let Some(session) = self.store.session(record.session).await? {
            self.check(&session)?;
        }
        self.check_label(record.session, record.label)
    }

    /// Whether what a session holds may be shown. Of one without a row, its events say themselves what they hold.
    async fn may_read_session(&self, id: SessionId) -> Result<bool, RuntimeError> {
        match self.store.session(id).await {
            Ok(record) => Ok(record.is_none_or(|record| self.check(&record).is_ok())),
            // Nobody knows what it holds.
            Err(StoreError::DamagedRow { .. }) => Ok(self.sees_all()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Shared {
    /// `user` before the store.
    pub(crate) fn reader(&self, user: &UserId) -> Result<Reader, RuntimeError> {
        Reader::new(Arc::clone(&self.store), &self.configuration.users, user.clone())
    }
}

impl Runtime {
    /// The store as `user` may read it.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownUser`] of one that nobody configured.
    pub fn reader(&self, user: &UserId) -> Result<Reader, RuntimeError> {
        self.shared.reader(user)
    }
}

impl Session {
    /// Refuses a reader who may not see what this session holds by now.
    ///
    /// # Errors
    /// [`RuntimeError::AboveReader`]; [`RuntimeError::UnknownUser`].
    pub fn check_reader(&self, user: &UserId) -> Result<(), RuntimeError> {
        self.shared.reader(user)?.check(&self.record)
    }
}
