//! What a strict provider would check, written without the transcript's own rules.

use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_message::{Body, Content, Entry};

/// One message as it goes over a wire that has `user`, `assistant` and one `tool` message for each result.
enum Wire {
    User(Vec<Content>),
    Assistant {
        texts: Vec<String>,
        calls: Vec<(String, String)>,
    },
    Tool {
        id: String,
        name: String,
    },
}

/// Why a strict provider refuses `entries`. With `open_tail` the last calls may still lack all results.
pub(crate) fn refusal(entries: &[Arc<Entry>], open_tail: bool) -> Option<String> {
    let mut wire = Vec::new();
    let mut seqs = BTreeSet::new();
    for entry in entries {
        if entry.seq.0 == 0 || !seqs.insert(entry.seq.0) {
            return Some(format!("seq {} is zero or used twice", entry.seq));
        }
        match &entry.body {
            Body::User(message) => wire.push(Wire::User(message.api_content().to_vec())),
            Body::Assistant(message) => wire.push(Wire::Assistant {
                texts: message
                    .parts
                    .iter()
                    .filter_map(|part| match part {
                        tidegate_message::AssistantPart::Text { text } => Some(text.clone()),
                        _ => None,
                    })
                    .collect(),
                calls: message
                    .calls()
                    .map(|call| (call.id.as_str().into(), call.name.as_str().into()))
                    .collect(),
            }),
            Body::Results(results) if results.results.is_empty() => {
                return Some(format!("entry {} has no results", entry.seq));
            }
            Body::Results(results) => wire.extend(results.results.iter().map(|result| Wire::Tool {
                id: result.call.as_str().into(),
                name: result.name.as_str().into(),
            })),
        }
    }
    let mut ids = BTreeSet::new();
    let mut expected: Vec<(String, String)> = Vec::new();
    let mut answered_some = false;
    let mut before = "nothing";
    for message in wire {
        match message {
            Wire::Tool { id, name } => {
                if expected.is_empty() {
                    return Some(format!("result {id} without a call"));
                }
                if expected.remove(0) != (id.clone(), name) {
                    return Some(format!("result {id} is not that of the next call"));
                }
                answered_some = true;
                before = "tool";
            }
            _ if !expected.is_empty() => return Some(format!("calls {expected:?} have no results")),
            Wire::User(content) => {
                if content.is_empty() || content.contains(&Content::text("")) {
                    return Some("a user message is empty or has an empty text".into());
                }
                before = "user";
            }
            Wire::Assistant { texts, calls } => {
                if !matches!(before, "user" | "tool") {
                    return Some(format!("a model message after {before}"));
                }
                if texts.iter().any(String::is_empty) {
                    return Some("a model message has an empty text".into());
                }
                if let Some((id, _)) = calls.iter().find(|(id, _)| !ids.insert(id.clone())) {
                    return Some(format!("call id {id} is used twice"));
                }
                expected = calls;
                answered_some = false;
                before = "assistant";
            }
        }
    }
    if expected.is_empty() || (open_tail && !answered_some) {
        None
    } else {
        Some(format!("calls {expected:?} have no results at the end"))
    }
}
