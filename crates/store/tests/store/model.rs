//! Random sequences of commits against a model that is too simple to be wrong.

use crate::common::*;
use proptest::option::of;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{Entry, EntrySeq};
use tidegate_policy::{ApprovalId, CallId, Classification, Integrity, Label, SessionId, Taint, TurnId};
use tidegate_store::*;

#[derive(Clone, Debug, Default, PartialEq)]
struct Session {
    name: Option<String>,
    state: Option<SessionState>,
    turns: u32,
    taint: Label2,
    entries: Vec<Arc<Entry>>,
    checkpoint: Option<Checkpoint>,
    calls: Vec<(TurnId, CallRecord)>,
    sources: Vec<SourceText>,
    events: Vec<String>,
}

/// The classification's rank and whether it is UNTRUSTED.
type Label2 = (usize, bool);

fn pair(label: Label) -> Label2 {
    let rank = Classification::ALL
        .iter()
        .position(|level| *level == label.classification)
        .unwrap();
    (rank, label.integrity == Integrity::Untrusted)
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    sessions: BTreeMap<SessionId, Session>,
    files: BTreeMap<String, FileLabel>,
    pending: BTreeMap<String, PendingWrites>,
    approvals: BTreeMap<ApprovalId, Approval>,
}

#[derive(Clone, Debug, PartialEq)]
struct Approval {
    session: SessionId,
    call: CallId,
    digest: [u8; 32],
    shown: String,
    state: ApprovalState,
}

/// What the model says of a write it refuses.
type Refusal = &'static str;

fn refusal(error: &StoreError) -> Refusal {
    match error {
        StoreError::NameTaken { .. } => "name",
        StoreError::SessionExists { .. } => "exists",
        StoreError::UnknownSession { .. } => "unknown",
        StoreError::Erased { .. } => "erased",
        StoreError::TaintWouldFall { .. } => "taint",
        StoreError::OutOfOrder { .. } => "order",
        StoreError::SourceTaken { .. } => "source",
        StoreError::CallFinished { .. } => "finished",
        StoreError::UnknownApproval { .. } => "no approval",
        StoreError::ApprovalExists { .. } => "approval exists",
        StoreError::ApprovalSettled { .. } => "settled",
        _ => "other",
    }
}

impl Approval {
    /// What is left of it with its session's content gone: the digest is random then, and any will do.
    fn erase(&mut self) {
        self.shown.clear();
        self.digest = [0; 32];
        if self.state.is_open() {
            self.state = ApprovalState::Expired;
        }
    }
}

impl Model {
    fn session(&mut self, id: &SessionId) -> Result<&mut Session, Refusal> {
        let session = self.sessions.get_mut(id).ok_or("unknown")?;
        if session.state == Some(SessionState::Erased) {
            Err("erased")
        } else {
            Ok(session)
        }
    }

    /// Moves a request on, if it is in one of the states `from`.
    fn settle(&mut self, id: &ApprovalId, from: &[ApprovalState], to: ApprovalState) -> Result<(), Refusal> {
        let approval = self.approvals.get(id).ok_or("no approval")?;
        let (session, state) = (approval.session, approval.state);
        self.session(&session)?;
        if !from.contains(&state) {
            return Err("settled");
        }
        self.approvals.get_mut(id).unwrap().state = to;
        Ok(())
    }

    fn write(&mut self, write: &Write) -> Result<(), Refusal> {
        match write {
            Write::CreateSession(new) => {
                let name = new.name.as_ref().map(ToString::to_string);
                if self.sessions.contains_key(&new.id) {
                    return Err("exists");
                }
                if name.is_some() && self.sessions.values().any(|session| session.name == name) {
                    return Err("name");
                }
                let state = Some(SessionState::Idle);
                self.sessions.insert(
                    new.id,
                    Session {
                        name,
                        state,
                        ..Session::default()
                    },
                );
            }
            Write::PatchSession(id, patch) => {
                let session = self.session(id)?;
                if let Some(state) = patch.state {
                    let entered = matches!(state, SessionState::InTurn(_)) && session.state != Some(state);
                    session.turns += u32::from(entered);
                    session.state = Some(state);
                }
                if let Some(taint) = &patch.taint {
                    let new = pair(taint.label());
                    if new.0 < session.taint.0 || (session.taint.1 && !new.1) {
                        return Err("taint");
                    }
                    session.taint = new;
                }
            }
            Write::MoveName { from, to } => {
                let name = self.session(from)?.name.clone();
                self.session(to)?;
                if name.is_some() {
                    self.session(from)?.name = None;
                    self.session(to)?.name = name;
                }
            }
            Write::Append(id, entries) => {
                let session = self.session(id)?;
                for entry in entries {
                    if entry.seq.0 as usize != session.entries.len() + 1 {
                        return Err("order");
                    }
                    session.entries.push(Arc::clone(entry));
                }
            }
            Write::Checkpoint(id, checkpoint) => self.session(id)?.checkpoint = Some(checkpoint.clone()),
            Write::CallStarted {
                session,
                turn,
                call,
                tool,
            } => {
                let calls = &mut self.session(session)?.calls;
                match calls.iter_mut().find(|(_, record)| record.call == *call) {
                    None => {
                        let (call, tool) = (call.clone(), tool.clone());
                        calls.push((
                            *turn,
                            CallRecord {
                                call,
                                tool,
                                attempts: 1,
                                state: CallState::Started,
                            },
                        ));
                    }
                    Some((_, record)) if record.state == CallState::Started => record.attempts += 1,
                    Some(_) => return Err("finished"),
                }
            }
            Write::CallFinished {
                session,
                turn,
                result,
            } => {
                let calls = &mut self.session(session)?.calls;
                let state = CallState::Finished(result.clone());
                match calls.iter_mut().find(|(_, record)| record.call == result.call) {
                    None => {
                        let (call, tool) = (result.call.clone(), result.name.clone());
                        calls.push((
                            *turn,
                            CallRecord {
                                call,
                                tool,
                                attempts: 0,
                                state,
                            },
                        ));
                    }
                    Some((_, record)) => record.state = state,
                }
            }
            Write::AskApproval(new) => {
                self.session(&new.session)?;
                let same = |known: &Approval| {
                    (known.session, &known.call, known.digest) == (new.session, &new.call, new.digest)
                };
                if self.approvals.values().any(same) {
                    return Ok(());
                }
                if self.approvals.contains_key(&new.id) {
                    return Err("approval exists");
                }
                let approval = Approval {
                    session: new.session,
                    call: new.call.clone(),
                    digest: new.digest,
                    shown: new.shown.clone(),
                    state: ApprovalState::Waiting,
                };
                self.approvals.insert(new.id, approval);
            }
            Write::DecideApproval { approval, grant } => {
                let to = if *grant {
                    ApprovalState::Granted
                } else {
                    ApprovalState::Refused
                };
                self.settle(approval, &[ApprovalState::Waiting], to)?;
            }
            Write::UseApproval { approval } => {
                self.settle(approval, &[ApprovalState::Granted], ApprovalState::Used)?;
            }
            Write::ExpireApproval { approval } => {
                let from = [
                    ApprovalState::Waiting,
                    ApprovalState::Granted,
                    ApprovalState::Expired,
                ];
                match self.settle(approval, &from, ApprovalState::Expired) {
                    Ok(()) | Err("settled") => {}
                    Err(refusal) => return Err(refusal),
                }
            }
            Write::Source(id, text) => {
                let sources = &mut self.session(id)?.sources;
                match sources.iter().find(|known| known.id == text.id) {
                    None => sources.push(text.clone()),
                    Some(known) if known == text => {}
                    Some(_) => return Err("source"),
                }
            }
            Write::Events(id, events) => {
                let kinds = events.iter().map(|event| event.kind.name().to_string());
                self.session(id)?.events.extend(kinds);
            }
            Write::FileLabel(path, label) => {
                self.files.insert(path.clone(), *label);
            }
            Write::PendingWrites(pending) => {
                self.pending.insert(pending.id.clone(), pending.clone());
            }
            Write::WritesSettled(id) => {
                self.pending.remove(id);
            }
            // Not among the random writes: the conformance suite has them.
            Write::LeaveNote(..)
            | Write::TakeNotes(..)
            | Write::BeginSegment(..)
            | Write::CompactionRest(..)
            | Write::Spent(..)
            | Write::IndexMessages(_)
            | Write::PurgeContext(_) => return Err("not modelled"),
            Write::EraseSession(id) => {
                let session = self.sessions.get_mut(id).ok_or("unknown")?;
                *session = Session {
                    state: Some(SessionState::Erased),
                    turns: session.turns,
                    taint: session.taint,
                    events: std::mem::take(&mut session.events),
                    ..Session::default()
                };
                for approval in self.approvals.values_mut() {
                    if approval.session == *id {
                        approval.erase();
                    }
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), Refusal> {
        let mut next = self.clone();
        writes.iter().try_for_each(|write| next.write(write))?;
        *self = next;
        Ok(())
    }

    /// The same picture, read from a store.
    fn read(store: &dyn Store) -> Self {
        run(async {
            let mut model = Self::default();
            let list = store.sessions().await.unwrap();
            assert!(list.damaged.is_empty());
            for summary in list.sessions {
                let SessionSummary {
                    record,
                    entries: count,
                    ..
                } = summary;
                let id = record.session.id;
                assert_eq!(store.session(id).await.unwrap().as_ref(), Some(&record));
                let entries = store.entries(id).await.unwrap();
                assert_eq!(entries.len() as u64, count);
                let stored = store
                    .events(EventFilter {
                        session: Some(id),
                        ..EventFilter::default()
                    })
                    .await
                    .unwrap();
                assert!(
                    stored
                        .iter()
                        .zip(1..)
                        .all(|(stored, number)| stored.event.sequence == number)
                );
                let mut calls = Vec::new();
                for n in 0..TURNS {
                    let of_turn = store.calls(id, turn(n)).await.unwrap();
                    calls.extend(of_turn.into_iter().map(|record| (turn(n), record)));
                }
                let session = Session {
                    name: record.session.name.as_ref().map(ToString::to_string),
                    state: Some(record.state),
                    turns: record.turns,
                    taint: pair(record.session.taint.label()),
                    entries,
                    checkpoint: store.checkpoint(id).await.unwrap(),
                    calls,
                    sources: store.sources(id).await.unwrap(),
                    events: stored
                        .iter()
                        .map(|stored| stored.event.kind.name().to_string())
                        .collect(),
                };
                model.sessions.insert(id, session);
            }
            for record in store.approvals(ApprovalFilter::default()).await.unwrap() {
                assert_eq!(store.approval(record.id).await.unwrap().as_ref(), Some(&record));
                let mut approval = Approval {
                    session: record.session,
                    call: record.call,
                    digest: record.digest,
                    shown: record.shown,
                    state: record.state,
                };
                if model.sessions.get(&record.session).unwrap().state == Some(SessionState::Erased) {
                    assert_eq!(approval.shown, "");
                    approval.erase();
                }
                model.approvals.insert(record.id, approval);
            }
            for work in store.pending_writes().await.unwrap() {
                model.pending.insert(work.id.clone(), work);
            }
            for n in 0..3 {
                let path = format!("/{n}");
                if let Some(label) = store.file_label(&path).await.unwrap() {
                    model.files.insert(path, label);
                }
            }
            model
        })
    }

    /// Calls in the order in which they are read: by turn, then as they came.
    fn sorted(mut self) -> Self {
        self.sessions
            .values_mut()
            .for_each(|session| session.calls.sort_by_key(|(turn, _)| *turn));
        self
    }
}

const TURNS: u128 = 3;

fn label() -> impl Strategy<Value = Label> {
    (0..4usize, any::<bool>()).prop_map(|(rank, untrusted)| {
        let integrity = if untrusted {
            Integrity::Untrusted
        } else {
            Integrity::Trusted
        };
        Label::new(Classification::ALL[rank], integrity)
    })
}

fn state() -> impl Strategy<Value = SessionState> {
    prop_oneof![
        Just(SessionState::Idle),
        (0..TURNS).prop_map(|n| SessionState::InTurn(turn(n)))
    ]
}

fn write() -> impl Strategy<Value = Write> {
    let id = || (0..3u128).prop_map(session);
    let text = || prop_oneof![Just("same".to_string()), any::<String>()];
    let call = || (0..3u64).prop_map(|n| call(n).id);
    prop_oneof![
        4 => (0..3u128, of(0..2)).prop_map(|(n, named)| {
            let named = named.map(|named: i32| format!("name-{named}"));
            Write::CreateSession(Box::new(new_session(n, named.as_deref())))
        }),
        3 => (id(), of(state()), of(label())).prop_map(|(id, state, label)| {
            let taint = label.map(Taint::new);
            Write::PatchSession(id, SessionPatch { state, taint, ..SessionPatch::default() })
        }),
        1 => (id(), id()).prop_map(|(from, to)| Write::MoveName { from, to }),
        6 => (id(), 1..4u64, 1..3u64, text(), label()).prop_map(|(id, first, count, text, label)| {
            let entry = |seq| {
                let body = match seq % 3 {
                    0 => answered(seq, &text).body.clone(),
                    1 => said(seq, &text).body.clone(),
                    _ => replied(seq, &text, "{ \"a\" : 1 }").body.clone(),
                };
                Arc::new(Entry::new(EntrySeq(seq), turn(1), label, body))
            };
            Write::Append(id, (first..first + count).map(entry).collect())
        }),
        2 => (id(), 0..TURNS, any::<u32>(), any::<Vec<u8>>()).prop_map(|(id, n, version, data)| {
            Write::Checkpoint(id, Checkpoint { turn: turn(n), version, data })
        }),
        2 => (id(), 0..TURNS, call()).prop_map(|(session, n, call)| {
            Write::CallStarted { session, turn: turn(n), call, tool: "read_file".into() }
        }),
        2 => (id(), 0..TURNS, 0..3u64, text()).prop_map(|(session, n, seq, text)| {
            Write::CallFinished { session, turn: turn(n), result: Box::new(result(seq, &text)) }
        }),
        3 => (id(), 0..4u128, 0..3u64, 1..3u8).prop_map(|(session, n, seq, digest)| {
            Write::AskApproval(Box::new(NewApproval {
                id: ApprovalId::from_bits(n),
                session,
                turn: turn(1),
                call: CallId::new(format!("call_{seq}_0")),
                digest: [digest; 32],
                label: SECRET,
                shown: format!("{n}"),
                valid_for: std::time::Duration::from_secs(3_600),
            }))
        }),
        3 => (0..4u128, 0..4u8).prop_map(|(n, what)| {
            let approval = ApprovalId::from_bits(n);
            match what {
                0 => Write::UseApproval { approval },
                1 => Write::ExpireApproval { approval },
                what => Write::DecideApproval { approval, grant: what == 2 },
            }
        }),
        2 => (id(), 0..2u8, text()).prop_map(|(id, n, text)| {
            Write::Source(id, full_text(&n.to_string(), &text))
        }),
        2 => (0..3u8, any::<bool>(), 0..9i64).prop_map(|(n, begins, since_ms)| {
            let id = n.to_string();
            if !begins {
                return Write::WritesSettled(id);
            }
            let places = vec![PendingPlace { path: format!("/{n}"), writable: begins }];
            Write::PendingWrites(PendingWrites { id, since_ms, label: Label::BOTTOM, places })
        }),
        3 => (id(), 0..3usize).prop_map(|(id, count)| Write::Events(id, vec![tool_started("c"); count])),
        1 => (0..3u8, any::<[u8; 32]>(), label()).prop_map(|(n, hash, label)| {
            Write::FileLabel(format!("/{n}"), FileLabel { hash, label })
        }),
        1 => id().prop_map(Write::EraseSession),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_store_does_what_the_model_does(
        commits in proptest::collection::vec(proptest::collection::vec(write(), 1..4), 1..40),
        reopen_after in 0..40usize,
    ) {
        let (_folder, path) = place();
        let mut store = open(&path);
        let memory = MemoryStore::new();
        let mut model = Model::default();
        for (n, writes) in commits.into_iter().enumerate() {
            let expected = model.commit(&writes);
            for store in [&store as &dyn Store, &memory] {
                let given = commit(store, writes.clone());
                prop_assert_eq!(given.as_ref().map(|_| ()).map_err(refusal), expected);
            }
            if n == reopen_after {
                run(store.close());
                store = open(&path);
            }
        }
        prop_assert_eq!(Model::read(&store), model.clone().sorted());
        prop_assert_eq!(Model::read(&memory), model.clone().sorted());
        run(store.close());
        prop_assert_eq!(Model::read(&open(&path)), model.sorted());
    }
}
