//! Requests as bytes: Chat Completions.

use crate::{ModelRequest, ToolChoice};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use tidegate_message::{
    AssistantMessage, Body, Content, Entry, ProviderId, ToolResults, ToolSpec, UserMessage, Verbatim,
    joined_text,
};

/// What a model is shown for a result without content.
const EMPTY_RESULT: &str = "(empty result)";

/// The longest tool name the wire takes, in characters.
const TOOL_NAME_CHARS: usize = 64;

/// `_` and 16 digits at the end of a shortened tool name.
const SUFFIX_CHARS: usize = 17;

/// The body of the request that sends `request` to `provider`.
///
/// The keys stand in a fixed order: model, tools, messages, then what is the same in every request of a
/// session (but for `tool_choice`). The bytes of tools and messages of one request are the beginning of
/// those of the next as long as its system prompt, tools and earlier entries are the same. Entries and
/// tools are encoded once and their bytes kept with them; see [`chat_wire`](super::chat_wire). What the request
/// before had is copied as a whole.
///
/// - A model message of this provider is sent as the provider gave it ([`Verbatim`]); one of another
///   provider in the neutral form, without reasoning and with the session's own call ids. The results that
///   follow carry the same ids.
/// - Tool messages take text alone: an image or file in a result is named in its text
///   (`[image: image/png]`), not sent.
/// - Empty text parts are left out, and a result without content is sent as "(empty result)".
/// - Tool names that the wire would refuse are sent shortened: what fits of the name, with `_` for each
///   character outside `A-Z a-z 0-9 _ -`, then `_` and 16 hexadecimal digits of the name's SHA-256. They are the
///   same at every start, whatever other tools there are, and different names stay different.
pub fn encode_request(provider: &ProviderId, request: &ModelRequest) -> Bytes {
    let encode_system = |system: &str| text_message("system", system);
    let system = match request.system.is_empty() {
        true => Bytes::new(),
        false => request.tools.chat_system(&request.system, encode_system),
    };
    let tools = request.tools.chat_completions(encode_tools);

    let model = Value::from(&*request.model).to_string();
    let mut messages = request.tools.chat_messages();
    let messages = messages.of(provider, &request.history);
    let size = system.len() + messages.len() + tools.len() + model.len() + 160;
    let mut body = Vec::with_capacity(size);
    body.extend_from_slice(b"{\"model\":");
    body.extend_from_slice(model.as_bytes());
    if !tools.is_empty() {
        body.extend_from_slice(b",\"tools\":");
        body.extend_from_slice(tools);
    }
    body.extend_from_slice(b",\"messages\":[");
    body.extend_from_slice(&system);
    if !system.is_empty() && !messages.is_empty() {
        body.push(b',');
    }
    body.extend_from_slice(messages);
    body.extend_from_slice(b"],\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    match request.tool_choice {
        // Without tools there is nothing to choose, and the wire refuses the key.
        ToolChoice::None if !tools.is_empty() => body.extend_from_slice(b",\"tool_choice\":\"none\""),
        ToolChoice::None | ToolChoice::Auto => {}
    }
    body.push(b'}');
    body.into()
}

/// The tools array; empty bytes for no tools.
fn encode_tools(specs: &[ToolSpec]) -> Bytes {
    if specs.is_empty() {
        return Bytes::new();
    }
    let tools: Vec<Value> = specs
        .iter()
        .map(|spec| {
            json!({
                "type": "function",
                "function": {
                    "name": wire_tool_name(spec.name.as_str()),
                    "description": spec.description,
                    "parameters": spec.input_schema,
                },
            })
        })
        .collect();
    Value::from(tools).to_string().into()
}

pub(super) fn encode_entry(provider: &ProviderId, entry: &Entry, before: Option<&Entry>) -> Bytes {
    match &entry.body {
        Body::User(message) => encode_user(message),
        Body::Assistant(message) => match own(provider, message) {
            Some(verbatim) => Bytes::copy_from_slice(verbatim.json.get().as_bytes()),
            None => encode_neutral(message),
        },
        Body::Results(results) => {
            let own_ids = match before.map(|before| &before.body) {
                Some(Body::Assistant(message)) => own(provider, message).is_some(),
                Some(Body::User(_) | Body::Results(_)) | None => false,
            };
            encode_results(results, own_ids)
        }
    }
}

/// The form of the message that `provider` gave, if it was this one.
fn own<'a>(provider: &ProviderId, message: &'a AssistantMessage) -> Option<&'a Verbatim> {
    message
        .verbatim
        .as_ref()
        .filter(|verbatim| verbatim.provider == *provider)
}

/// A message of text alone.
#[derive(Serialize)]
struct TextMessage<'a> {
    content: &'a str,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl TextMessage<'_> {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.reserve(self.content.len().saturating_add(64));
        // Neither texts nor a growing vector can fail to be written.
        serde_json::to_writer(bytes, self).unwrap_or_default();
    }
}

fn text_message(role: &'static str, content: &str) -> Bytes {
    let mut bytes = Vec::new();
    let message = TextMessage {
        content,
        role,
        tool_call_id: None,
    };
    message.write(&mut bytes);
    bytes.into()
}

fn encode_user(message: &UserMessage) -> Bytes {
    let parts = || {
        message
            .api_content()
            .iter()
            .filter(|part| part.as_text() != Some(""))
    };
    if parts().all(|part| part.as_text().is_some()) {
        return text_message("user", &joined_text(parts()));
    }
    let parts: Vec<Value> = parts().map(encode_part).collect();
    json!({"role": "user", "content": parts}).to_string().into()
}

fn encode_part(part: &Content) -> Value {
    match part {
        Content::Text { text } => json!({"type": "text", "text": text}),
        Content::Image { media_type, data } => {
            let url = format!("data:{media_type};base64,{}", data.as_base64());
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        Content::File {
            name,
            media_type,
            data,
        } => {
            let file_data = format!("data:{media_type};base64,{}", data.as_base64());
            json!({"type": "file", "file": {"filename": name, "file_data": file_data}})
        }
    }
}

fn encode_neutral(message: &AssistantMessage) -> Bytes {
    let text = message.text();
    let calls: Vec<Value> = message
        .calls()
        .map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": {
                    "name": wire_tool_name(call.name.as_str()),
                    "arguments": wire_arguments(&call.arguments),
                },
            })
        })
        .collect();
    if calls.is_empty() {
        return text_message("assistant", &text);
    }
    let content = if text.is_empty() {
        Value::Null
    } else {
        Value::from(text)
    };
    json!({"role": "assistant", "content": content, "tool_calls": calls})
        .to_string()
        .into()
}

fn encode_results(results: &ToolResults, own_ids: bool) -> Bytes {
    let mut bytes = Vec::new();
    for result in &results.results {
        if !bytes.is_empty() {
            bytes.push(b',');
        }
        let id = if own_ids {
            result.provider_id.as_str()
        } else {
            result.call.as_str()
        };
        let message = TextMessage {
            content: &result_text(&result.content),
            role: "tool",
            tool_call_id: Some(id),
        };
        message.write(&mut bytes);
    }
    bytes.into()
}

fn result_text(content: &[Content]) -> String {
    let texts: Vec<Cow<'_, str>> = content
        .iter()
        .map(|part| match part {
            Content::Text { text } => Cow::from(text),
            Content::Image { media_type, .. } => format!("[image: {media_type}]").into(),
            Content::File { name, media_type, .. } => format!("[file: {name} ({media_type})]").into(),
        })
        .filter(|text| !text.is_empty())
        .collect();
    if texts.is_empty() {
        EMPTY_RESULT.into()
    } else {
        texts.join("\n")
    }
}

/// `name` as the wire takes it: as it is, or shortened ([`encode_request`]).
///
/// A name that looks shortened is shortened again, so that no name is the short form of another.
pub(super) fn wire_tool_name(name: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let is_valid = (1..=TOOL_NAME_CHARS).contains(&name.len()) && name.chars().all(fits);
    if is_valid && !looks_shortened(name) {
        return name.to_owned();
    }
    let mut wire: String = name
        .chars()
        .take(TOOL_NAME_CHARS - SUFFIX_CHARS)
        .map(|character| if fits(character) { character } else { '_' })
        .collect();
    wire.push('_');
    let hash = Sha256::digest(name.as_bytes());
    wire.extend(
        hash.iter()
            .take(SUFFIX_CHARS / 2)
            .map(|byte| format!("{byte:02x}")),
    );
    wire
}

/// Whether `name` ends like a shortened one.
fn looks_shortened(name: &str) -> bool {
    let digits = name
        .len()
        .checked_sub(SUFFIX_CHARS)
        .and_then(|start| name.get(start..));
    digits
        .and_then(|suffix| suffix.strip_prefix('_'))
        .is_some_and(|digits| {
            digits
                .bytes()
                .all(|digit| digit.is_ascii_digit() || matches!(digit, b'a'..=b'f'))
        })
}

/// Arguments as the wire takes them: a call without arguments streams nothing and means an empty object.
pub(super) fn wire_arguments(arguments: &str) -> &str {
    if arguments.trim().is_empty() {
        "{}"
    } else {
        arguments
    }
}
