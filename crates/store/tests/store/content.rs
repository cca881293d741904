//! Texts, checkpoints, journal, events and labels: how they are kept and found.

use crate::common::*;
use std::sync::Arc;
use tidegate_message::EventKind;
use tidegate_policy::{CallId, EventId, Label};
use tidegate_store::*;

#[test]
fn every_text_comes_back_byte_for_byte() {
    let texts = [
        "",
        "plain",
        "nul \u{0} in the middle\u{0}",
        "\u{feff}byte order mark, \u{fffd}, \u{ffff}, \u{10ffff}, \u{7f}\u{85}\u{2028}",
        "你好🦀 e\u{301} \u{202e}right to left",
        r#"\ud800 "quoted" \\"#,
        "x'); DROP TABLE entries; --",
    ];
    // Spaces, an order of keys, doubled keys, numbers no float holds, a lone surrogate: all as it was sent.
    let verbatim = [
        r#"{ "b" : 1,"a":2 , "a":3}"#,
        r#"{"n":12345678901234567890123456789,"f":1.10e+5,"z":-0.0}"#,
        r#"{"s":"\ud800 \u0000 \/ \u00e9"}"#,
        "{\"thoughtSignature\":\"q\u{2028}==\",\n\t\"x\":[ ]}",
    ];
    for (_folder, store) in stores() {
        let mut entries = Vec::new();
        for text in texts {
            let seq = entries.len() as u64 + 1;
            entries.extend([
                said(seq, text),
                replied(seq + 1, text, verbatim[0]),
                answered(seq + 2, text),
            ]);
        }
        for json in verbatim {
            entries.push(replied(entries.len() as u64 + 1, "t", json));
        }
        let sources: Vec<_> = texts
            .iter()
            .enumerate()
            .map(|(n, text)| full_text(&format!("full {n}\u{0}"), text))
            .collect();
        let mut writes = vec![Write::Append(session(1), entries.clone())];
        writes.extend(
            sources
                .iter()
                .map(|source| Write::Source(session(1), source.clone())),
        );
        commit(&store, writes).unwrap();
        // Equality of entries compares the verbatim bytes.
        assert_eq!(run(store.entries(session(1))).unwrap(), entries);
        assert_eq!(run(store.sources(session(1))).unwrap(), sources);
        for source in sources {
            assert_eq!(run(store.source(session(1), &source.id)).unwrap(), Some(source));
        }
    }
}

#[test]
fn a_full_text_does_not_change() {
    for (_folder, store) in stores() {
        let text = |text: &str| vec![Write::Source(session(1), full_text("s", text))];
        commit(&store, text("one")).unwrap();
        commit(&store, text("one")).unwrap();
        assert!(matches!(
            refused(&store, text("two")),
            StoreError::SourceTaken { .. }
        ));
        let relabelled = SourceText {
            label: Label::BOTTOM,
            ..full_text("s", "one")
        };
        assert!(matches!(
            refused(&store, vec![Write::Source(session(1), relabelled)]),
            StoreError::SourceTaken { .. }
        ));
        assert_eq!(
            run(store.sources(session(1))).unwrap(),
            vec![full_text("s", "one")]
        );
        // Ids are unique in their session alone.
        commit(
            &store,
            vec![create(2), Write::Source(session(2), full_text("s", "two"))],
        )
        .unwrap();
        assert_eq!(
            run(store.sources(session(2))).unwrap(),
            vec![full_text("s", "two")]
        );
    }
}

#[test]
fn a_checkpoint_replaces_the_one_before() {
    for (_folder, store) in stores() {
        for (n, data) in [(1, vec![]), (2, vec![0, 255, 7]), (u32::MAX, vec![1; 100_000])] {
            let checkpoint = Checkpoint {
                turn: turn(u128::from(n)),
                version: n,
                data,
            };
            commit(&store, vec![Write::Checkpoint(session(1), checkpoint.clone())]).unwrap();
            assert_eq!(run(store.checkpoint(session(1))).unwrap(), Some(checkpoint));
        }
    }
}

#[test]
fn the_journal_tells_where_each_call_is() {
    let start = |seq: u64, in_turn| Write::CallStarted {
        session: session(1),
        turn: turn(in_turn),
        call: call(seq).id,
        tool: call(seq).name,
    };
    let finish = |seq: u64, in_turn, text: &str| Write::CallFinished {
        session: session(1),
        turn: turn(in_turn),
        result: Box::new(result(seq, text)),
    };
    let row = |seq: u64, attempts, text: Option<&str>| CallRecord {
        call: call(seq).id,
        tool: call(seq).name,
        attempts,
        state: text.map_or(CallState::Started, |text| {
            CallState::Finished(Box::new(result(seq, text)))
        }),
    };
    for (_folder, store) in stores() {
        let calls = |in_turn| run(store.calls(session(1), turn(in_turn))).unwrap();
        commit(&store, vec![start(2, 1), start(1, 1)]).unwrap();
        assert_eq!(calls(1), vec![row(2, 1, None), row(1, 1, None)]);
        commit(&store, vec![start(2, 1), finish(1, 1, "one")]).unwrap();
        assert_eq!(calls(1), vec![row(2, 2, None), row(1, 1, Some("one"))]);
        // Refused by the gate, so never started; and one that a later turn closes.
        commit(
            &store,
            vec![finish(3, 1, "no"), finish(2, 2, "unknown"), start(4, 2)],
        )
        .unwrap();
        assert_eq!(
            calls(1),
            vec![
                row(2, 2, Some("unknown")),
                row(1, 1, Some("one")),
                row(3, 0, Some("no"))
            ]
        );
        assert_eq!(calls(2), vec![row(4, 1, None)]);
        commit(&store, vec![finish(1, 1, "other")]).unwrap();
        assert_eq!(calls(1)[1], row(1, 1, Some("other")));
        let StoreError::CallFinished { call: id, .. } = refused(&store, vec![start(1, 1)]) else {
            panic!()
        };
        assert_eq!(id, CallId::new("call_1_0"));
    }
}

#[test]
fn a_commit_gives_back_the_events_as_they_are_read_later() {
    for (_folder, store) in stores() {
        commit(&store, vec![create(2)]).unwrap();
        let writes = vec![
            Write::Events(
                session(1),
                vec![happened(EventKind::TurnStarted), tool_started("a")],
            ),
            Write::Events(session(2), vec![tool_started("b")]),
            Write::Events(session(1), vec![]),
            Write::Events(
                session(1),
                vec![NewEvent {
                    turn: None,
                    ..tool_started("c")
                }],
            ),
        ];
        let committed = commit(&store, writes).unwrap().events;
        let numbers: Vec<_> = committed
            .iter()
            .map(|event| (event.session, event.sequence))
            .collect();
        assert_eq!(
            numbers,
            [(session(1), 1), (session(1), 2), (session(2), 1), (session(1), 3)]
        );
        let read = run(store.events(EventFilter::default())).unwrap();
        assert!(read.is_sorted_by(|a, b| a.position < b.position));
        let events: Vec<_> = read.iter().map(|stored| Arc::new(stored.event.clone())).collect();
        assert_eq!(events, committed);
        let id = EventId {
            session: session(1),
            sequence: 3,
        };
        assert_eq!(run(store.event(id)).unwrap().as_ref(), Some(&read[3]));
    }
}

#[test]
fn events_are_found_by_session_kind_position_and_number() {
    let finished = EventKind::TaintRaised {
        from: Label::BOTTOM,
        to: SECRET,
        origin: tidegate_policy::Origin::Owner,
    };
    for (_folder, store) in stores() {
        let of = |n, events| Write::Events(session(n), events);
        let mixed = vec![
            happened(EventKind::TurnStarted),
            tool_started("a"),
            happened(finished.clone()),
        ];
        commit(
            &store,
            vec![
                create(2),
                of(1, mixed.clone()),
                of(2, mixed),
                of(1, vec![tool_started("b")]),
            ],
        )
        .unwrap();
        let all = run(store.events(EventFilter::default())).unwrap();
        let position = |index: usize| all[index].position;
        let kind = |kind: &str| EventFilter {
            kind: Some(kind.into()),
            ..EventFilter::default()
        };
        let cases = [
            (EventFilter::default(), vec![0, 1, 2, 3, 4, 5, 6]),
            (
                EventFilter {
                    session: Some(session(1)),
                    ..EventFilter::default()
                },
                vec![0, 1, 2, 6],
            ),
            (
                EventFilter {
                    session: Some(session(1)),
                    after: position(2),
                    ..EventFilter::default()
                },
                vec![6],
            ),
            (kind("tool"), vec![1, 4, 6]),
            (kind("tool.started"), vec![1, 4, 6]),
            (kind("tool.finished"), vec![]),
            (kind("too"), vec![]),
            (kind("toolx"), vec![]),
            (kind("t%"), vec![]),
            (kind(""), vec![]),
            (kind("turn"), vec![0, 3]),
            (
                EventFilter {
                    after: position(4),
                    ..EventFilter::default()
                },
                vec![5, 6],
            ),
            (
                EventFilter {
                    after: position(6),
                    ..EventFilter::default()
                },
                vec![],
            ),
            (
                EventFilter {
                    after: u64::MAX,
                    ..EventFilter::default()
                },
                vec![],
            ),
            (
                EventFilter {
                    limit: Some(0),
                    ..EventFilter::default()
                },
                vec![],
            ),
            (
                EventFilter {
                    limit: Some(2),
                    after: position(0),
                    ..kind("tool")
                },
                vec![1, 4],
            ),
            (
                EventFilter {
                    session: Some(session(2)),
                    limit: Some(9),
                    ..kind("taint.raised")
                },
                vec![5],
            ),
        ];
        for (filter, expected) in cases {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|index: usize| all[index].clone())
                .collect();
            assert_eq!(run(store.events(filter.clone())).unwrap(), expected, "{filter:?}");
        }
    }
}

#[test]
fn a_file_label_replaces_the_one_before() {
    for (_folder, store) in stores() {
        for label in [
            FileLabel {
                hash: [0; 32],
                label: SECRET,
            },
            FileLabel {
                hash: [255; 32],
                label: Label::BOTTOM,
            },
        ] {
            commit(&store, vec![Write::FileLabel("/ws/a.md".into(), label)]).unwrap();
            assert_eq!(run(store.file_label("/ws/a.md")).unwrap(), Some(label));
        }
        assert_eq!(run(store.file_label("/ws/A.md")).unwrap(), None);
    }
}
