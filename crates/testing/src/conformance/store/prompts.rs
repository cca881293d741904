//! Notes for the next turn, segments, and search.

use super::made::*;
use super::{Make, commit, read, refused};
use tidegate_message::{EntrySeq, Usage};
use tidegate_policy::Label;
use tidegate_store::{CompactionRest, NewNote, NewSegment, SegmentSizes, StoreError, Write};

fn left(body: &str) -> Write {
    let note = NewNote {
        label: Label::UNREADABLE,
        body: body.into(),
    };
    Write::LeaveNote(session(1), note)
}

pub(super) async fn notes_are_taken_once(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    commit(
        &*store,
        vec![create(1), create(2), left("a"), left("b"), left("c")],
    )
    .await;
    let notes = read(store.notes(id).await);
    let bodies: Vec<&str> = notes.iter().map(|waiting| waiting.note.body.as_str()).collect();
    assert_eq!(bodies, ["a", "b", "c"], "notes wait in the order they were left");
    assert!(
        notes
            .iter()
            .all(|waiting| waiting.note.label == Label::UNREADABLE),
        "a note keeps its label"
    );
    assert!(
        read(store.notes(session(2)).await).is_empty(),
        "notes belong to their session"
    );
    let positions: Vec<u64> = notes.iter().map(|waiting| waiting.position).collect();
    let (first, rest) = match positions.split_first() {
        Some((first, rest)) => (*first, rest.to_vec()),
        None => panic!("three notes wait"),
    };
    let taken = vec![
        Write::Append(id, vec![said(1, "carried")]),
        Write::TakeNotes(id, vec![first]),
    ];
    commit(&*store, taken).await;
    let again = vec![
        Write::Append(id, vec![said(2, "twice?")]),
        Write::TakeNotes(id, positions.clone()),
    ];
    match refused(&*store, again).await {
        StoreError::NoteTaken { position, .. } => assert_eq!(position, first),
        other => panic!("a note that is gone is NoteTaken, not {other:?}"),
    }
    assert_eq!(
        read(store.entries(id).await).len(),
        1,
        "nothing that goes with a note that is gone was stored"
    );
    match refused(&*store, vec![Write::TakeNotes(session(2), rest.clone())]).await {
        StoreError::NoteTaken { .. } => {}
        other => panic!("a note of another session is NoteTaken, not {other:?}"),
    }
    commit(&*store, vec![Write::TakeNotes(id, rest), left("d")]).await;
    let waiting = read(store.notes(id).await);
    let new: Vec<u64> = waiting.iter().map(|waiting| waiting.position).collect();
    assert_eq!(new.len(), 1, "only the new note waits");
    assert!(
        !new.iter().any(|position| positions.contains(position)),
        "positions are not given twice"
    );
}

pub(super) async fn segments_follow_one_another(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    let segment = |entries: &[u64]| NewSegment {
        turn: turn(3),
        entries: entries.iter().map(|seq| EntrySeq(*seq)).collect(),
        sizes: SegmentSizes {
            messages_before: 3,
            messages_after: 2,
            tokens_before: 4_000,
            tokens_after: 1_000,
        },
    };
    commit(
        &*store,
        vec![create(1), Write::Append(id, vec![said(1, "one"), said(2, "two")])],
    )
    .await;
    assert!(
        read(store.segments(id).await).is_empty(),
        "the first segment is not listed"
    );
    let writes = vec![
        Write::Append(id, vec![said(3, "summary")]),
        Write::BeginSegment(id, Box::new(segment(&[3, 2]))),
    ];
    commit(&*store, writes).await;
    commit(&*store, vec![Write::Append(id, vec![said(4, "more")])]).await;
    let unknown = vec![
        Write::Append(id, vec![said(5, "lost")]),
        Write::BeginSegment(id, Box::new(segment(&[3, 9]))),
    ];
    match refused(&*store, unknown).await {
        StoreError::UnknownEntry { entry, .. } => assert_eq!(entry, 9),
        other => panic!("an entry that is not there is UnknownEntry, not {other:?}"),
    }
    commit(&*store, vec![Write::BeginSegment(id, Box::new(segment(&[4])))]).await;
    let known: Vec<(u64, u64, NewSegment)> = read(store.segments(id).await)
        .into_iter()
        .map(|known| (known.number, known.through.0, known.made))
        .collect();
    assert_eq!(known, [(2, 3, segment(&[3, 2])), (3, 4, segment(&[4]))]);
    assert_eq!(read(store.entries(id).await).len(), 4, "compacted entries stay");
}

pub(super) async fn rests_are_replaced(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    commit(&*store, vec![create(1)]).await;
    assert_eq!(read(store.compaction_rest(id).await), CompactionRest::default());
    for (failures, failed_at_ms) in [(1, 5), (2, 7), (0, 0)] {
        let rest = CompactionRest {
            failures,
            failed_at_ms,
        };
        commit(&*store, vec![Write::CompactionRest(id, rest)]).await;
        assert_eq!(read(store.compaction_rest(id).await), rest);
    }
}

pub(super) async fn what_leaves_no_entry_is_counted(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    let usage = |output| Usage {
        uncached: 100,
        cache_read: 20,
        cache_write: 3,
        output,
    };
    let total = async || read(store.summary(id).await).map(|summary| summary.usage);
    commit(&*store, vec![create(1), Write::Spent(id, usage(4))]).await;
    assert_eq!(total().await, Some(usage(4)));
    let unknown = vec![Write::Spent(id, usage(5)), Write::Spent(session(9), usage(6))];
    refused(&*store, unknown).await;
    assert_eq!(
        total().await,
        Some(usage(4)),
        "nothing is counted of a commit that did not happen"
    );
    commit(&*store, vec![Write::Spent(id, usage(5))]).await;
    let mut both = usage(4);
    both += usage(5);
    assert_eq!(
        total().await,
        Some(both),
        "what calls without an entry cost adds up"
    );
}

pub(super) async fn messages_are_found_by_their_words(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    let texts = [
        "The tide tables",
        "他住在北京市",
        "Прилив в полдень",
        "tide and time",
    ];
    let entries = texts.iter().zip(1..).map(|(text, seq)| said(seq, text)).collect();
    commit(&*store, vec![create(1), create(2), Write::Append(id, entries)]).await;
    for (asked, expected) in [
        ("tide", &[1, 4][..]),
        ("TIDE", &[1, 4]),
        ("tide tab", &[1]),
        ("tide time", &[4]),
        ("北京", &[2]),
        ("京北", &[]),
        ("прилив", &[3]),
        ("nothing", &[]),
        ("", &[]),
        ("  ", &[]),
    ] {
        let found: Vec<u64> = read(store.search(id, asked).await)
            .iter()
            .map(|entry| entry.seq.0)
            .collect();
        assert_eq!(found, expected, "what is found for {asked:?}");
    }
    for hostile in [
        "\"",
        "a\" OR \"b",
        "*",
        "tide*\0",
        "NEAR(",
        "words:tide",
        "-",
        "'",
    ] {
        read(store.search(id, hostile).await);
    }
    commit(&*store, vec![Write::Append(id, vec![said(5, "a late tide")])]).await;
    assert_eq!(
        read(store.search(id, "late").await).len(),
        1,
        "what came after a search is found by the next"
    );
    assert!(
        read(store.search(session(2), "tide").await).is_empty(),
        "messages belong to their session"
    );
    assert!(read(store.search(session(9), "tide").await).is_empty());
    commit(&*store, vec![left("gone"), Write::EraseSession(id)]).await;
    assert!(
        read(store.search(id, "tide").await).is_empty(),
        "erased messages are not found"
    );
    assert!(read(store.notes(id).await).is_empty(), "nor are notes kept");
    assert!(read(store.segments(id).await).is_empty(), "nor segments");
}
