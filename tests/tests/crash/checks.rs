//! What holds of a session whenever no process works in it, however often one was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use tidegate_message::{
    Body, Entry, Event, EventKind, INTERRUPTED_RESULT, ResultStatus, ToolCall, ToolResult, Transcript,
    joined_text,
};
use tidegate_policy::{CallId, SessionId, TurnId};
use tidegate_store::{
    ApprovalFilter, ApprovalState, CallState, Durability, EventFilter, SessionState, SqliteStore, Store,
};

/// A session as it is stored.
pub(crate) struct Stored {
    pub(crate) id: SessionId,
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) events: Vec<Event>,
    /// The calls with their results, in order.
    pub(crate) answered: Vec<(ToolCall, ToolResult)>,
    pub(crate) store: SqliteStore,
}

impl Stored {
    /// Reads the session `name` of the store at `database`, and checks everything that has to hold of it.
    pub(crate) async fn checked(database: &Path, name: &str) -> Self {
        let store = SqliteStore::open(database, Durability::Process).unwrap();
        let record = store
            .session_named(&name.parse().unwrap())
            .await
            .unwrap()
            .unwrap();
        let id = record.session.id;
        assert_eq!(record.state, SessionState::Idle, "no turn is left open");

        let entries = store.entries(id).await.unwrap();
        let transcript = Transcript::from_entries(entries.clone()).unwrap();
        assert!(!transcript.is_open(), "no call is left open");

        let filter = EventFilter {
            session: Some(id),
            ..EventFilter::default()
        };
        let events: Vec<Event> = store
            .events(filter)
            .await
            .unwrap()
            .into_iter()
            .map(|stored| stored.event)
            .collect();
        let sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
        let gapless: Vec<u64> = (1..).take(events.len()).collect();
        assert_eq!(sequences, gapless, "the events have no gap");

        let taint = record.session.taint.label();
        for entry in &entries {
            assert_eq!(
                entry.label.join(taint),
                taint,
                "the taint covers entry {}",
                entry.seq
            );
            for result in results(entry) {
                assert_eq!(
                    result.label.join(taint),
                    taint,
                    "the taint covers the result of {}",
                    result.call
                );
            }
        }
        let stored = Self {
            id,
            answered: answered(&entries),
            entries,
            events,
            store,
        };
        stored.check_unknown_outcomes();
        stored.check_journal().await;
        stored
    }

    /// The calls nobody can say of whether they happened.
    pub(crate) fn unknown(&self) -> BTreeSet<CallId> {
        self.answered
            .iter()
            .filter(|(_, result)| result.status == ResultStatus::Unknown)
            .map(|(call, _)| call.id.clone())
            .collect()
    }

    /// How many events of this dotted name there are.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.events
            .iter()
            .filter(|event| event.kind.name() == name)
            .count()
    }

    /// Each call that was begun used up one grant, made for it alone, and nothing is left to grant.
    pub(crate) async fn check_approvals(&self, approve: bool) {
        let filter = ApprovalFilter {
            session: Some(self.id),
            state: None,
        };
        let mut requests = BTreeMap::new();
        for record in self.store.approvals(filter).await.unwrap() {
            assert_eq!(record.state, ApprovalState::Used, "{record:?}");
            assert!(
                requests.insert(record.call.clone(), record).is_none(),
                "asked twice about one call"
            );
        }
        for (call, result) in self
            .answered
            .iter()
            .filter(|(call, _)| call.name.as_str() == "append")
        {
            let begun = matches!(result.status, ResultStatus::Ok | ResultStatus::Unknown);
            assert_eq!(
                requests.remove(&call.id).is_some(),
                approve && begun,
                "{}",
                call.id
            );
        }
        assert!(requests.is_empty(), "asked about calls that need no approval");
    }

    /// An unknown outcome is told honestly, and recorded as such once.
    fn check_unknown_outcomes(&self) {
        let unknown = self.unknown();
        for (call, result) in &self.answered {
            if result.status == ResultStatus::Unknown {
                assert_eq!(joined_text(&result.content), INTERRUPTED_RESULT, "{}", call.id);
            }
        }
        let mut recorded = Vec::new();
        let mut finished = Vec::new();
        for event in &self.events {
            match &event.kind {
                EventKind::TurnResumed { unknown_calls } => recorded.extend(unknown_calls.iter().cloned()),
                EventKind::ToolFinished {
                    call,
                    status: ResultStatus::Unknown,
                    ..
                } => finished.push(call.clone()),
                _ => {}
            }
        }
        recorded.sort();
        finished.sort();
        let unknown: Vec<CallId> = unknown.into_iter().collect();
        assert_eq!(
            recorded, unknown,
            "each unknown outcome is told when the turn goes on, once"
        );
        assert_eq!(
            finished, unknown,
            "each unknown outcome is recorded as the call's end, once"
        );
    }

    /// The journal says of every consequential call what the transcript says, and none was started twice.
    async fn check_journal(&self) {
        let turns: BTreeSet<TurnId> = self.entries.iter().map(|entry| entry.turn).collect();
        let mut journal = BTreeMap::new();
        for turn in turns {
            for row in self.store.calls(self.id, turn).await.unwrap() {
                assert_eq!(row.attempts, 1, "{} was started more than once", row.call);
                assert!(journal.insert(row.call.clone(), row).is_none());
            }
        }
        for (call, result) in &self.answered {
            let row = journal.remove(&call.id);
            match (result.status, row.map(|row| row.state)) {
                (ResultStatus::Unknown, Some(CallState::Started)) => {}
                (
                    ResultStatus::Ok | ResultStatus::Error | ResultStatus::NotRun,
                    Some(CallState::Finished(journalled)),
                ) => {
                    assert_eq!(*journalled, *result, "{}", call.id);
                }
                (ResultStatus::Ok | ResultStatus::Error, None) => {
                    assert!(
                        !is_consequential(call),
                        "{} ran without being journalled",
                        call.id
                    );
                }
                (ResultStatus::Refused | ResultStatus::NotRun, None) => {}
                (status, state) => panic!(
                    "{}: {status:?} in the transcript, {state:?} in the journal",
                    call.id
                ),
            }
        }
        assert!(
            journal.is_empty(),
            "calls of no transcript are journalled: {:?}",
            journal.keys()
        );
    }

    /// Every call that is said to have happened has its line in the ledger, none has two, and none has one that
    /// is said not to have happened.
    pub(crate) fn check_ledger(&self, lines: &[String]) {
        let mut marks: BTreeMap<&str, usize> = BTreeMap::new();
        for line in lines {
            *marks
                .entry(line.split(' ').next().unwrap_or_default())
                .or_default() += 1;
        }
        for (call, result) in self
            .answered
            .iter()
            .filter(|(call, _)| call.name.as_str() == "append")
        {
            let times = marks.remove(call.id.as_str()).unwrap_or_default();
            let possible = match result.status {
                ResultStatus::Ok | ResultStatus::Withheld => 1..=1,
                ResultStatus::Unknown => 0..=1,
                ResultStatus::Error | ResultStatus::Refused | ResultStatus::NotRun => 0..=0,
            };
            assert!(
                possible.contains(&times),
                "{} ({:?}) was done {times} times",
                call.id,
                result.status
            );
        }
        assert!(marks.is_empty(), "marks of no call: {marks:?}");
    }
}

fn is_consequential(call: &ToolCall) -> bool {
    matches!(call.name.as_str(), "append" | "write_file" | "edit_file")
}

fn results(entry: &Entry) -> &[ToolResult] {
    match &entry.body {
        Body::Results(results) => &results.results,
        Body::User(_) | Body::Assistant(_) => &[],
    }
}

/// Each call with its result; every call has exactly one.
fn answered(entries: &[Arc<Entry>]) -> Vec<(ToolCall, ToolResult)> {
    let mut all = BTreeMap::new();
    for result in entries.iter().flat_map(|entry| results(entry)) {
        let before = all.insert(result.call.clone(), result.clone());
        assert!(before.is_none(), "{} has two results", result.call);
    }
    let mut answered = Vec::new();
    for entry in entries {
        if let Body::Assistant(message) = &entry.body {
            for call in message.calls() {
                let result = all
                    .remove(&call.id)
                    .unwrap_or_else(|| panic!("{} has no result", call.id));
                answered.push((call.clone(), result));
            }
        }
    }
    assert!(all.is_empty(), "results of no call: {:?}", all.keys());
    answered
}
