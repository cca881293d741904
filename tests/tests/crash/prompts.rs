//! Killed while a note is taken, and while a conversation is made shorter.

use crate::child::{self, Ended};
use crate::scenario::Place;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tidegate_message::{Author, Body, Entry, EntrySeq, EventKind, Transcript, joined_text};
use tidegate_store::{Durability, EventFilter, Segment, SqliteStore, Store as _};
use tidegate_testing::{FakeOpenAi, FakeReply, RecordedRequest};
use tidegate_tests::crash::{Errand, Finished, Kill, SESSION, Side, Work};

const NOTE: &str = "Water the plants at noon.";
const ANSWER: &str = "Done, as you said.";
/// The conversation below has reached the threshold of it.
const WINDOW: u64 = 6_000;

fn kills(commits: usize) -> impl Iterator<Item = Kill> {
    (1..=commits).flat_map(|commit| [Side::Before, Side::After].map(|side| Kill { commit, side }))
}

async fn finished(errand: &Errand) -> Finished {
    match child::run(errand, None).await {
        Ended::Finished(finished) => finished,
        Ended::Killed => panic!("nobody killed it"),
    }
}

async fn left_a_note(base_url: String) -> (Place, Errand) {
    let place = Place::new();
    let errand = child::errand(&place, base_url, "Do something.");
    let leave = Errand {
        work: Work::LeaveNote(NOTE.to_owned()),
        ..errand.clone()
    };
    finished(&leave).await;
    (place, errand)
}

fn times(text: &str) -> usize {
    text.matches(NOTE).count()
}

#[tokio::test]
async fn killed_at_any_commit_of_the_turn_that_carries_it_a_note_is_delivered_exactly_once() {
    let answering = || FakeOpenAi::answering(|_| FakeReply::text(ANSWER));
    let server = answering().await.unwrap();
    let (_place, errand) = left_a_note(server.base_url()).await;
    let commits = finished(&errand).await.commits;
    assert!(commits >= 2, "the message, and its answer");
    let mut between = 0;
    for kill in kills(commits) {
        let server = answering().await.unwrap();
        let (place, mut errand) = left_a_note(server.base_url()).await;
        let Ended::Killed = child::run(&errand, Some(kill)).await else {
            continue;
        };
        let asked = server.requests().len();
        let store = store(&place);
        let id = store
            .session_named(&SESSION.parse().unwrap())
            .await
            .unwrap()
            .unwrap()
            .session
            .id;
        // It waits, or its message is stored: not both, and not neither.
        let (waiting, stored) = (
            store.notes(id).await.unwrap().len(),
            carried(&store.entries(id).await.unwrap()),
        );
        assert_eq!(waiting + stored, 1, "{kill:?}");
        between += usize::from(stored == 1 && asked == 0);
        drop(store);

        errand.resume = true;
        assert_eq!(finished(&errand).await.answer, ANSWER, "{kill:?}");
        // The turn after it repeats it with its message, and does not carry it again.
        errand.resume = false;
        errand.task = "And something else.".to_owned();
        assert_eq!(finished(&errand).await.answer, ANSWER, "{kill:?}");
        assert_eq!(server.violations(), []);
        for request in server.requests() {
            assert_eq!(times(&request.json.to_string()), 1, "{kill:?}");
        }
        let store = self::store(&place);
        assert_eq!(carried(&store.entries(id).await.unwrap()), 1, "{kill:?}");
        assert!(store.notes(id).await.unwrap().is_empty(), "{kill:?}");
    }
    assert!(
        between > 0,
        "no kill hit the moment between taking the note and the first model call"
    );
}

fn store(place: &Place) -> SqliteStore {
    SqliteStore::open(place.data().join("tidegate.db"), Durability::Process).unwrap()
}

/// How many messages carry the note.
fn carried(entries: &[Arc<Entry>]) -> usize {
    entries
        .iter()
        .filter(|entry| match &entry.body {
            Body::User(message) => times(&joined_text(message.api_content())) > 0,
            Body::Assistant(_) | Body::Results(_) => false,
        })
        .count()
}

fn long(task: usize) -> String {
    format!("task{task} ").repeat(300)
}

/// Long answers, and summaries for whoever sums up.
fn reply(request: &RecordedRequest) -> FakeReply {
    if request.json["model"] == "summary" {
        return FakeReply::text("## Goal\nWatch the tides.");
    }
    FakeReply::text("an answer ".repeat(150))
}

/// The files of a data folder, to be put back.
struct Kept(Vec<(std::ffi::OsString, Vec<u8>)>);

impl Kept {
    fn of(folder: &Path) -> Self {
        let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        let files = files.filter(|file| file.file_type().unwrap().is_file());
        Self(
            files
                .map(|file| (file.file_name(), std::fs::read(file.path()).unwrap()))
                .collect(),
        )
    }

    fn put_back(&self, folder: &Path) {
        for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        for (name, content) in &self.0 {
            std::fs::write(folder.join(name), content).unwrap();
        }
    }
}

/// What a segment begins with, and what was said since.
fn transcript(entries: &[Arc<Entry>], segment: Option<&Segment>) -> Transcript {
    let by_number = |seq: &EntrySeq| {
        let entry = entries.iter().find(|entry| entry.seq == *seq);
        Arc::clone(entry.unwrap_or_else(|| panic!("entry {seq} of a segment is not stored")))
    };
    let current = match segment {
        None => entries.to_vec(),
        Some(segment) => {
            let first = segment.made.entries.iter().map(by_number);
            let since = entries.iter().filter(|entry| entry.seq > segment.through);
            first.chain(since.map(Arc::clone)).collect()
        }
    };
    Transcript::from_entries(current).unwrap()
}

/// Checks what is stored, and gives how many segments there are after the first.
async fn old_or_new(place: &Place, kill: Kill) -> usize {
    let store = store(place);
    let name = SESSION.parse().unwrap();
    let id = store.session_named(&name).await.unwrap().unwrap().session.id;
    let entries = store.entries(id).await.unwrap();
    let segments = store.segments(id).await.unwrap();
    let transcript = transcript(&entries, segments.last());
    let summaries = |entries: &[Arc<Entry>]| {
        let said = entries.iter();
        said.filter(|entry| matches!(&entry.body, Body::User(message) if message.author == Author::Summary))
            .count()
    };
    let filter = EventFilter {
        session: Some(id),
        ..EventFilter::default()
    };
    let events = store.events(filter).await.unwrap();
    let told = events
        .iter()
        .filter(|stored| matches!(stored.event.kind, EventKind::CompactionFinished { .. }))
        .count();
    // Summary, segment and event are there together, or none of them is.
    assert_eq!(told, segments.len(), "{kill:?}");
    assert_eq!(summaries(&entries), segments.len(), "{kill:?}");
    assert_eq!(
        summaries(transcript.entries()),
        usize::from(!segments.is_empty()),
        "{kill:?}"
    );
    // Dropped it would be closed a moment later, and take files away that have been put back by then.
    store.close().await;
    segments.len()
}

/// Runs `errand` and kills it at each of its commits; gives how often the old and how often the new segment was found.
async fn killed_at_each(place: &Place, server: &FakeOpenAi, errand: &Errand) -> [usize; 2] {
    let kept = Kept::of(&place.data());
    let commits = finished(errand).await.commits;
    assert_eq!(
        old_or_new(
            place,
            Kill {
                commit: 0,
                side: Side::After
            }
        )
        .await,
        1,
        "undisturbed, it is compacted once"
    );
    let mut found = [0, 0];
    for kill in kills(commits) {
        kept.put_back(&place.data());
        let Ended::Killed = child::run(errand, Some(kill)).await else {
            continue;
        };
        let segments = old_or_new(place, kill).await;
        found[segments] += 1;
        // Another process goes on, and the model is sent what it takes.
        let go_on = Errand {
            resume: is_given(place, &errand.task).await,
            work: Work::Task,
            ..errand.clone()
        };
        let end = finished(&go_on).await;
        assert_eq!((end.status.as_str(), end.error), ("success", None), "{kill:?}");
        assert_eq!(server.violations(), [], "{kill:?}");
        let last = server.requests().pop().unwrap();
        let asked = last.messages().last().unwrap()["content"].clone();
        assert_eq!(asked, Value::from(errand.task.as_str()), "{kill:?}");
    }
    found
}

/// Whether the task is stored.
async fn is_given(place: &Place, task: &str) -> bool {
    let store = store(place);
    let name = SESSION.parse().unwrap();
    let id = store.session_named(&name).await.unwrap().unwrap().session.id;
    let entries = store.entries(id).await.unwrap();
    store.close().await;
    entries
        .iter()
        .any(|entry| matches!(&entry.body, Body::User(message) if joined_text(&message.content) == task))
}

/// A session that has become long.
async fn long_session() -> (Place, FakeOpenAi, Errand) {
    let place = Place::new();
    let server = FakeOpenAi::answering(reply).await.unwrap();
    let mut errand = child::errand(&place, server.base_url(), "");
    for task in 0..4 {
        errand.task = long(task);
        finished(&errand).await;
    }
    (place, server, errand)
}

#[tokio::test]
async fn killed_at_any_commit_of_a_turn_that_compacts_there_is_the_old_segment_or_the_new_one() {
    let (place, server, errand) = long_session().await;
    let errand = Errand {
        task: long(9),
        window: Some(WINDOW),
        ..errand
    };
    let found = killed_at_each(&place, &server, &errand).await;
    assert!(found.iter().all(|times| *times > 0), "{found:?}");
}

#[tokio::test]
async fn killed_at_any_commit_of_a_compaction_by_hand_there_is_the_old_segment_or_the_new_one() {
    let (place, server, errand) = long_session().await;
    let errand = Errand {
        task: "What was it about?".to_owned(),
        work: Work::Compact,
        ..errand
    };
    let found = killed_at_each(&place, &server, &errand).await;
    assert!(found.iter().all(|times| *times > 0), "{found:?}");
}
