//! The runtime's own time to the first byte of a reply: from [`Session::run`](tidegate_runtime::Session::run) until the
//! first piece of text is shown, with a model in the process that takes no time but puts the request together.

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidegate_message::{FinishReason, ModelId, ProviderId, Reply, ReplyPart, Tier, Usage};
use tidegate_policy::Classification;
use tidegate_providers::{ModelRequest, Provider, ReplyStream, StreamEvent, encode_request};
use tidegate_runtime::{Runtime, SessionRequest, Signal, TurnOptions, Which};
use tidegate_store::MemoryStore;

/// Bytes of each message.
const MESSAGE_BYTES: usize = 1_024;
/// Turns measured at each length.
const TURNS: usize = 15;
/// Milliseconds it may take at 400 messages.
const LIMIT: f64 = 1.0;

/// Answers at once, when it has made the bytes that would be sent.
struct AtOnce {
    id: ProviderId,
    answer: String,
}

impl Provider for AtOnce {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let (id, answer) = (self.id.clone(), self.answer.clone());
        let events = stream::once(async move {
            let sent: Bytes = black_box(encode_request(&id, &request));
            assert!(sent.len() > request.history.len() * MESSAGE_BYTES);
            // Few enough that the conversation is not compacted.
            let usage = Usage {
                uncached: request.history.len() as u64,
                ..Usage::default()
            };
            let reply = Reply {
                model: ModelId::new(id, &*request.model),
                parts: vec![ReplyPart::Text(answer.clone())],
                verbatim: None,
                usage,
                finish: FinishReason::Stop,
            };
            stream::iter([
                Ok(StreamEvent::Text(answer)),
                Ok(StreamEvent::Done(Box::new(reply))),
            ])
        });
        events.flatten().boxed()
    }
}

/// Prints it for 10 and for 400 messages of 1 KB.
pub(crate) async fn measure() {
    println!();
    for messages in [10, 400] {
        let time = median(messages).await.as_secs_f64() * 1_000.0;
        let verdict = if time < LIMIT { "within" } else { "OVER" };
        println!(
            "own time to the first byte after {messages:>3} messages of 1 KB: {time:.3} ms  {verdict} {LIMIT} ms"
        );
    }
}

/// The median of the turns whose first request follows about so many messages.
async fn median(messages: usize) -> Duration {
    let text = "words ".chars().cycle().take(MESSAGE_BYTES).collect::<String>();
    let model = AtOnce {
        id: ProviderId::new("local"),
        answer: text.clone(),
    };
    let runtime = Runtime::builder()
        .store(Arc::new(MemoryStore::new()))
        .provider(Arc::new(model), Classification::Restricted, 1)
        .tier(Tier::Lite, vec!["local:small".parse().unwrap()])
        .without_file_tools()
        .build()
        .unwrap();
    let request = SessionRequest::new(Which::New).model_policy("LITE".parse().unwrap());
    let mut session = runtime.session(request).await.unwrap();
    let first = Mutex::new(None::<Instant>);
    let observer = |signal: Signal| {
        if matches!(signal, Signal::Text(_)) {
            first.lock().unwrap().get_or_insert_with(Instant::now);
        }
    };
    let mut times = Vec::new();
    let turns = messages / 2 + TURNS / 2;
    for _ in 0..turns {
        first.lock().unwrap().take();
        let task = text.clone();
        let options = TurnOptions {
            observer: Some(&observer),
            ..TurnOptions::default()
        };
        let start = Instant::now();
        session.run(task, options).await.unwrap();
        times.push(first.lock().unwrap().unwrap() - start);
    }
    assert_eq!(
        session.transcript().entries().len(),
        2 * turns,
        "nothing is compacted"
    );
    let mut last = times.split_off(turns.saturating_sub(TURNS));
    last.sort_unstable();
    last[last.len() / 2]
}
