//! A model provider of your own: here a "model" that is a function in this program.
//!
//! Run it: `cargo run -p tidegate --example own_provider`

use futures::stream::{self, StreamExt};
use std::sync::Arc;
use tidegate::message::{Body, FinishReason, ModelId, Reply, ReplyPart, Usage};
use tidegate::prelude::*;
use tidegate::providers::{
    ErrorClass, ModelRequest, ProviderError, ReplyStream, StreamEvent, validate_history,
};

/// What a model makes of a request: the parts of its reply, or why there is none.
type Think = dyn Fn(&ModelRequest) -> Result<Vec<ReplyPart>, String> + Send + Sync;

/// A provider whose model is a function.
pub(crate) struct Function {
    id: ProviderId,
    think: Arc<Think>,
}

impl Function {
    pub(crate) fn new(
        name: &str,
        think: impl Fn(&ModelRequest) -> Result<Vec<ReplyPart>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            id: ProviderId::new(name),
            think: Arc::new(think),
        }
    }
}

impl Provider for Function {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let (id, think) = (self.id.clone(), Arc::clone(&self.think));
        // Nothing happens before the stream is polled; an error or `Done` comes last.
        stream::once(async move { events(&id, &*think, &request) })
            .flat_map(|events| match events {
                Ok(events) => stream::iter(events).map(Ok).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .boxed()
    }
}

fn events(id: &ProviderId, think: &Think, request: &ModelRequest) -> Result<Vec<StreamEvent>, ProviderError> {
    let refuse = |class, why: String| ProviderError::new(id.clone(), class, why);
    validate_history(&request.history).map_err(|error| refuse(ErrorClass::BadRequest, error.to_string()))?;
    let parts = think(request).map_err(|why| refuse(ErrorClass::Server, why))?;
    let mut events = Vec::new();
    for part in &parts {
        if let ReplyPart::Text(text) = part {
            events.extend(
                text.split_inclusive(' ')
                    .map(|word| StreamEvent::Text(word.to_owned())),
            );
        }
    }
    let asks = parts.iter().any(|part| matches!(part, ReplyPart::Call { .. }));
    events.push(StreamEvent::Done(Box::new(Reply {
        model: ModelId::new(id.clone(), &*request.model),
        parts,
        // It has no form of its own that would have to come back.
        verbatim: None,
        usage: Usage::default(),
        finish: if asks {
            FinishReason::ToolCalls
        } else {
            FinishReason::Stop
        },
    })));
    Ok(events)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parrot = Function::new("parrot", |request| {
        match request.history.last().map(|last| &last.body) {
            Some(Body::User(message)) => {
                let said: String = message.content.iter().filter_map(|part| part.as_text()).collect();
                Ok(vec![ReplyPart::Text(format!("{said} {said}"))])
            }
            _ => Err("a parrot repeats what a person says".into()),
        }
    });
    let runtime = Runtime::builder()
        .in_memory()
        .provider(Arc::new(parrot), Classification::Restricted, 8)
        .tier(Tier::Lite, vec!["parrot:grey".parse()?])
        .without_file_tools()
        .build()?;
    let mut session = runtime.session(SessionRequest::new(Which::New)).await?;
    println!(
        "{}",
        session.run("Good morning!", TurnOptions::default()).await?.answer
    );
    Ok(())
}
