//! The auxiliary model names and merges memories, sums files up and proposes what to remember.

use crate::ids;
use crate::runtime::Shared;
use futures::StreamExt as _;
use serde::Deserialize;
use std::sync::{Arc, OnceLock, Weak};
use tidegate_memory::{Auxiliary, Cause, Distilled};
use tidegate_message::{Body, Entry, EntrySeq, ModelId, ReplyPart, UserMessage};
use tidegate_policy::{Classification, Label};
use tidegate_providers::{ModelRequest, StreamEvent, ToolChoice, ToolSet};
use tidegate_tools::BoxFuture;

/// The models of `[tiers] auxiliary`, of a runtime that is built after the memories were opened.
#[derive(Default)]
pub(crate) struct MemoryAuxiliary(OnceLock<Weak<Shared>>);

/// Why no model has said anything.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("the runtime whose models it would ask is not there")]
    NoRuntime,
    #[error("{model}: its provider asks to be left alone or does not answer")]
    Resting { model: ModelId },
    #[error("{model}: the reply ended before it was complete")]
    Incomplete { model: ModelId },
    #[error("{model} gave no name: {reply:?}")]
    NoName { model: String, reply: String },
}

#[derive(Deserialize)]
struct Name {
    memory_id: String,
    #[serde(default)]
    tags: Vec<String>,
}

impl MemoryAuxiliary {
    /// The runtime whose models are asked. The first one counts.
    pub(crate) fn set(&self, shared: &Arc<Shared>) {
        // A builder builds once.
        let _ = self.0.set(Arc::downgrade(shared));
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        self.0.get()?.upgrade()
    }

    /// Asks the models that may see what the first of them may, best first.
    async fn ask(&self, instructions: &str, text: String) -> Result<String, Cause> {
        let shared = self.shared().ok_or(Unanswered::NoRuntime)?;
        let clearance = clearance_of_first(&shared);
        let mut last: Cause = Unanswered::NoRuntime.into();
        for model in &shared.auxiliary {
            match ask_one(&shared, model, clearance, instructions, &text).await {
                Ok(reply) => return Ok(reply),
                Err(cause) => last = cause,
            }
        }
        Err(last)
    }
}

fn clearance_of_first(shared: &Shared) -> Classification {
    let mut slots = shared.auxiliary.iter().filter_map(|model| shared.slot(model));
    slots.next().map(|slot| slot.clearance).unwrap_or_default()
}

async fn ask_one(
    shared: &Shared,
    model: &ModelId,
    clearance: Classification,
    instructions: &str,
    text: &str,
) -> Result<String, Cause> {
    let resting = || Unanswered::Resting { model: model.clone() };
    let slot = shared
        .slot(model)
        .filter(|slot| slot.clearance >= clearance)
        .ok_or_else(resting)?;
    let _permit = slot.permits.acquire().await.map_err(|_| resting())?;
    if slot.account.paused_until().is_some() {
        return Err(resting().into());
    }
    let begun = slot.account.begin().map_err(|_| resting())?;
    let entry = Entry::new(
        EntrySeq(1),
        ids::new_turn_id(),
        Label::BOTTOM,
        Body::User(UserMessage::program(text)),
    );
    let request = ModelRequest {
        model: model.name().into(),
        system: instructions.trim_end().into(),
        tools: Arc::new(ToolSet::default()),
        history: Arc::new(vec![Arc::new(entry)]),
        tool_choice: ToolChoice::None,
    };
    let mut stream = slot.provider.stream(request);
    while let Some(event) = stream.next().await {
        match event {
            Ok(StreamEvent::Done(reply)) => {
                begun.ended(None);
                let texts = reply.parts.into_iter().filter_map(|part| match part {
                    ReplyPart::Text(text) => Some(text),
                    ReplyPart::Reasoning(_) | ReplyPart::Call { .. } => None,
                });
                return Ok(texts.collect());
            }
            Ok(StreamEvent::Text(_) | StreamEvent::Reasoning(_)) => {}
            Err(error) => {
                begun.ended(Some(error.class));
                return Err(error.into());
            }
        }
    }
    begun.ended(None);
    Err(Unanswered::Incomplete { model: model.clone() }.into())
}

impl Auxiliary for MemoryAuxiliary {
    fn clearance(&self) -> Classification {
        self.shared()
            .map(|shared| clearance_of_first(&shared))
            .unwrap_or_default()
    }

    fn distil<'a>(&'a self, fact: &'a str) -> BoxFuture<'a, Result<Distilled, Cause>> {
        Box::pin(async move {
            let instructions = include_str!("../../templates/memory_name.txt");
            let reply = self.ask(instructions, fenced(fact)).await?;
            let name = named(&reply).ok_or_else(|| Unanswered::NoName {
                model: "the auxiliary model".to_owned(),
                reply: reply.chars().take(80).collect(),
            })?;
            Ok(Distilled {
                memory_id: name.memory_id,
                tags: name.tags,
            })
        })
    }

    fn merge<'a>(&'a self, facts: &'a [String]) -> BoxFuture<'a, Result<String, Cause>> {
        Box::pin(async move {
            let instructions = include_str!("../../templates/memory_merge.txt");
            let facts: Vec<String> = facts.iter().map(|fact| fenced(fact)).collect();
            self.ask(instructions, facts.join("\n")).await
        })
    }

    fn answer<'a>(
        &'a self,
        instructions: &'a str,
        material: &'a str,
    ) -> BoxFuture<'a, Result<String, Cause>> {
        Box::pin(self.ask(instructions, material.to_owned()))
    }
}

/// The object in a reply, which may stand between other words.
fn named(reply: &str) -> Option<Name> {
    let (first, last) = (reply.find('{')?, reply.rfind('}')?);
    serde_json::from_str(reply.get(first..=last)?).ok()
}

/// A fact that nothing in it can close.
fn fenced(fact: &str) -> String {
    let fact = fact
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<fact>{fact}</fact>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_between_other_words() {
        for (reply, expected) in [
            (
                r#"{"memory_id":"tea-not-coffee","tags":["tea"]}"#,
                Some("tea-not-coffee"),
            ),
            ("```json\n{\"memory_id\": \"a-b\"}\n```", Some("a-b")),
            ("tea-not-coffee", None),
            ("}{", None),
        ] {
            assert_eq!(
                named(reply).map(|name| name.memory_id).as_deref(),
                expected,
                "{reply}"
            );
        }
    }

    #[test]
    fn a_fact_cannot_close_its_fence() {
        assert_eq!(fenced("a</fact>b & c"), "<fact>a&lt;/fact&gt;b &amp; c</fact>");
    }
}
