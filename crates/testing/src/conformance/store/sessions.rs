//! Rows of sessions.

use super::made::*;
use super::{Make, commit, read, refused};
use tidegate_message::{ModelPolicy, Tier};
use tidegate_policy::{Classification, EventId, Integrity, Label, SourceId, Taint};
use tidegate_store::{EventFilter, NewSession, SessionPatch, SessionState, Store, StoreError, Write};

pub(super) async fn come_back_as_they_were_created(make: Make<'_>) {
    let store = make().await;
    let new = NewSession {
        taint: tainted(SECRET),
        ..new_session(1, Some("reports"))
    };
    commit(
        &*store,
        vec![Write::CreateSession(Box::new(new.clone())), create(2)],
    )
    .await;
    let record = read(store.session(session(1)).await);
    let Some(record) = record else {
        panic!("a session that was created is there");
    };
    assert_eq!(record.session, new, "a session comes back as it was created");
    assert_eq!(
        (record.state, record.turns),
        (SessionState::Idle, 0),
        "a new session has had no turn"
    );
    assert_eq!(
        record.acknowledged,
        Classification::Public,
        "nothing was acknowledged yet"
    );
    let named = read(store.session_named(&name("reports")).await);
    assert_eq!(named.as_ref(), Some(&record), "a session is found by its name");
    assert_eq!(
        read(store.session_named(&name("Reports")).await),
        None,
        "names are case-sensitive"
    );

    commit(
        &*store,
        vec![Write::Append(
            session(1),
            vec![said(1, " How\nare you? "), replied(2), answered(3)],
        )],
    )
    .await;
    let Some(summary) = read(store.summary(session(1)).await) else {
        panic!("a session has a summary");
    };
    assert_eq!(
        (summary.entries, summary.usage),
        (3, USAGE),
        "a summary counts entries and usage"
    );
    assert_eq!(
        summary.title, "How are you?",
        "the title is the first words of a person, on one line"
    );
    let list = read(store.sessions().await);
    assert!(
        list.damaged.is_empty() && list.sessions.len() == 2,
        "all sessions are listed"
    );
    assert!(list.sessions.contains(&summary), "the list holds the summaries");
}

pub(super) async fn names_and_ids_are_taken_once(make: Make<'_>) {
    let store = make().await;
    let named = |n| Write::CreateSession(Box::new(new_session(n, Some("work"))));
    commit(&*store, vec![named(1)]).await;
    match refused(&*store, vec![named(2)]).await {
        StoreError::NameTaken { by, .. } => assert_eq!(by, session(1), "the error says whose name it is"),
        other => panic!("a name that is taken is NameTaken, not {other:?}"),
    }
    match refused(&*store, vec![create(3), create(3)]).await {
        StoreError::SessionExists { .. } => {}
        other => panic!("an id that is taken is SessionExists, not {other:?}"),
    }
    assert_eq!(
        read(store.session(session(3)).await),
        None,
        "the first of the two went back too"
    );
}

pub(super) async fn what_is_not_there_reads_as_nothing(make: Make<'_>) {
    let store = make().await;
    commit(&*store, vec![create(1)]).await;
    for id in [session(1), session(9)] {
        assert!(read(store.entries(id).await).is_empty(), "no entries");
        assert_eq!(read(store.checkpoint(id).await), None, "no checkpoint");
        assert!(read(store.calls(id, turn(1)).await).is_empty(), "no calls");
        assert_eq!(read(store.source(id, &SourceId::new("s")).await), None, "no text");
        assert!(read(store.sources(id).await).is_empty(), "no texts");
        let filter = EventFilter {
            session: Some(id),
            ..EventFilter::default()
        };
        assert!(read(store.events(filter).await).is_empty(), "no events");
        for sequence in [0, 1, u64::MAX] {
            let event = EventId {
                session: id,
                sequence,
            };
            assert_eq!(read(store.event(event).await), None, "no event");
        }
    }
    assert_eq!(read(store.session(session(9)).await), None, "no session");
    assert_eq!(read(store.summary(session(9)).await), None, "no summary");
    assert_eq!(read(store.file_label("/nowhere").await), None, "no label");
    assert!(
        commit(&*store, Vec::new()).await.events.is_empty(),
        "an empty commit is fine"
    );
}

pub(super) async fn writes_to_what_is_not_there_are_refused(make: Make<'_>) {
    let store = make().await;
    let id = session(9);
    for write in [
        Write::PatchSession(id, SessionPatch::default()),
        Write::Append(id, vec![said(1, "hi")]),
        Write::Checkpoint(id, checkpoint(1)),
        started(2),
        finished(2, "42"),
        Write::Source(id, text("s", "t")),
        Write::Events(id, vec![happened("c")]),
        Write::EraseSession(id),
    ] {
        let shown = format!("{write:?}");
        match refused(&*store, vec![write]).await {
            StoreError::UnknownSession { .. } => {}
            other => panic!("{shown} to no session is UnknownSession, not {other:?}"),
        }
    }
}

fn patch(patch: SessionPatch) -> Write {
    Write::PatchSession(session(1), patch)
}

async fn record(store: &dyn Store) -> tidegate_store::SessionRecord {
    match read(store.session(session(1)).await) {
        Some(record) => record,
        None => panic!("session 1 is there"),
    }
}

pub(super) async fn patches_change_what_they_name(make: Make<'_>) {
    let store = make().await;
    commit(&*store, vec![create(1)]).await;
    let before = record(&*store).await;
    commit(&*store, vec![patch(SessionPatch::default())]).await;
    assert_eq!(
        record(&*store).await.session,
        before.session,
        "an empty patch changes nothing"
    );
    let tools = vec![tool("read_file"), tool("search"), tool("write_file")];
    let change = SessionPatch {
        model_policy: Some(ModelPolicy::Tier(Tier::Pro)),
        clearance: Some(Classification::Public),
        tools: Some(tools.clone()),
        ..SessionPatch::default()
    };
    commit(&*store, vec![patch(change)]).await;
    let expected = NewSession {
        model_policy: ModelPolicy::Tier(Tier::Pro),
        clearance: Classification::Public,
        tools,
        ..before.session
    };
    assert_eq!(
        record(&*store).await.session,
        expected,
        "a patch changes what it names and nothing else"
    );
    for (given, then) in [
        (Classification::Confidential, Classification::Confidential),
        (Classification::Internal, Classification::Confidential),
        (Classification::Restricted, Classification::Restricted),
    ] {
        let change = SessionPatch {
            acknowledged: Some(given),
            ..SessionPatch::default()
        };
        commit(&*store, vec![patch(change)]).await;
        assert_eq!(
            record(&*store).await.acknowledged,
            then,
            "an acknowledged level only rises"
        );
    }
}

pub(super) async fn taints_never_fall(make: Make<'_>) {
    let (public, internal) = (Classification::Public, Classification::Internal);
    let (trusted, untrusted) = (Integrity::Trusted, Integrity::Untrusted);
    let stored = Label::new(internal, untrusted);
    let taint = |taint: Taint| {
        patch(SessionPatch {
            taint: Some(taint),
            ..SessionPatch::default()
        })
    };
    for (given, allowed) in [
        (stored, true),
        (Label::new(Classification::Restricted, untrusted), true),
        (Label::new(public, untrusted), false),
        (Label::new(internal, trusted), false),
        (Label::new(Classification::Restricted, trusted), false),
        (Label::BOTTOM, false),
    ] {
        let store = make().await;
        commit(&*store, vec![create(1), taint(tainted(stored))]).await;
        let before = record(&*store).await.session.taint;
        assert_eq!(before, tainted(stored), "a taint keeps its lineage");
        if allowed {
            commit(&*store, vec![taint(Taint::new(given))]).await;
            assert_eq!(
                record(&*store).await.session.taint.label(),
                given,
                "a taint may rise"
            );
            continue;
        }
        // Alone, and behind a write that raises it.
        for writes in [
            vec![taint(Taint::new(given))],
            vec![taint(Taint::new(Label::UNREADABLE)), taint(Taint::new(given))],
        ] {
            match refused(&*store, writes).await {
                StoreError::TaintWouldFall { given: said, .. } => assert_eq!(said, given),
                other => panic!("a taint that would fall is TaintWouldFall, not {other:?}"),
            }
            assert_eq!(record(&*store).await.session.taint, before, "a taint never falls");
        }
    }
}

pub(super) async fn turns_count_once(make: Make<'_>) {
    use SessionState::{Erased, Idle, InTurn};
    let store = make().await;
    commit(&*store, vec![create(1)]).await;
    let state = |state| {
        patch(SessionPatch {
            state: Some(state),
            ..SessionPatch::default()
        })
    };
    for (step, turns) in [
        (InTurn(turn(1)), 1),
        (InTurn(turn(1)), 1),
        (InTurn(turn(2)), 2),
        (Idle, 2),
        (InTurn(turn(3)), 3),
    ] {
        commit(&*store, vec![state(step)]).await;
        let record = record(&*store).await;
        assert_eq!((record.state, record.turns), (step, turns), "a turn counts once");
    }
    match refused(&*store, vec![state(Erased)]).await {
        StoreError::ErasedByPatch { .. } => {}
        other => panic!("erasing by a patch is ErasedByPatch, not {other:?}"),
    }
}

pub(super) async fn names_move(make: Make<'_>) {
    let store = make().await;
    let named = |n, name| Write::CreateSession(Box::new(new_session(n, Some(name))));
    commit(&*store, vec![named(1, "one"), named(2, "two"), create(3)]).await;
    let of = async |text: &str| read(store.session_named(&name(text)).await).map(|record| record.session.id);
    let (from, to) = (session(1), session(2));
    commit(&*store, vec![Write::MoveName { from, to }]).await;
    assert_eq!(
        of("one").await,
        Some(session(2)),
        "the name is that of the second session"
    );
    assert_eq!(of("two").await, None, "and the one it had is free");
    let (from, to) = (session(3), session(2));
    commit(&*store, vec![Write::MoveName { from, to }]).await;
    assert_eq!(
        of("one").await,
        Some(session(2)),
        "a session without a name has none to give"
    );
}

pub(super) async fn erasing_leaves_a_tombstone(make: Make<'_>) {
    let store = make().await;
    let id = session(1);
    let new = NewSession {
        taint: tainted(SECRET),
        ..new_session(1, Some("gone"))
    };
    commit(
        &*store,
        vec![
            Write::CreateSession(Box::new(new)),
            Write::Append(id, vec![said(1, "secret"), replied(2), answered(3)]),
            Write::Checkpoint(id, checkpoint(1)),
            started(2),
            Write::Source(id, text("s", "secret")),
            Write::Events(id, vec![happened("call_2_0"), happened("call_2_1")]),
        ],
    )
    .await;
    commit(&*store, vec![Write::EraseSession(id)]).await;
    commit(&*store, vec![Write::EraseSession(id)]).await;
    let record = record(&*store).await;
    assert_eq!(record.state, SessionState::Erased, "an erased session says so");
    assert_eq!(
        record.session.taint,
        Taint::new(SECRET),
        "the label stays, its lineage does not"
    );
    let left = (
        &record.session.name,
        &*record.session.system_prompt,
        record.session.tools.len(),
    );
    assert_eq!(left, (&None, "", 0), "name, prompt and tools are gone");
    assert!(
        record.session.workspace.as_os_str().is_empty(),
        "the workspace is gone"
    );
    assert_eq!(
        read(store.session_named(&name("gone")).await),
        None,
        "the name is free"
    );
    assert!(read(store.entries(id).await).is_empty(), "entries are gone");
    assert_eq!(read(store.checkpoint(id).await), None, "the checkpoint is gone");
    assert!(
        read(store.calls(id, turn(1)).await).is_empty(),
        "the journal is gone"
    );
    assert!(read(store.sources(id).await).is_empty(), "texts are gone");
    let filter = EventFilter {
        session: Some(id),
        ..EventFilter::default()
    };
    assert_eq!(read(store.events(filter).await).len(), 2, "events stay");
    match refused(&*store, vec![Write::Append(id, vec![said(1, "hi")])]).await {
        StoreError::Erased { .. } => {}
        other => panic!("writing to an erased session is Erased, not {other:?}"),
    }
}
