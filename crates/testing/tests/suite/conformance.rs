//! The suites: what they pass, and that they can fail.

use crate::common::asking;
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use serde_json::json;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use tidegate_message::{ModelId, ProviderId};
use tidegate_providers::{
    ErrorClass, ModelRequest, OpenAi, OpenAiConfig, Provider, ReplyStream, Scripted, ScriptedError,
    ScriptedReply, StreamEvent,
};
use tidegate_testing::conformance::{self, Hanging, ProviderCase, ToolCase};
use tidegate_testing::{At, FakeOpenAi, FakeReply, Fault, FaultServer, Gate};
use tidegate_tools::{CallContext, Tool, ToolError, TypedTool};

/// `OpenAi` against the strict fake, and against servers that fail or hang.
#[derive(Default)]
struct OpenAiCase {
    fakes: Mutex<Vec<FakeOpenAi>>,
    servers: Mutex<Vec<Arc<FaultServer>>>,
}

fn openai(base_url: &str) -> Arc<dyn Provider> {
    let config = OpenAiConfig::new(ProviderId::new("fake"), base_url.parse().unwrap());
    Arc::new(OpenAi::new(config))
}

impl ProviderCase for OpenAiCase {
    fn saying(&self, replies: Vec<ScriptedReply>) -> BoxFuture<'_, Arc<dyn Provider>> {
        Box::pin(async {
            let replies = replies
                .into_iter()
                .map(|reply| FakeReply::from(reply).in_pieces_of(5));
            let server = FakeOpenAi::start(replies).await.unwrap();
            let provider = openai(&server.base_url());
            self.fakes.lock().unwrap().push(server);
            provider
        })
    }

    fn failing(&self) -> BoxFuture<'_, Arc<dyn Provider>> {
        Box::pin(async {
            let server = FaultServer::start([Fault::error(500)]).await.unwrap();
            let provider = openai(&server.base_url());
            self.servers.lock().unwrap().push(Arc::new(server));
            provider
        })
    }

    fn hanging(&self) -> BoxFuture<'_, Option<Hanging>> {
        Box::pin(async {
            let gate = Gate::new();
            let reply = Fault::from(ScriptedReply::text("hello").in_chunks_of(1)).hang(At::Body(400), &gate);
            let server = Arc::new(FaultServer::start([reply]).await.unwrap());
            let closed = Arc::clone(&server);
            Some(Hanging {
                provider: openai(&server.base_url()),
                begun: Box::pin(async move { gate.until_reached(1).await }),
                given_up: Box::pin(async move { closed.until_all_closed().await }),
            })
        })
    }

    fn sent(&self) -> Vec<Bytes> {
        let fakes = self.fakes.lock().unwrap();
        fakes
            .iter()
            .flat_map(FakeOpenAi::requests)
            .map(|request| request.body)
            .collect()
    }
}

#[tokio::test]
async fn the_openai_provider_passes() {
    conformance::provider(&OpenAiCase::default()).await;
}

/// What is done to the streams of a model.
type Change = fn(ReplyStream, &ModelRequest) -> ReplyStream;

/// The scripted model, with something done to its streams.
struct ScriptedCase(Change);

struct Changed(Scripted, Change);

impl Provider for Changed {
    fn id(&self) -> &ProviderId {
        self.0.id()
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let stream = self.0.stream(request.clone());
        (self.1)(stream, &request)
    }
}

impl ProviderCase for ScriptedCase {
    fn saying(&self, replies: Vec<ScriptedReply>) -> BoxFuture<'_, Arc<dyn Provider>> {
        let provider = Changed(Scripted::new(ProviderId::new("script"), replies), self.0);
        Box::pin(async { Arc::new(provider) as Arc<dyn Provider> })
    }

    fn failing(&self) -> BoxFuture<'_, Arc<dyn Provider>> {
        self.saying(vec![ScriptedReply::failing(ScriptedError::new(
            ErrorClass::Overloaded,
        ))])
    }

    fn hanging(&self) -> BoxFuture<'_, Option<Hanging>> {
        Box::pin(async { None })
    }
}

async fn what_fails(case: &dyn ProviderCase) -> Option<String> {
    let failed = AssertUnwindSafe(conformance::provider(case))
        .catch_unwind()
        .await
        .err()?;
    let said = failed.downcast_ref::<String>().cloned();
    said.or_else(|| failed.downcast_ref::<&str>().map(|said| (*said).to_owned()))
}

fn without_an_end(stream: ReplyStream, _: &ModelRequest) -> ReplyStream {
    let goes_on = |event: &Result<StreamEvent, _>| !matches!(event, Ok(StreamEvent::Done(_)));
    stream
        .filter(move |event| std::future::ready(goes_on(event)))
        .boxed()
}

fn with_more_behind_its_end(stream: ReplyStream, _: &ModelRequest) -> ReplyStream {
    stream
        .chain(stream::iter([Ok(StreamEvent::Text("more".into()))]))
        .boxed()
}

fn with_its_text_twice(stream: ReplyStream, _: &ModelRequest) -> ReplyStream {
    let twice = |event| match event {
        Ok(StreamEvent::Text(text)) => vec![Ok(StreamEvent::Text(text.clone())), Ok(StreamEvent::Text(text))],
        other => vec![other],
    };
    stream.flat_map(move |event| stream::iter(twice(event))).boxed()
}

fn in_a_foreign_name(stream: ReplyStream, request: &ModelRequest) -> ReplyStream {
    let foreign = ModelId::new(ProviderId::new("other"), &*request.model);
    let renamed = move |event| match event {
        StreamEvent::Done(mut reply) => {
            reply.model = foreign.clone();
            StreamEvent::Done(reply)
        }
        other => other,
    };
    stream.map(move |event| event.map(&renamed)).boxed()
}

fn to_anybody(stream: ReplyStream, request: &ModelRequest) -> ReplyStream {
    if request.history.is_empty() {
        let all_the_same = Scripted::new(ProviderId::new("script"), [ScriptedReply::text("hello")]);
        return all_the_same.stream(asking(&["?"]));
    }
    stream
}

#[tokio::test]
async fn the_scripted_model_passes_and_one_that_breaks_a_rule_does_not() {
    assert_eq!(what_fails(&ScriptedCase(|stream, _| stream)).await, None);
    let broken: [(Change, &str); 5] = [
        (
            without_an_end,
            "a stream ends with a reply or an error, not with nothing",
        ),
        (with_more_behind_its_end, "nothing follows the last event"),
        (
            with_its_text_twice,
            "the text that is streamed is the text of the reply",
        ),
        (in_a_foreign_name, "a reply names its provider"),
        (to_anybody, "an empty history is refused"),
    ];
    for (change, rule) in broken {
        let said = what_fails(&ScriptedCase(change)).await.unwrap_or_default();
        assert!(said.contains(rule), "{said:?}, not {rule:?}");
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Wait {
    /// How often; forever if it is not said.
    times: Option<u8>,
}

fn waiting(description: &'static str) -> Arc<dyn Tool> {
    Arc::new(TypedTool::new(
        "wait",
        description,
        |wait: Wait, context: CallContext| async move {
            match wait.times {
                Some(0) => Err(ToolError::new("times is 0: write 1 or more")),
                Some(_) => Ok("done"),
                None => {
                    context.cancel.cancelled().await;
                    Err(ToolError::new("cancelled"))
                }
            }
        },
    ))
}

fn waits<'a>(tool: &'a dyn Fn() -> Arc<dyn Tool>) -> ToolCase<'a> {
    ToolCase {
        tool,
        good: vec![json!({"times": 1})],
        bad: vec![json!({"times": "once"}), json!({"often": 1}), json!({"times": 0})],
        endless: Some(json!({})),
        watched: Vec::new(),
    }
}

#[tokio::test]
async fn a_tool_that_keeps_the_rules_passes_and_one_that_does_not_fails() {
    conformance::tool(&waits(&|| waiting("Waits."))).await;
    let said = async |case: ToolCase<'_>| {
        let failed = AssertUnwindSafe(conformance::tool(&case)).catch_unwind().await;
        let failed = failed.expect_err("the suite fails");
        failed.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let silent = said(waits(&|| waiting(" "))).await;
    assert!(silent.contains("models are told what wait does"), "{silent}");
    let takes_all = said(ToolCase {
        bad: vec![json!({"times": 7})],
        ..waits(&|| waiting("Waits."))
    })
    .await;
    assert!(
        takes_all.contains("wait does not take {\"times\":7}"),
        "{takes_all}"
    );

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let careless = || -> Arc<dyn Tool> {
        let path = path.clone();
        let tool = TypedTool::new("wait", "Waits.", |_: Wait, _: CallContext| async { Ok("done") });
        // Asked when the call is prepared: it must have no effect, and has.
        Arc::new(tool.resources(move |_| {
            std::fs::write(path.join("written"), "now").unwrap();
            Vec::new()
        }))
    };
    let effect = said(ToolCase {
        watched: vec![folder.path().to_owned()],
        ..waits(&careless)
    })
    .await;
    assert!(
        effect.contains("preparing {\"times\":1} has no effect"),
        "{effect}"
    );
}
