//! What each write does and refuses.

use crate::common::*;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_message::{ModelPolicy, Tier, Usage};
use tidegate_policy::{CallId, Classification, EventId, Integrity, Label, SourceId, Taint, ToolName};
use tidegate_store::*;

fn patch(patch: SessionPatch) -> Write {
    Write::PatchSession(session(1), patch)
}

#[test]
fn a_session_comes_back_as_it_was_created() {
    for (_folder, store) in stores() {
        let new = NewSession {
            taint: tainted(SECRET),
            ..new_session(2, Some("reports"))
        };
        commit(&store, vec![Write::CreateSession(Box::new(new.clone()))]).unwrap();
        let record = run(store.session(session(2))).unwrap().unwrap();
        assert_eq!(record.session, new);
        assert_eq!((record.state, record.turns), (SessionState::Idle, 0));
        assert_eq!(record.created_ms, record.changed_ms);
        assert_eq!(
            run(store.session_named(&name("reports"))).unwrap().unwrap(),
            record
        );
        assert_eq!(run(store.session(session(3))).unwrap(), None);
        assert_eq!(run(store.session_named(&name("Reports"))).unwrap(), None);
    }
}

#[cfg(unix)]
#[test]
fn a_workspace_whose_name_is_not_unicode_comes_back() {
    use std::os::unix::ffi::OsStringExt;
    for (_folder, store) in stores() {
        let workspace = PathBuf::from(std::ffi::OsString::from_vec(b"/home/\xff\xfe".to_vec()));
        let new = NewSession {
            workspace: workspace.clone(),
            ..new_session(2, None)
        };
        commit(&store, vec![Write::CreateSession(Box::new(new))]).unwrap();
        assert_eq!(
            run(store.session(session(2))).unwrap().unwrap().session.workspace,
            workspace
        );
    }
}

#[test]
fn a_name_and_an_id_are_taken_once() {
    for (_folder, store) in stores() {
        let named = |n| Write::CreateSession(Box::new(new_session(n, Some("work"))));
        commit(&store, vec![named(2)]).unwrap();
        let StoreError::NameTaken { by, .. } = refused(&store, vec![named(3)]) else {
            panic!()
        };
        assert_eq!(by, session(2));
        assert!(matches!(
            refused(&store, vec![create(1)]),
            StoreError::SessionExists { .. }
        ));
        assert!(matches!(
            refused(&store, vec![create(4), create(4)]),
            StoreError::SessionExists { .. }
        ));
        assert_eq!(
            run(store.session(session(4))).unwrap(),
            None,
            "the first of the two went back too"
        );
    }
}

#[test]
fn a_write_to_a_session_that_is_not_there_is_refused() {
    let writes = [
        Write::PatchSession(session(9), SessionPatch::default()),
        Write::Append(session(9), vec![said(1, "hi")]),
        Write::Checkpoint(
            session(9),
            Checkpoint {
                turn: turn(1),
                version: 1,
                data: vec![],
            },
        ),
        Write::CallStarted {
            session: session(9),
            turn: turn(1),
            call: "c".into(),
            tool: "t".into(),
        },
        Write::CallFinished {
            session: session(9),
            turn: turn(1),
            result: Box::new(result(1, "r")),
        },
        Write::Source(session(9), full_text("s", "t")),
        Write::Events(session(9), vec![tool_started("c")]),
        Write::EraseSession(session(9)),
    ];
    for (_folder, store) in stores() {
        for write in &writes {
            let error = refused(&store, vec![write.clone()]);
            assert!(
                matches!(error, StoreError::UnknownSession { session: id } if id == session(9)),
                "{write:?}"
            );
        }
    }
}

#[test]
fn what_is_not_there_reads_as_nothing() {
    for (_folder, store) in stores() {
        for id in [session(1), session(9)] {
            run(async {
                assert_eq!(store.entries(id).await.unwrap(), vec![]);
                assert_eq!(store.checkpoint(id).await.unwrap(), None);
                assert_eq!(store.calls(id, turn(1)).await.unwrap(), vec![]);
                assert_eq!(store.source(id, &SourceId::new("s")).await.unwrap(), None);
                assert_eq!(store.sources(id).await.unwrap(), vec![]);
                assert_eq!(
                    store
                        .event(EventId {
                            session: id,
                            sequence: 1
                        })
                        .await
                        .unwrap(),
                    None
                );
                assert_eq!(
                    store
                        .event(EventId {
                            session: id,
                            sequence: u64::MAX
                        })
                        .await
                        .unwrap(),
                    None
                );
                let filter = EventFilter {
                    session: Some(id),
                    ..EventFilter::default()
                };
                assert_eq!(store.events(filter).await.unwrap(), vec![]);
            });
        }
        assert_eq!(run(store.file_label("/nowhere")).unwrap(), None);
        assert_eq!(run(store.summary(session(9))).unwrap(), None);
    }
}

#[test]
fn a_taint_never_falls() {
    let (public, internal) = (Classification::Public, Classification::Internal);
    let (trusted, untrusted) = (Integrity::Trusted, Integrity::Untrusted);
    let stored = Label::new(internal, untrusted);
    let cases = [
        (Label::new(internal, untrusted), true),
        (Label::new(Classification::Restricted, untrusted), true),
        (Label::new(public, untrusted), false),
        (Label::new(internal, trusted), false),
        (Label::new(Classification::Restricted, trusted), false),
        (Label::BOTTOM, false),
    ];
    for (given, allowed) in cases {
        for (_folder, store) in stores() {
            let taint = |label| {
                patch(SessionPatch {
                    taint: Some(tainted(label)),
                    ..SessionPatch::default()
                })
            };
            commit(&store, vec![taint(stored)]).unwrap();
            let expected = match commit(&store, vec![taint(given)]) {
                Ok(_) => tainted(given),
                Err(StoreError::TaintWouldFall {
                    stored: before,
                    given: after,
                    ..
                }) => {
                    assert_eq!((before, after), (stored, given));
                    tainted(stored)
                }
                Err(other) => panic!("{other}"),
            };
            let now = run(store.session(session(1))).unwrap().unwrap().session.taint;
            assert_eq!((now.label() == given, now), (allowed, expected), "{given}");
        }
    }
}

#[test]
fn a_taint_cannot_fall_within_one_commit_either() {
    for (_folder, store) in stores() {
        let taint = |label| {
            patch(SessionPatch {
                taint: Some(Taint::new(label)),
                ..SessionPatch::default()
            })
        };
        let error = refused(&store, vec![taint(SECRET), taint(Label::BOTTOM)]);
        assert!(matches!(error, StoreError::TaintWouldFall { .. }));
        assert_eq!(
            run(store.session(session(1))).unwrap().unwrap().session.taint,
            Taint::default()
        );
    }
}

#[test]
fn a_patch_changes_what_it_names_and_nothing_else() {
    for (_folder, store) in stores() {
        let before = run(store.session(session(1))).unwrap().unwrap();
        commit(&store, vec![patch(SessionPatch::default())]).unwrap();
        let same = run(store.session(session(1))).unwrap().unwrap();
        assert_eq!(
            (&same.session, same.state, same.turns),
            (&before.session, before.state, before.turns)
        );

        let tools = vec![tool("read_file"), tool("search"), tool("write_file")];
        let change = SessionPatch {
            model_policy: Some(ModelPolicy::Tier(Tier::Pro)),
            clearance: Some(Classification::Public),
            tools: Some(tools.clone()),
            ..SessionPatch::default()
        };
        commit(&store, vec![patch(change)]).unwrap();
        let after = run(store.session(session(1))).unwrap().unwrap().session;
        let expected = NewSession {
            model_policy: ModelPolicy::Tier(Tier::Pro),
            clearance: Classification::Public,
            tools,
            ..before.session
        };
        assert_eq!(after, expected);
    }
}

#[test]
fn a_turn_counts_once_however_often_it_is_entered() {
    use SessionState::{Erased, Idle, InTurn};
    let steps = [
        (InTurn(turn(1)), 1),
        (InTurn(turn(1)), 1),
        (InTurn(turn(2)), 2),
        (Idle, 2),
        (InTurn(turn(3)), 3),
    ];
    for (_folder, store) in stores() {
        let state = |state| {
            patch(SessionPatch {
                state: Some(state),
                ..SessionPatch::default()
            })
        };
        for (step, turns) in steps {
            commit(&store, vec![state(step)]).unwrap();
            let record = run(store.session(session(1))).unwrap().unwrap();
            assert_eq!((record.state, record.turns), (step, turns));
        }
        assert!(matches!(
            refused(&store, vec![state(Erased)]),
            StoreError::ErasedByPatch { .. }
        ));
    }
}

#[test]
fn entries_follow_one_another_from_one() {
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
        for (_folder, store) in stores() {
            let entries: Vec<_> = numbers.iter().map(|seq| said(*seq, "hi")).collect();
            let kept = match commit(&store, vec![Write::Append(session(1), entries.clone())]) {
                Ok(_) => entries,
                Err(StoreError::OutOfOrder { expected, given, .. }) => {
                    assert_eq!(Some((expected, given)), error);
                    vec![]
                }
                Err(other) => panic!("{other}"),
            };
            assert_eq!(run(store.entries(session(1))).unwrap(), kept, "{numbers:?}");
        }
    }
    let (_folder, store) = stores().remove(0);
    let last = said(u64::MAX, "hi");
    assert!(matches!(
        refused(&store, vec![Write::Append(session(1), vec![last])]),
        StoreError::OutOfOrder { .. }
    ));
}

#[test]
fn a_commit_happens_whole_or_not_at_all() {
    for (_folder, store) in stores() {
        let writes = vec![
            create(2),
            Write::Append(session(1), vec![said(1, "kept?")]),
            Write::Source(session(1), full_text("s", "kept?")),
            Write::Events(session(1), vec![tool_started("c")]),
            Write::FileLabel(
                "/f".into(),
                FileLabel {
                    hash: [7; 32],
                    label: SECRET,
                },
            ),
            Write::Append(session(1), vec![said(1, "again")]),
        ];
        assert!(matches!(refused(&store, writes), StoreError::OutOfOrder { .. }));
        run(async {
            assert_eq!(store.session(session(2)).await.unwrap(), None);
            assert_eq!(store.entries(session(1)).await.unwrap(), vec![]);
            assert_eq!(store.sources(session(1)).await.unwrap(), vec![]);
            assert_eq!(store.events(EventFilter::default()).await.unwrap(), vec![]);
            assert_eq!(store.file_label("/f").await.unwrap(), None);
            // The number of the event that was taken back is given again.
            let committed = store
                .commit(vec![Write::Events(session(1), vec![tool_started("c")])])
                .await
                .unwrap();
            assert_eq!(committed.events[0].sequence, 1);
        });
    }
}

#[test]
fn summaries_count_and_come_in_the_order_of_change() {
    for (_folder, store) in stores() {
        commit(&store, vec![create(3), create(2)]).unwrap();
        // Entered last, whatever the clock's resolution: times equal are told apart by id.
        let entries = vec![
            said(1, " How\nare you? "),
            replied(2, "x", "{}"),
            answered(3, "y"),
            replied(4, "x", "{}"),
        ];
        commit(
            &store,
            vec![
                Write::Append(session(3), entries),
                Write::Append(session(1), vec![said(1, "")]),
            ],
        )
        .unwrap();
        let list = run(store.sessions()).unwrap();
        assert!(list.damaged.is_empty());
        let keys: Vec<_> = list
            .sessions
            .iter()
            .map(|summary| (-summary.record.changed_ms, summary.record.session.id))
            .collect();
        assert!(keys.is_sorted() && keys.len() == 3, "{keys:?}");
        let summary = run(store.summary(session(3))).unwrap().unwrap();
        assert!(list.sessions.contains(&summary));
        assert_eq!((summary.entries, summary.title.as_str()), (4, "How are you?"));
        assert_eq!(
            summary.usage,
            Usage {
                uncached: 200,
                cache_read: 40,
                cache_write: 6,
                output: 8
            }
        );
        let empty = run(store.summary(session(2))).unwrap().unwrap();
        assert_eq!(
            (empty.entries, empty.title.as_str(), empty.usage),
            (0, "", Usage::default())
        );
    }
}

#[test]
fn a_title_is_of_the_first_message_a_person_wrote() {
    use tidegate_message::{Body, Entry, EntrySeq, UserMessage};
    for (_folder, store) in stores() {
        let notice = Body::User(UserMessage::program("limits"));
        let notice = Arc::new(Entry::new(EntrySeq(1), turn(1), Label::BOTTOM, notice));
        commit(
            &store,
            vec![Write::Append(
                session(1),
                vec![notice, said(2, "first"), said(3, "second")],
            )],
        )
        .unwrap();
        assert_eq!(run(store.summary(session(1))).unwrap().unwrap().title, "first");
    }
}

#[test]
fn an_empty_commit_and_a_name_nobody_knows_are_fine() {
    let (_folder, path) = place();
    let store = open(&path);
    let before = store.transactions();
    assert_eq!(commit(&store, vec![]).unwrap(), Committed::default());
    assert_eq!(store.transactions(), before);
    for (_folder, store) in stores() {
        assert_eq!(commit(&store, vec![]).unwrap(), Committed::default());
        let write = Write::CallStarted {
            session: session(1),
            turn: turn(1),
            call: CallId::new(""),
            tool: ToolName::new("no such tool\u{0}"),
        };
        commit(&store, vec![write]).unwrap();
        assert_eq!(
            run(store.calls(session(1), turn(1))).unwrap()[0].tool.as_str(),
            "no such tool\u{0}"
        );
    }
}

#[test]
fn a_closed_store_says_so() {
    let (_folder, path) = place();
    let store = open(&path);
    let clone = store.clone();
    run(async {
        // What was queued before is done.
        let (committed, ()) = futures::future::join(store.commit(vec![create(2)]), clone.close()).await;
        committed.unwrap();
        clone.close().await;
        assert!(matches!(
            store.commit(vec![create(3)]).await,
            Err(StoreError::Closed { .. })
        ));
        assert!(matches!(
            store.session(session(1)).await,
            Err(StoreError::Closed { .. })
        ));
    });
}
