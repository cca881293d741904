//! Requests for approval, from being asked to being used.

use crate::common::*;
use futures::future::join_all;
use std::time::Duration;
use tidegate_policy::{ApprovalId, CallId, Classification};
use tidegate_store::ApprovalState::{Expired, Granted, Refused, Used, Waiting};
use tidegate_store::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn id(n: u128) -> ApprovalId {
    ApprovalId::from_bits(n)
}

fn new(n: u128, call: &str, digest: u8) -> NewApproval {
    NewApproval {
        id: id(n),
        session: session(1),
        turn: turn(1),
        call: CallId::new(call),
        digest: [digest; 32],
        label: SECRET,
        shown: format!(r#"{{"tool":"write_file","number":{n}}}"#),
        valid_for: HOUR,
    }
}

/// Request `n` of session 1.
pub(crate) fn ask(n: u128, call: &str, digest: u8) -> Write {
    Write::AskApproval(Box::new(new(n, call, digest)))
}

fn asks_briefly(n: u128) -> Write {
    Write::AskApproval(Box::new(NewApproval {
        valid_for: Duration::ZERO,
        ..new(n, &format!("call_2_{n}"), 7)
    }))
}

fn decide(n: u128, grant: bool) -> Write {
    Write::DecideApproval {
        approval: id(n),
        grant,
    }
}

fn use_up(n: u128) -> Write {
    Write::UseApproval { approval: id(n) }
}

fn give_up(n: u128) -> Write {
    Write::ExpireApproval { approval: id(n) }
}

fn state(store: &dyn Store, n: u128) -> ApprovalState {
    run(store.approval(id(n))).unwrap().unwrap().state
}

#[test]
fn a_request_is_read_back_as_it_was_asked() {
    for (_folder, store) in stores() {
        commit(&store, vec![ask(1, "call_2_0", 7)]).unwrap();
        let found = run(store.approval(id(1))).unwrap().unwrap();
        let expected = new(1, "call_2_0", 7);
        assert_eq!(
            found,
            ApprovalRecord {
                id: expected.id,
                session: expected.session,
                turn: expected.turn,
                call: expected.call,
                digest: expected.digest,
                label: expected.label,
                shown: expected.shown,
                state: Waiting,
                created_ms: found.created_ms,
                decided_ms: None,
                expires_ms: found.created_ms + 3_600_000,
            }
        );
        assert_eq!(run(store.approval(id(9))).unwrap(), None);
        let error = refused(
            &store,
            vec![Write::AskApproval(Box::new(NewApproval {
                session: session(9),
                ..new(2, "call_2_1", 7)
            }))],
        );
        assert!(matches!(error, StoreError::UnknownSession { .. }));
    }
}

#[test]
fn which_state_leads_where() {
    type Step = fn(u128) -> Write;
    let grant: Step = |n| decide(n, true);
    let refuse: Step = |n| decide(n, false);
    let to: [(&str, Vec<Step>, ApprovalState); 6] = [
        ("waiting", vec![], Waiting),
        ("granted", vec![grant], Granted),
        ("refused", vec![refuse], Refused),
        ("used", vec![grant, use_up], Used),
        ("given up", vec![give_up], Expired),
        ("granted and given up", vec![grant, give_up], Expired),
    ];
    let steps: [(&str, Step); 4] = [
        ("grant", grant),
        ("refuse", refuse),
        ("use", use_up),
        ("give up", give_up),
    ];
    for (_folder, store) in stores() {
        let mut n = 0;
        for (before, path, from) in &to {
            for (what, step) in &steps {
                n += 1;
                commit(&store, vec![ask(n, &format!("call_2_{n}"), 7)]).unwrap();
                for write in path {
                    commit(&store, vec![write(n)]).unwrap();
                }
                let decided = run(store.approval(id(n))).unwrap().unwrap().decided_ms;
                let expected = match (from, *what) {
                    (Waiting, "grant") => Ok(Granted),
                    (Waiting, "refuse") => Ok(Refused),
                    (Granted, "use") => Ok(Used),
                    (Waiting | Granted | Expired, "give up") => Ok(Expired),
                    // What is settled stays, and that is no fault.
                    (_, "give up") => Ok(*from),
                    _ => Err(*from),
                };
                match (commit(&store, vec![step(n)]), expected) {
                    (Ok(_), Ok(after)) => assert_eq!(state(&store, n), after, "{before} {what}"),
                    (
                        Err(StoreError::ApprovalSettled {
                            approval,
                            state: found,
                            ..
                        }),
                        Err(stays),
                    ) => {
                        assert_eq!((approval, found), (id(n), stays), "{before} {what}");
                        assert_eq!(state(&store, n), stays, "{before} {what}");
                    }
                    (result, expected) => panic!("{before} {what}: {result:?}, expected {expected:?}"),
                }
                let now = run(store.approval(id(n))).unwrap().unwrap().decided_ms;
                assert!(
                    decided.is_none() || now == decided,
                    "the first answer's time stays"
                );
            }
        }
    }
}

#[test]
fn what_is_said_of_a_request_that_is_settled_or_unknown() {
    for (_folder, store) in stores() {
        commit(&store, vec![ask(1, "call_2_0", 7), decide(1, false)]).unwrap();
        assert_eq!(
            refused(&store, vec![decide(1, true)]).to_string(),
            "approval a_00000000000000000000000000000001 is refused: it cannot be granted"
        );
        assert_eq!(
            refused(&store, vec![use_up(1)]).to_string(),
            "approval a_00000000000000000000000000000001 is refused: it cannot be used"
        );
        for write in [decide(9, true), use_up(9), give_up(9)] {
            assert_eq!(
                refused(&store, vec![write]).to_string(),
                "there is no approval a_00000000000000000000000000000009; `tidegate approvals list` shows those \
                 there are"
            );
        }
    }
}

#[test]
fn what_is_too_old_can_be_neither_granted_nor_used() {
    for (_folder, store) in stores() {
        commit(&store, vec![asks_briefly(1)]).unwrap();
        for write in [decide(1, true), decide(1, false), use_up(1)] {
            assert!(matches!(
                refused(&store, vec![write]),
                StoreError::ApprovalSettled { state: Expired, .. }
            ));
        }
        assert_eq!(state(&store, 1), Expired);
        commit(&store, vec![give_up(1)]).unwrap();
        assert_eq!(state(&store, 1), Expired);
    }
}

#[test]
fn identical_requests_are_one() {
    for (_folder, store) in stores() {
        commit(&store, vec![ask(1, "call_2_0", 7), ask(2, "call_2_0", 7)]).unwrap();
        commit(&store, vec![ask(3, "call_2_0", 7)]).unwrap();
        // Another call, or the same resolved to something else, is another request.
        commit(&store, vec![ask(4, "call_2_1", 7), ask(5, "call_2_0", 8)]).unwrap();
        let ids = |filter| {
            let found = run(store.approvals(filter)).unwrap();
            found.iter().map(|record| record.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(ApprovalFilter::default()), [id(1), id(4), id(5)]);

        // Asked again after it was settled, it stays settled.
        for (n, settle) in [(1, decide(1, false)), (4, decide(4, true))] {
            commit(&store, vec![settle]).unwrap();
            let before = state(&store, n);
            let call = if n == 1 { "call_2_0" } else { "call_2_1" };
            commit(&store, vec![ask(10 + n, call, 7)]).unwrap();
            assert_eq!(state(&store, n), before);
        }
        let error = refused(&store, vec![ask(1, "call_9_9", 7)]);
        assert!(matches!(error, StoreError::ApprovalExists { approval } if approval == id(1)));

        let filter = |session, state| ApprovalFilter { session, state };
        commit(&store, vec![create(2)]).unwrap();
        assert_eq!(ids(filter(Some(session(2)), None)), []);
        assert_eq!(ids(filter(Some(session(1)), Some(Waiting))), [id(5)]);
        assert_eq!(ids(filter(None, Some(Granted))), [id(4)]);
        assert_eq!(ids(filter(None, Some(Refused))), [id(1)]);
    }
}

#[test]
fn of_sixteen_that_use_a_grant_at_once_one_does() {
    let (_folder, path) = place();
    // Different handles, as different processes have them.
    let handles: Vec<SqliteStore> = (0..4).map(|_| open(&path)).collect();
    commit(&handles[0], vec![create(1)]).unwrap();
    for n in 1..=20 {
        commit(
            &handles[0],
            vec![ask(n, &format!("call_2_{n}"), 7), decide(n, true)],
        )
        .unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(4)
            .build()
            .unwrap();
        let used = runtime.block_on(async {
            let users = (0..16_usize).map(|user| {
                let store = handles[user % handles.len()].clone();
                tokio::spawn(async move {
                    let started = Write::CallStarted {
                        session: session(1),
                        turn: turn(1),
                        call: CallId::new(format!("call_2_{n}")),
                        tool: "write_file".into(),
                    };
                    store.commit(vec![use_up(n), started]).await
                })
            });
            join_all(users).await
        });
        let (good, bad): (Vec<_>, Vec<_>) = used.into_iter().map(Result::unwrap).partition(Result::is_ok);
        assert_eq!(good.len(), 1);
        assert!(
            bad.iter()
                .all(|error| matches!(error, Err(StoreError::ApprovalSettled { state: Used, .. }))),
            "{bad:?}"
        );
    }
    let journal = run(handles[0].calls(session(1), turn(1))).unwrap();
    assert_eq!(journal.len(), 20);
    assert!(journal.iter().all(|row| row.attempts == 1), "{journal:?}");
}

#[test]
fn a_commit_that_cannot_use_its_grant_does_nothing_else_either() {
    for (_folder, store) in stores() {
        commit(&store, vec![ask(1, "call_2_0", 7)]).unwrap();
        let started = Write::CallStarted {
            session: session(1),
            turn: turn(1),
            call: CallId::new("call_2_0"),
            tool: "write_file".into(),
        };
        refused(&store, vec![started, use_up(1)]);
        assert_eq!(run(store.calls(session(1), turn(1))).unwrap(), vec![]);
    }
}

#[test]
fn erasing_takes_what_was_shown_and_every_way_to_go_on() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(1)]).unwrap();
    for n in 1..=4 {
        let secret = NewApproval {
            shown: format!("XYZZY {n}"),
            digest: [n as u8; 32],
            ..new(n, "call_2_0", 0)
        };
        commit(&store, vec![Write::AskApproval(Box::new(secret))]).unwrap();
    }
    commit(
        &store,
        vec![decide(2, true), decide(3, false), decide(4, true), use_up(4)],
    )
    .unwrap();
    commit(&store, vec![Write::EraseSession(session(1))]).unwrap();
    let found = run(store.approvals(ApprovalFilter::default())).unwrap();
    let states: Vec<_> = found.iter().map(|record| record.state).collect();
    assert_eq!(states, [Expired, Expired, Refused, Used]);
    for (n, record) in (1_u8..).zip(&found) {
        assert_eq!(record.shown, "");
        assert_ne!(record.digest, [n; 32], "a hash of content is content");
    }
    for write in [decide(1, true), use_up(2), give_up(1)] {
        assert!(matches!(refused(&store, vec![write]), StoreError::Erased { .. }));
    }
    run(store.close());
    let bytes = std::fs::read(&path).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("XYZZY"));
}

#[test]
fn a_damaged_request_is_no_grant() {
    for (damage, expected) in [
        ("digest = x'00'", Some(Expired)),
        ("digest = 'text'", None),
        ("state = 'allowed'", None),
        ("turn = 'x'", None),
        ("classification = 'SECRET'", Some(Granted)),
    ] {
        let (_folder, path) = place();
        let store = open(&path);
        commit(&store, vec![create(1), ask(1, "call_2_0", 7), decide(1, true)]).unwrap();
        let damaged = sqlite(&path).execute_batch(&format!("UPDATE approvals SET {damage}"));
        if damaged.is_err() {
            // The table itself does not take it.
            continue;
        }
        match (run(store.approval(id(1))), expected) {
            (Ok(Some(record)), Some(state)) => assert_eq!(record.state, state, "{damage}"),
            (
                Err(StoreError::DamagedRow {
                    table: "approvals", ..
                }),
                None,
            ) => {}
            (found, _) => panic!("{damage}: {found:?}"),
        }
    }
}

#[test]
fn what_the_owner_let_a_session_rise_to_only_rises() {
    use Classification::{Confidential, Internal, Public, Restricted};
    for (_folder, store) in stores() {
        let now = || run(store.session(session(1))).unwrap().unwrap().acknowledged;
        assert_eq!(now(), Public);
        for (given, expected) in [
            (Some(Confidential), Confidential),
            (Some(Internal), Confidential),
            (None, Confidential),
            (Some(Public), Confidential),
            (Some(Restricted), Restricted),
        ] {
            let patch = SessionPatch {
                acknowledged: given,
                ..SessionPatch::default()
            };
            commit(&store, vec![Write::PatchSession(session(1), patch)]).unwrap();
            assert_eq!(now(), expected, "{given:?}");
        }
    }
}
