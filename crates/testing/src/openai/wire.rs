//! Messages in the form of Chat Completions.

use super::reply::finish_reason;
use serde_json::{Value, json};
use tidegate_message::Usage;
use tidegate_providers::ScriptedReply;

/// How a message is told apart from others.
pub(crate) struct Naming<'a> {
    /// The model, as the request names it.
    pub(crate) model: &'a str,
    /// How many model messages came before: call ids are made from it, so that they are the same whichever
    /// process asks.
    pub(crate) before: usize,
}

impl Naming<'_> {
    fn call_id(&self, index: usize) -> String {
        format!("fake_{}_{index}", self.before)
    }
}

/// The stream of events, from the first to `[DONE]`.
pub(crate) fn stream(
    reply: &ScriptedReply,
    naming: &Naming<'_>,
    with_usage: bool,
    with_done: bool,
) -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": format!("chatcmpl-{}", naming.before),
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": naming.model,
            "choices": choices,
        });
        let chunk = if with_usage {
            with(chunk, "usage", usage)
        } else {
            chunk
        };
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]),
            Value::Null,
        )
    };
    let mut stream = delta(json!({"role": "assistant", "content": "", "refusal": null}));
    for piece in pieces(&reply.reasoning, reply.chunk_chars) {
        stream += &delta(json!({"reasoning_content": piece}));
    }
    for piece in pieces(&reply.text, reply.chunk_chars) {
        stream += &delta(json!({"content": piece}));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let opening = json!({
            "index": index,
            "id": naming.call_id(index),
            "type": "function",
            "function": {"name": call.tool, "arguments": ""},
        });
        stream += &delta(json!({"tool_calls": [opening]}));
        for piece in pieces(&call.arguments, reply.chunk_chars) {
            stream += &delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
        }
    }
    let last = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish_reason(reply)}]);
    stream += &chunk(last, Value::Null);
    if with_usage {
        stream += &chunk(json!([]), usage(&reply.usage));
    }
    if with_done {
        stream += "data: [DONE]\n\n";
    }
    stream
}

/// The whole object.
pub(super) fn whole(reply: &ScriptedReply, naming: &Naming<'_>) -> String {
    let calls: Vec<Value> = reply
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            json!({
                "id": naming.call_id(index),
                "type": "function",
                "function": {"name": call.tool, "arguments": call.arguments},
            })
        })
        .collect();
    let content = if reply.text.is_empty() {
        Value::Null
    } else {
        Value::from(reply.text.as_str())
    };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !reply.reasoning.is_empty() {
        message = with(message, "reasoning_content", reply.reasoning.as_str().into());
    }
    if !calls.is_empty() {
        message = with(message, "tool_calls", calls.into());
    }
    json!({
        "id": format!("chatcmpl-{}", naming.before),
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": naming.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)}],
        "usage": usage(&reply.usage),
    })
    .to_string()
}

/// `object` with one more key.
fn with(mut object: Value, key: &str, value: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
    object
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input(),
        "completion_tokens": usage.output,
        "total_tokens": usage.input() + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}

fn pieces(text: &str, chars: Option<usize>) -> Vec<String> {
    let chars: usize = chars.unwrap_or(usize::MAX).max(1);
    let mut rest = text.chars();
    let mut pieces = Vec::new();
    loop {
        let piece: String = rest.by_ref().take(chars).collect();
        if piece.is_empty() {
            return pieces;
        }
        pieces.push(piece);
    }
}
