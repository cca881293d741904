//! A reply with text and two calls, cut at every byte (field reports 15 and 16).

use crate::common::{builder, model, openai, run, session, stop_clock};
use std::sync::{Arc, Mutex};
use tidegate_message::{AssistantPart, Body, Tier, TurnStatus};
use tidegate_policy::Classification::Restricted;
use tidegate_providers::ScriptedReply;
use tidegate_runtime::Runtime;
use tidegate_testing::{At, Fault, FaultServer, Framing};
use tidegate_tools::{CallContext, TypedTool};

const TEXT: &str = "I look, 你好🦀.";

/// The reply, with as little around it as a server may send.
const STREAM: &str = concat!(
    "data: {\"choices\":[{\"delta\":{\"content\":\"I look, \"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"你好🦀.\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"note\",\"arguments\":\"{\\\"text\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"one\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"note\",\"arguments\":\"{\\\"text\\\":\\\"two\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: [DONE]\n\n",
);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

struct World {
    server: FaultServer,
    runtime: Runtime,
    /// How the next request is answered, instead of well.
    fault: Arc<Mutex<Option<Fault>>>,
    /// What the tool was run with.
    notes: Arc<Mutex<Vec<String>>>,
}

impl World {
    async fn new() -> Self {
        let fault = Arc::new(Mutex::new(None));
        let next = Arc::clone(&fault);
        // Well: the reply to a user's message, "Done." to results.
        let server = FaultServer::answering(move |request| {
            let asked = request
                .messages()
                .last()
                .is_some_and(|last| last["role"] == "user");
            match next.lock().unwrap().take() {
                Some(fault) => fault,
                None if asked => Fault::stream(STREAM),
                None => ScriptedReply::text("Done.").into(),
            }
        });
        let server = server.await.unwrap();
        let notes = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&notes);
        let note = TypedTool::new("note", "Notes.", move |note: Note, _: CallContext| {
            written.lock().unwrap().push(note.text);
            async { Ok("noted") }
        });
        let runtime = builder()
            .provider(openai("a", &server), Restricted, 8)
            .tier(Tier::Lite, vec![model("a")])
            .tool(Arc::new(note))
            .build()
            .unwrap();
        Self {
            server,
            runtime,
            fault,
            notes,
        }
    }

    /// The first try of the reply goes wrong like this; afterwards all is well. Whether it was tried again: a
    /// fault may leave the reply complete.
    async fn survives(&self, fault: Fault, how: &str) -> bool {
        self.notes.lock().unwrap().clear();
        *self.fault.lock().unwrap() = Some(fault);
        let mut session = session(&self.runtime).await;
        let (report, seen) = run(&mut session, "Look.").await;
        let how = format!("{how}: {:?}", seen.story());
        assert_eq!(
            (report.status, report.answer.as_str()),
            (TurnStatus::Success, "Done."),
            "{how}"
        );
        // Never a half call, never one twice.
        assert_eq!(*self.notes.lock().unwrap(), ["one", "two"], "{how}");
        // Never text twice.
        assert_eq!(seen.said, [TEXT], "{how}");
        assert_eq!(seen.text, "Done.", "{how}");
        let said: Vec<String> = session
            .transcript()
            .entries()
            .iter()
            .filter_map(|entry| match &entry.body {
                Body::Assistant(message) => Some(message),
                Body::User(_) | Body::Results(_) => None,
            })
            .flat_map(|message| &message.parts)
            .map(|part| match part {
                AssistantPart::Text { text } => text.clone(),
                AssistantPart::Reasoning { .. } => "reasoning".into(),
                AssistantPart::Call(call) => format!("{}({})", call.name, call.arguments),
            })
            .collect();
        let calls = [r#"note({"text":"one"})"#, r#"note({"text":"two"})"#];
        assert_eq!(said, [TEXT, calls[0], calls[1], "Done."], "{how}");
        // Never a dead session.
        let (report, _) = run(&mut session, "And?").await;
        assert_eq!(report.answer, "Done.", "{how}");
        self.server.until_all_closed().await;
        !seen.waits().is_empty()
    }
}

/// So many bytes of the reply have a finish reason. Without them it is incomplete, however it ends.
fn finished_at() -> usize {
    STREAM.find("\n\ndata: [DONE]").unwrap()
}

#[tokio::test]
async fn a_reply_cut_at_any_byte_is_sent_again_and_counted_once() {
    stop_clock();
    let world = World::new().await;
    for framing in Framing::ALL {
        for cut in 0..=STREAM.len() {
            let fault = Fault::stream(STREAM).framed(framing).cut(At::Body(cut));
            let retried = world.survives(fault, &format!("{framing:?} cut at {cut}")).await;
            if cut < finished_at() {
                assert!(retried, "{framing:?} cut at {cut}: it was not complete");
            }
            if cut == STREAM.len() {
                assert!(!retried, "{framing:?}: behind `[DONE]` nothing can be missing");
            }
        }
    }
}

#[tokio::test]
async fn a_reply_in_pieces_of_any_size_cut_or_not_is_counted_once() {
    stop_clock();
    let world = World::new().await;
    for piece in [1, 2, 3, 7, 64] {
        let fault = Fault::stream(STREAM).in_pieces_of(piece);
        assert!(!world.survives(fault, &format!("pieces of {piece}")).await);
        for cut in (0..STREAM.len()).step_by(13) {
            for reset in [false, true] {
                let fault = Fault::stream(STREAM).in_pieces_of(piece);
                let fault = if reset {
                    fault.reset(At::Body(cut))
                } else {
                    fault.cut(At::Body(cut))
                };
                world
                    .survives(fault, &format!("pieces of {piece}, cut at {cut}, reset {reset}"))
                    .await;
            }
        }
    }
}

#[tokio::test]
async fn a_head_cut_at_any_byte_is_no_reply() {
    stop_clock();
    let world = World::new().await;
    for cut in 0..100 {
        let fault = Fault::stream(STREAM).cut(At::Head(cut));
        assert!(world.survives(fault, &format!("head cut at {cut}")).await);
    }
}
