//! Rows that cannot be read, changed behind the store's back.

use crate::common::*;
use tidegate_policy::{Classification, EventId, Label, SourceId, Taint};
use tidegate_store::*;

/// A store with two sessions that have everything, the first of them changed by `sql`.
fn damaged(sql: &str) -> (tempfile::TempDir, SqliteStore) {
    let (folder, path) = place();
    let store = open(&path);
    for n in [1, 2] {
        let id = session(n);
        let taint = SessionPatch {
            taint: Some(tainted(SECRET)),
            ..SessionPatch::default()
        };
        let writes = vec![
            create(n),
            Write::PatchSession(id, taint),
            Write::Append(
                id,
                vec![said(1, "hello"), replied(2, "hi", "{}"), answered(3, "text")],
            ),
            Write::Checkpoint(
                id,
                Checkpoint {
                    turn: turn(1),
                    version: 1,
                    data: vec![1],
                },
            ),
            Write::CallFinished {
                session: id,
                turn: turn(1),
                result: Box::new(result(2, "text")),
            },
            Write::Source(id, full_text("s", "long")),
            Write::Events(id, vec![tool_started("a"), tool_started("b")]),
            Write::PendingWrites(PendingWrites {
                id: n.to_string(),
                since_ms: 1,
                label: Label::BOTTOM,
                places: vec![PendingPlace {
                    path: "/w".into(),
                    writable: false,
                }],
            }),
            Write::FileLabel(
                format!("/{n}"),
                FileLabel {
                    hash: [7; 32],
                    label: Label::BOTTOM,
                },
            ),
        ];
        commit(&store, writes).unwrap();
    }
    run(store.close());
    let connection = sqlite(&path);
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    assert_ne!(connection.execute(sql, []).unwrap(), 0, "{sql}");
    drop(connection);
    (folder, open(&path))
}

#[test]
fn a_label_that_cannot_be_read_is_restricted_and_untrusted() {
    let words = [
        "''",
        "'SECRET'",
        "'ＰＵＢＬＩＣ'",
        "'PUBLIC' || char(0)",
        "CAST(x'ff' AS TEXT)",
    ];
    for (column, table, row) in [
        ("classification", "entries", "session = 1 AND seq = 1"),
        ("integrity", "entries", "session = 1 AND seq = 1"),
        ("classification", "sources", "session = 1"),
        ("integrity", "sources", "session = 1"),
        ("classification", "events", "position = 1"),
        ("integrity", "events", "position = 1"),
        ("classification", "file_labels", "path = '/1'"),
        ("integrity", "file_labels", "path = '/1'"),
    ] {
        for word in words {
            let (_folder, store) = damaged(&format!("UPDATE {table} SET {column} = {word} WHERE {row}"));
            run(async {
                let label = match table {
                    "entries" => store.entries(session(1)).await.unwrap()[0].label,
                    "sources" => {
                        store
                            .source(session(1), &SourceId::new("s"))
                            .await
                            .unwrap()
                            .unwrap()
                            .label
                    }
                    "events" => store.events(EventFilter::default()).await.unwrap()[0].event.label,
                    _ => store.file_label("/1").await.unwrap().unwrap().label,
                };
                assert_eq!(label, Label::UNREADABLE, "{table}.{column} = {word}");
            });
        }
    }
}

#[test]
fn a_label_is_read_with_spaces_and_in_any_case() {
    let (_folder, store) = damaged("UPDATE sources SET classification = ' internal ' WHERE session = 1");
    let label = run(store.source(session(1), &SourceId::new("s")))
        .unwrap()
        .unwrap()
        .label;
    assert_eq!(label, Label::untrusted(Classification::Internal));
}

#[test]
fn what_may_be_writing_and_cannot_be_read_writes_everything_with_the_highest_label() {
    for change in ["places = 'x'", "places = '[1]'", "places = CAST(x'ff' AS TEXT)"] {
        let (_folder, store) = damaged(&format!("UPDATE pending_writes SET {change} WHERE id = '1'"));
        let pending = run(store.pending_writes()).unwrap();
        let everything = PendingPlace {
            path: "/".into(),
            writable: true,
        };
        assert_eq!(pending[0].label, Label::UNREADABLE, "{change}");
        assert_eq!(pending[0].places, [everything], "{change}");
    }
    let (_folder, store) = damaged("UPDATE pending_writes SET classification = 'x' WHERE id = '1'");
    let pending = run(store.pending_writes()).unwrap();
    assert_eq!(
        (pending[0].label, pending[0].places.len()),
        (Label::UNREADABLE, 1)
    );
}

#[test]
fn a_file_whose_hash_cannot_be_read_has_an_unreadable_label() {
    for hash in ["x''", "zeroblob(31)", "zeroblob(33)"] {
        let (_folder, store) = damaged(&format!("UPDATE file_labels SET hash = {hash} WHERE path = '/1'"));
        let expected = FileLabel {
            hash: [0; 32],
            label: Label::UNREADABLE,
        };
        assert_eq!(run(store.file_label("/1")).unwrap(), Some(expected));
    }
}

#[test]
fn a_taint_that_cannot_be_read_is_the_highest_and_stays_so() {
    let taints = [
        "''",
        "'{}'",
        r#"'{"label":{"classification":"SECRET","integrity":"TRUSTED"},"lineage":[]}'"#,
        r#"'{"label":{"classification":"PUBLIC"},"lineage":[]}'"#,
        "CAST(x'ff' AS TEXT)",
    ];
    for taint in taints {
        let (_folder, store) = damaged(&format!("UPDATE sessions SET taint = {taint} WHERE number = 1"));
        let now = || run(store.session(session(1))).unwrap().unwrap().session.taint;
        assert_eq!(now(), Taint::new(Label::UNREADABLE), "{taint}");
        // A write of something else does not make it readable, and nothing lower is accepted.
        commit(&store, vec![Write::Events(session(1), vec![tool_started("c")])]).unwrap();
        assert_eq!(now(), Taint::new(Label::UNREADABLE), "{taint}");
        let patch = |taint| {
            Write::PatchSession(
                session(1),
                SessionPatch {
                    taint: Some(taint),
                    ..Default::default()
                },
            )
        };
        let error = commit(&store, vec![patch(Taint::default())]).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::TaintWouldFall {
                    stored: Label::UNREADABLE,
                    ..
                }
            ),
            "{error}"
        );
        commit(&store, vec![patch(Taint::new(Label::UNREADABLE))]).unwrap();
    }
}

#[test]
fn a_clearance_that_cannot_be_read_is_the_lowest() {
    for clearance in ["''", "'SECRET'", "CAST(x'ff' AS TEXT)"] {
        let (_folder, store) = damaged(&format!(
            "UPDATE sessions SET clearance = {clearance} WHERE number = 1"
        ));
        let found = run(store.session(session(1))).unwrap().unwrap().session.clearance;
        assert_eq!(found, Classification::Public, "{clearance}");
        commit(&store, vec![Write::Events(session(1), vec![tool_started("c")])]).unwrap();
    }
}

#[test]
fn a_damaged_session_row_does_not_hide_the_others() {
    let cases = [
        "UPDATE sessions SET id = 'x' WHERE number = 1",
        "UPDATE sessions SET name = 'two words' WHERE number = 1",
        "UPDATE sessions SET state = 'busy' WHERE number = 1",
        "UPDATE sessions SET state = 'in_turn' WHERE number = 1",
        "UPDATE sessions SET turns = -1 WHERE number = 1",
        "UPDATE sessions SET entries = -1 WHERE number = 1",
        "UPDATE sessions SET model_policy = '' WHERE number = 1",
        "UPDATE sessions SET usage = '[]' WHERE number = 1",
        "UPDATE setups SET tools = '{' WHERE session = 1",
        "UPDATE setups SET workspace = 7 WHERE session = 1",
        "UPDATE setups SET system_prompt = CAST(x'ff' AS TEXT) WHERE session = 1",
        "DELETE FROM setups WHERE session = 1",
    ];
    for sql in cases {
        let (_folder, store) = damaged(sql);
        let list = run(store.sessions()).unwrap();
        let ids: Vec<_> = list
            .sessions
            .iter()
            .map(|summary| summary.record.session.id)
            .collect();
        assert_eq!(ids, [session(2)], "{sql}");
        let StoreError::DamagedRow {
            table: "sessions", ..
        } = &list.damaged[..][0]
        else {
            panic!("{sql}")
        };
        assert_eq!(list.damaged.len(), 1);
        if !sql.contains("SET id") {
            let error = run(store.session(session(1))).unwrap_err();
            assert!(error.to_string().contains(&session(1).to_string()), "{error}");
        }
        // The others can be written to.
        commit(&store, vec![Write::Append(session(2), vec![said(4, "on")])]).unwrap();
    }
}

#[test]
fn a_damaged_entry_is_told_and_other_sessions_are_read() {
    let cases = [
        ("UPDATE entries SET body = '{' WHERE session = 1 AND seq = 2", 2),
        ("UPDATE entries SET body = '{}' WHERE session = 1 AND seq = 1", 1),
        (
            "UPDATE entries SET body = CAST(x'ff' AS TEXT) WHERE session = 1 AND seq = 3",
            3,
        ),
        (
            "UPDATE entries SET role = 'system' WHERE session = 1 AND seq = 1",
            1,
        ),
        (
            "UPDATE entries SET role = 'user' WHERE session = 1 AND seq = 2",
            2,
        ),
        ("UPDATE entries SET turn = 'u_1' WHERE session = 1 AND seq = 3", 3),
        (
            "UPDATE entries SET body = replace(body, 'CONFIDENTIAL', 'SECRET') WHERE session = 1 AND seq = 3",
            3,
        ),
        ("DELETE FROM entries WHERE session = 1 AND seq = 1", 1),
        ("DELETE FROM entries WHERE session = 1 AND seq = 2", 2),
        ("DELETE FROM entries WHERE session = 1 AND seq = 3", 3),
        ("DELETE FROM entries WHERE session = 1", 1),
        ("UPDATE sessions SET entries = 4 WHERE number = 1", 4),
    ];
    for (sql, seq) in cases {
        let (_folder, store) = damaged(sql);
        let error = run(store.entries(session(1))).unwrap_err();
        let StoreError::DamagedRow {
            table: "entries",
            row,
            ..
        } = &error
        else {
            panic!("{sql}: {error}")
        };
        assert_eq!(*row, format!("entry {seq} of session {}", session(1)), "{sql}");
        assert_eq!(run(store.entries(session(2))).unwrap().len(), 3);
        assert_eq!(run(store.sessions()).unwrap().sessions.len(), 2);
    }
}

#[test]
fn other_damaged_rows_are_told_by_name() {
    type Read = fn(&SqliteStore) -> Option<StoreError>;
    let cases: [(&str, Read, &str); 5] = [
        (
            "UPDATE checkpoints SET turn = '' WHERE session = 1",
            |store| run(store.checkpoint(session(1))).err(),
            "the checkpoint of session s_00000000000000000000000000000001 in table `checkpoints`",
        ),
        (
            "UPDATE checkpoints SET version = -1 WHERE session = 1",
            |store| run(store.checkpoint(session(1))).err(),
            "in table `checkpoints`",
        ),
        (
            "UPDATE calls SET result = 'x' WHERE session = 1",
            |store| run(store.calls(session(1), turn(1))).err(),
            "call call_2_0 of session s_00000000000000000000000000000001 in table `calls`",
        ),
        (
            "UPDATE sources SET text = CAST(x'ff' AS TEXT) WHERE session = 1",
            |store| run(store.sources(session(1))).err(),
            "text s of session s_00000000000000000000000000000001 in table `sources`",
        ),
        (
            "UPDATE events SET kind = 'moon.rose', body = '{\"kind\":\"moon.rose\"}' WHERE position = 1",
            |store| {
                run(store.event(EventId {
                    session: session(1),
                    sequence: 1,
                }))
                .err()
            },
            "the event at position 1 in table `events`",
        ),
    ];
    for (sql, read, expected) in cases {
        let (_folder, store) = damaged(sql);
        let error = read(&store).unwrap();
        assert!(matches!(error, StoreError::DamagedRow { .. }), "{sql}: {error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn events_of_an_unknown_kind_are_left_out_and_do_not_use_up_the_limit() {
    for body in [r#"{"kind":"moon.rose","phase":"full"}"#, "{", ""] {
        let sql = format!("UPDATE events SET kind = 'moon.rose', body = '{body}' WHERE position IN (1, 3)");
        let (_folder, store) = damaged(&sql);
        let read = |after, limit| {
            let events = run(store.events(EventFilter {
                after,
                limit,
                ..EventFilter::default()
            }))
            .unwrap();
            events.iter().map(|stored| stored.position).collect::<Vec<_>>()
        };
        assert_eq!(read(0, None), [2, 4]);
        assert_eq!(read(0, Some(1)), [2]);
        assert_eq!(read(2, Some(1)), [4]);
        // Numbers go on after them.
        let committed = commit(&store, vec![Write::Events(session(1), vec![tool_started("c")])]).unwrap();
        assert_eq!(committed.events[0].sequence, 3);
    }
}

#[test]
fn an_event_with_a_field_of_a_newer_program_is_read() {
    let (_folder, store) =
        damaged(r#"UPDATE events SET body = json_set(body, '$.phase', 'full') WHERE position = 1"#);
    assert_eq!(run(store.events(EventFilter::default())).unwrap().len(), 4);
}

#[test]
fn damage_is_told_with_file_row_and_remedy() {
    let (folder, store) = damaged("UPDATE entries SET body = '{' WHERE session = 1 AND seq = 2");
    let error = run(store.entries(session(1))).unwrap_err();
    let folder = folder.path().canonicalize().unwrap();
    insta::assert_snapshot!(
        "a_damaged_row",
        error.to_string().replace(&*folder.to_string_lossy(), "FOLDER")
    );
}
