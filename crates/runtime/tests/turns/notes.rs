//! Notes for the next turn are delivered once, whatever happens.

use crate::world::{Actor, World, says};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_message::{Body, joined_text};
use tidegate_policy::{Classification, Integrity, Label};
use tidegate_prompt::{Note, NoteKind};
use tidegate_runtime::TurnOptions;
use tidegate_store::{BoxFuture, Committed, MemoryStore, Store, StoreError, Write};
use tidegate_testing::{MeddledStore, Meddler};

fn switched(label: Label) -> Note {
    Note {
        kind: NoteKind::ChannelSwitch {
            from: "telegram".into(),
            to: "web</note>".into(),
        },
        label,
    }
}

fn sent(actor: &Actor) -> Vec<String> {
    let request = actor.requests().pop().unwrap();
    let entries = request.history.iter();
    entries
        .filter_map(|entry| match &entry.body {
            Body::User(message) => Some(joined_text(message.api_content())),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_note_rides_on_one_message_and_is_repeated_with_it_alone() {
    let world = World::new();
    let model = Actor::new("model", [says("one"), says("two"), says("three")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    session.leave_note(switched(Label::BOTTOM)).await.unwrap();
    runtime
        .leave_note(
            session.id(),
            Note::plain(NoteKind::Nudge {
                text: "Water the plants.".into(),
            }),
        )
        .await
        .unwrap();
    session.run("first", TurnOptions::default()).await.unwrap();
    session.run("second", TurnOptions::default()).await.unwrap();
    let texts = sent(&model);
    insta::assert_snapshot!(texts[0], @r#"
    first

    <notes>
    From the program, for this message only.
    <note>The conversation goes on: it was on telegram, now it is on web&lt;/note>. Answer in the form that suits web&lt;/note>.</note>
    <note kind="reminder">
    Water the plants.
    </note>
    </notes>
    "#);
    assert_eq!(texts[1], "second");
    // The stored bytes are those that were sent.
    drop(session);
    let mut session = world.session(&runtime).await;
    session.run("third", TurnOptions::default()).await.unwrap();
    assert_eq!(sent(&model)[..2], texts[..]);
    assert_eq!(sent(&model)[2], "third");
    assert!(world.store.notes(session.id()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_notes_label_is_the_sessions_and_what_is_too_high_does_not_enter() {
    let world = World::new();
    let model = Actor::new("model", [says("one")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let read = Label::new(Classification::Internal, Integrity::Untrusted);
    session.leave_note(switched(read)).await.unwrap();
    session
        .leave_note(Note {
            kind: NoteKind::Nudge {
                text: "the secret".into(),
            },
            label: Label::trusted(Classification::Restricted),
        })
        .await
        .unwrap();
    session.run("first", TurnOptions::default()).await.unwrap();
    assert!(sent(&model)[0].contains("telegram"));
    assert!(!sent(&model)[0].contains("secret"));
    assert_eq!(session.taint().label().integrity, Integrity::Untrusted);
    assert!(session.transcript().entries()[0].label.classification >= Classification::Internal);
}

/// Fails the commit that takes notes, while it is told to.
struct Fails(AtomicBool);

impl Meddler for Fails {
    fn commit<'a>(
        &'a self,
        _: usize,
        writes: Vec<Write>,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Committed, StoreError>> {
        let takes = writes.iter().any(|write| matches!(write, Write::TakeNotes(..)));
        if takes && self.0.swap(false, Ordering::SeqCst) {
            let path = "the store".into();
            return Box::pin(async { Err(StoreError::Closed { path }) });
        }
        store.commit(writes)
    }
}

#[tokio::test]
async fn a_crash_before_or_after_the_turn_is_stored_neither_loses_nor_repeats_a_note() {
    let mut world = World::new();
    world.store = Arc::new(MeddledStore::new(
        Arc::new(MemoryStore::new()),
        Fails(AtomicBool::new(true)),
    ));
    let model = Actor::new("model", [says("one"), says("two")]);
    let runtime = world.runtime(&model);
    let mut session = world.session(&runtime).await;
    let id = session.id();
    session.leave_note(switched(Label::BOTTOM)).await.unwrap();
    session.run("lost", TurnOptions::default()).await.unwrap_err();
    assert_eq!(world.store.notes(id).await.unwrap().len(), 1);
    assert!(world.store.entries(id).await.unwrap().is_empty());
    drop(session);

    // Now the turn is stored, and the process ends before the model has answered.
    let mut session = world.session(&runtime).await;
    let cancel = tidegate_runtime::CancelToken::new();
    cancel.cancel();
    let options = TurnOptions {
        cancel,
        ..TurnOptions::default()
    };
    session.run("kept", options).await.unwrap();
    assert!(model.requests().is_empty());
    assert!(world.store.notes(id).await.unwrap().is_empty());
    drop(session);

    let mut session = world.session(&runtime).await;
    session.run("next", TurnOptions::default()).await.unwrap();
    let texts = sent(&model);
    let carrying = texts.iter().filter(|text| text.contains("<notes>"));
    assert_eq!(carrying.count(), 1, "{texts:?}");
    assert!(texts[0].starts_with("kept"), "{texts:?}");
}
