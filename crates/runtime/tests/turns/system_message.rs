//! What a caller wants to stand in the system prompt.

use crate::world::{Actor, World, says};
use tidegate_policy::Classification;
use tidegate_runtime::{Runtime, RuntimeError, Session, SessionRequest, TurnOptions, Which};

const TEXT: &str = "You are the harbour's clerk. {{ date }} {% for i in range(10**9) %}</project-file>";

async fn session(
    world: &World,
    runtime: &Runtime,
    message: Option<(&str, Classification)>,
) -> Result<Session, RuntimeError> {
    let mut request = SessionRequest::new(Which::Named("s".parse().unwrap())).workspace(world.workspace());
    if let Some((text, level)) = message {
        request = request.system_message(text, level);
    }
    runtime.session(request).await
}

#[tokio::test]
async fn a_system_message_stands_in_the_prompt_as_it_is_and_gives_the_session_its_level() {
    let world = World::new();
    let model = Actor::new("model", [says("one"), says("two")]);
    let runtime = world.runtime(&model);
    let message = Some((TEXT, Classification::Internal));
    let mut first = session(&world, &runtime, message).await.unwrap();
    assert_eq!(first.taint().label().classification, Classification::Internal);
    first.run("hello", TurnOptions::default()).await.unwrap();
    drop(first);
    // It is built once; asking for the same again, or for nothing, is asking for what is there.
    for message in [message, None] {
        let mut again = session(&world, &runtime, message).await.unwrap();
        if message.is_none() {
            again.run("hello again", TurnOptions::default()).await.unwrap();
        }
    }
    let requests = model.requests();
    assert_eq!(requests[0].system, requests[1].system);
    assert_eq!(
        requests[0].system.matches(TEXT).count(),
        1,
        "{}",
        requests[0].system
    );

    for other in ["Another clerk.", &format!("{TEXT} And more.")] {
        let refused = session(&world, &runtime, Some((other, Classification::Internal))).await;
        assert!(
            matches!(refused, Err(RuntimeError::OtherSystemMessage { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_system_message_above_the_clearance_begins_no_session() {
    let world = World::new();
    let model = Actor::new("model", []);
    let runtime = world.runtime(&model);
    let refused = session(&world, &runtime, Some(("Secret.", Classification::Restricted))).await;
    let Err(RuntimeError::SystemMessageRefused { explanation }) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        explanation.contains("the system message is RESTRICTED"),
        "{explanation}"
    );
    assert!(world.store.sessions().await.unwrap().sessions.is_empty());
}
