//! What a session holds.

use super::made::*;
use super::{Make, commit, read, refused};
use tidegate_policy::{Classification, Label, SourceId};
use tidegate_store::{
    CallState, EventFilter, FileLabel, FileLabelRange, PendingPlace, PendingWrites, StoreError, Write,
};

pub(super) async fn commits_happen_whole_or_not_at_all(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    commit(&*store, vec![create(1)]).await;
    let writes = vec![
        create(2),
        Write::Append(id, vec![said(1, "kept?")]),
        Write::Checkpoint(id, checkpoint(1)),
        started(2),
        Write::Source(id, text("s", "kept?")),
        Write::Events(id, vec![happened("c")]),
        Write::FileLabel("/f".into(), file_label(7)),
        // The second entry with this number.
        Write::Append(id, vec![said(1, "again")]),
    ];
    match refused(&*store, writes).await {
        StoreError::OutOfOrder { .. } => {}
        other => panic!("an entry out of order is OutOfOrder, not {other:?}"),
    }
    assert_eq!(read(store.session(session(2)).await), None, "no session was made");
    assert!(read(store.entries(id).await).is_empty(), "no entry was kept");
    assert_eq!(read(store.checkpoint(id).await), None, "no checkpoint was kept");
    assert!(
        read(store.calls(id, turn(1)).await).is_empty(),
        "no call was journalled"
    );
    assert!(read(store.sources(id).await).is_empty(), "no text was kept");
    assert!(
        read(store.events(EventFilter::default()).await).is_empty(),
        "no event was recorded"
    );
    assert_eq!(read(store.file_label("/f").await), None, "no label was kept");
    let committed = commit(&*store, vec![Write::Events(id, vec![happened("c")])]).await;
    let numbers: Vec<u64> = committed.events.iter().map(|event| event.sequence).collect();
    assert_eq!(
        numbers,
        [1],
        "the number of the event that was taken back is given again"
    );
}

pub(super) async fn entries_follow_one_another(make: Make<'_>) {
    type Refused = Option<(u64, u64)>;
    let cases: [(&[u64], Refused); 6] = [
        (&[1, 2, 3], None),
        (&[], None),
        (&[2], Some((1, 2))),
        (&[0], Some((1, 0))),
        (&[1, 3], Some((2, 3))),
        (&[1, 1], Some((2, 1))),
    ];
    for (numbers, error) in cases {
        let store = make().await;
        commit(&*store, vec![create(1)]).await;
        let entries: Vec<_> = numbers.iter().map(|seq| said(*seq, "hi")).collect();
        let write = vec![Write::Append(session(1), entries.clone())];
        let Some(expected) = error else {
            commit(&*store, write).await;
            assert_eq!(
                read(store.entries(session(1)).await),
                entries,
                "entries come back in order"
            );
            continue;
        };
        match refused(&*store, write).await {
            StoreError::OutOfOrder {
                expected: next,
                given,
                ..
            } => assert_eq!((next, given), expected),
            other => panic!("entries {numbers:?} are OutOfOrder, not {other:?}"),
        }
    }
    let store = make().await;
    let entries = vec![said(1, "hi"), replied(2), answered(3)];
    commit(
        &*store,
        vec![create(1), Write::Append(session(1), entries.clone())],
    )
    .await;
    let found = read(store.entries(session(1)).await);
    assert_eq!(
        found, entries,
        "entries come back as they were, the verbatim form byte for byte"
    );
}

pub(super) async fn checkpoints_are_replaced(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    commit(&*store, vec![create(1)]).await;
    for version in [1, 2] {
        commit(&*store, vec![Write::Checkpoint(id, checkpoint(version))]).await;
        let found = read(store.checkpoint(id).await);
        assert_eq!(
            found,
            Some(checkpoint(version)),
            "the last checkpoint is the one that is kept"
        );
    }
}

pub(super) async fn calls_are_journalled(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    commit(
        &*store,
        vec![
            create(1),
            started(4),
            started(2),
            started(4),
            finished(6, "alone"),
        ],
    )
    .await;
    let shown = async || -> Vec<(String, u32, bool)> {
        read(store.calls(id, turn(1)).await)
            .iter()
            .map(|row| {
                (
                    row.call.to_string(),
                    row.attempts,
                    matches!(row.state, CallState::Finished(_)),
                )
            })
            .collect()
    };
    let row = |call: &str, attempts, done| (call.to_owned(), attempts, done);
    assert_eq!(
        shown().await,
        [
            row("call_4_0", 2, false),
            row("call_2_0", 1, false),
            row("call_6_0", 0, true)
        ],
        "calls are in the order they were first journalled; starts are counted"
    );
    commit(&*store, vec![finished(4, "one")]).await;
    match refused(&*store, vec![started(4)]).await {
        StoreError::CallFinished { .. } => {}
        other => panic!("starting a call that has its result is CallFinished, not {other:?}"),
    }
    commit(&*store, vec![finished(4, "two")]).await;
    let rows = read(store.calls(id, turn(1)).await);
    match rows.first().map(|row| &row.state) {
        Some(CallState::Finished(kept)) => {
            assert_eq!(**kept, result(4, "two"), "a later result replaces an earlier one");
        }
        other => panic!("call 4 has its result, not {other:?}"),
    }
    assert!(
        read(store.calls(id, turn(2)).await).is_empty(),
        "calls are those of their turn"
    );
}

pub(super) async fn texts_do_not_change(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    commit(&*store, vec![create(1), create(2)]).await;
    let (first, second) = (text("s2", "x\u{0}你好"), text("s1", ""));
    for text in [&first, &second, &first] {
        commit(&*store, vec![Write::Source(id, text.clone())]).await;
    }
    match refused(&*store, vec![Write::Source(id, text("s2", "other"))]).await {
        StoreError::SourceTaken { .. } => {}
        other => panic!("another text of the same id is SourceTaken, not {other:?}"),
    }
    assert_eq!(
        read(store.source(id, &SourceId::new("s2")).await),
        Some(first.clone())
    );
    assert_eq!(
        read(store.sources(id).await),
        [first, second],
        "texts are in the order they were kept"
    );
    commit(&*store, vec![Write::Source(session(2), text("s2", "other"))]).await;
}

pub(super) async fn file_labels_are_replaced(make: Make<'_>) {
    let store = make().await;
    for byte in [1, 2] {
        commit(&*store, vec![Write::FileLabel("/a".into(), file_label(byte))]).await;
        assert_eq!(read(store.file_label("/a").await), Some(file_label(byte)));
    }
    assert_eq!(
        read(store.file_label("/A").await),
        None,
        "paths are compared as they are"
    );
}

pub(super) async fn file_labels_are_found_by_range_and_label(make: Make<'_>) {
    let store = make().await;
    let labelled = |label| FileLabel { hash: [0; 32], label };
    let secret = labelled(Label::untrusted(Classification::Restricted));
    let inner = labelled(Label::untrusted(Classification::Internal));
    let open = labelled(Label::BOTTOM);
    let rows = [
        ("/w", secret),
        ("/w-b", secret),
        ("/w/a", inner),
        ("/w/a-b", secret),
        ("/w/a/deep", secret),
        ("/w/a0", open),
        ("/w/é", secret),
        ("/w/\0ff", inner),
        ("/x", secret),
    ];
    let writes = rows.map(|(path, label)| Write::FileLabel(path.into(), label));
    commit(&*store, writes.to_vec()).await;
    let found = async |from: &str, until: &str, not_within, limit| {
        let range = FileLabelRange {
            from: from.into(),
            until: until.into(),
            not_within,
            limit,
        };
        let found = read(store.file_labels(range).await);
        found.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
    };
    let internal = Label::untrusted(Classification::Internal);
    let trusted = Label::trusted(Classification::Restricted);
    for (from, until, not_within, limit, expected) in [
        ("/w/", "/w0", internal, 9, vec!["/w/a-b", "/w/a/deep", "/w/é"]),
        ("/w/", "/w0", internal, 1, vec!["/w/a-b"]),
        ("/w/", "/w0", internal, 0, vec![]),
        ("/w/", "/w0", Label::UNREADABLE, 9, vec![]),
        (
            "/w/",
            "/w0",
            trusted,
            9,
            vec!["/w/\0ff", "/w/a", "/w/a-b", "/w/a/deep", "/w/é"],
        ),
        ("/w/a", "/w/a/", Label::BOTTOM, 9, vec!["/w/a", "/w/a-b"]),
        ("/w/a\0", "/w0", internal, 1, vec!["/w/a-b"]),
        ("/w0", "/w/", Label::BOTTOM, 9, vec![]),
    ] {
        let labels = found(from, until, not_within, limit).await;
        assert_eq!(
            labels, expected,
            "{from:?} to {until:?}, not within {not_within}, {limit}"
        );
    }
}

pub(super) async fn what_may_be_writing_is_kept_until_it_is_settled(make: Make<'_>) {
    let store = make().await;
    let pending = |id: &str, since_ms| PendingWrites {
        id: id.into(),
        since_ms,
        label: Label::untrusted(Classification::Confidential),
        places: vec![
            PendingPlace {
                path: "/w".into(),
                writable: true,
            },
            PendingPlace {
                path: "/w/é\0ff".into(),
                writable: false,
            },
        ],
    };
    commit(
        &*store,
        vec![
            Write::PendingWrites(pending("b", 1)),
            Write::PendingWrites(pending("a", 2)),
        ],
    )
    .await;
    commit(&*store, vec![Write::PendingWrites(pending("b", 3))]).await;
    assert_eq!(
        read(store.pending_writes().await),
        [pending("a", 2), pending("b", 3)]
    );
    // A commit that fails leaves everything as it was.
    let failing = vec![
        Write::WritesSettled("a".into()),
        Write::PendingWrites(pending("c", 4)),
        Write::FileLabel("/w/a".into(), file_label(1)),
        Write::Source(session(404), text("s1", "x")),
    ];
    assert!(store.commit(failing).await.is_err());
    assert_eq!(
        read(store.pending_writes().await),
        [pending("a", 2), pending("b", 3)]
    );
    let settled = vec![
        Write::FileLabel("/w/a".into(), file_label(1)),
        Write::WritesSettled("a".into()),
        Write::WritesSettled("nobody".into()),
    ];
    commit(&*store, settled).await;
    assert_eq!(read(store.pending_writes().await), [pending("b", 3)]);
    assert_eq!(read(store.file_label("/w/a").await), Some(file_label(1)));
}
