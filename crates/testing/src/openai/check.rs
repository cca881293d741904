//! What the real service refuses.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{param}: {message}")]
pub struct Violation {
    /// The part of the request that is wrong: `messages[2].content`.
    pub param: String,
    /// What is wrong with it.
    pub message: String,
}

const REQUEST_KEYS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "n",
    "seed",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "modalities",
    "metadata",
    "store",
    "service_tier",
    "prompt_cache_key",
    "safety_identifier",
    "user",
];

type Checked<T = ()> = Result<T, Violation>;

fn refuse<T>(param: impl Into<String>, message: impl Into<String>) -> Checked<T> {
    Err(Violation {
        param: param.into(),
        message: message.into(),
    })
}

/// Checks the body of a request to `/chat/completions` as strictly as the real service does, and more
/// strictly where other services are: unknown keys, roles and content parts, empty text parts, a history in
/// which results do not follow their calls at once and completely, names the service does not take, half a
/// surrogate pair. Returns the request.
///
/// # Errors
/// The first violation.
pub fn check_request(body: &[u8]) -> Result<Value, Violation> {
    // This refuses half surrogate pairs, too.
    let request: Value = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => {
            return refuse(
                "body",
                format!("We could not parse the JSON body of your request: {error}"),
            );
        }
    };
    let Some(object) = request.as_object() else {
        return refuse("body", "the body has to be a JSON object");
    };
    known_keys("", object, REQUEST_KEYS)?;
    if text("model", object.get("model"))?.is_empty() {
        return refuse("model", "you must provide a model parameter");
    }
    let streams = match object.get("stream") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return refuse("stream", "has to be a boolean"),
    };
    if object.contains_key("stream_options") && !streams {
        return refuse("stream_options", "is only allowed when stream is enabled");
    }
    check_tools(object)?;
    let Some(messages) = object.get("messages").and_then(Value::as_array) else {
        return refuse("messages", "has to be an array");
    };
    check_messages(messages)?;
    Ok(request)
}

fn check_tools(object: &Map<String, Value>) -> Checked {
    let tools = match object.get("tools") {
        None => None,
        Some(Value::Array(tools)) if tools.is_empty() => {
            return refuse("tools", "[] is too short; leave the key out");
        }
        Some(Value::Array(tools)) => Some(tools),
        Some(_) => return refuse("tools", "has to be an array"),
    };
    if tools.is_none() && object.contains_key("tool_choice") {
        return refuse("tool_choice", "is only allowed when tools are specified");
    }
    match object.get("tool_choice") {
        None | Some(Value::Object(_)) => {}
        Some(Value::String(choice)) if matches!(choice.as_str(), "none" | "auto" | "required") => {}
        Some(_) => return refuse("tool_choice", "has to be none, auto, required or an object"),
    }
    let mut names = BTreeSet::new();
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        let at = format!("tools[{index}]");
        let tool = object_at(&at, Some(tool))?;
        known_keys(&at, tool, &["type", "function"])?;
        if tool.get("type").and_then(Value::as_str) != Some("function") {
            return refuse(format!("{at}.type"), "has to be \"function\"");
        }
        let at = format!("{at}.function");
        let function = object_at(&at, tool.get("function"))?;
        known_keys(&at, function, &["name", "description", "parameters", "strict"])?;
        let name = text(&format!("{at}.name"), function.get("name"))?;
        tool_name(&format!("{at}.name"), name)?;
        if !names.insert(name) {
            return refuse(
                format!("{at}.name"),
                format!("tool names must be unique, and {name:?} is not"),
            );
        }
        if function.contains_key("description") {
            text(&format!("{at}.description"), function.get("description"))?;
        }
        if let Some(parameters) = function.get("parameters") {
            let at = format!("{at}.parameters");
            let parameters = object_at(&at, Some(parameters))?;
            if parameters.get("type").and_then(Value::as_str) != Some("object") {
                return refuse(
                    at,
                    format!(
                        "invalid schema for function {name:?}: schema must be a JSON Schema of 'type: \"object\"'"
                    ),
                );
            }
        }
    }
    Ok(())
}

fn check_messages(messages: &[Value]) -> Checked {
    if messages.is_empty() {
        return refuse("messages", "[] is too short");
    }
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        let message = object_at(&at, Some(message))?;
        let role = text(&format!("{at}.role"), message.get("role"))?;
        if role != "tool"
            && let Some(id) = open.first()
        {
            return refuse(
                at,
                format!(
                    "an assistant message with 'tool_calls' must be followed by tool messages responding to \
                     each 'tool_call_id'; {id:?} has no response"
                ),
            );
        }
        match role {
            "system" | "developer" => {
                known_keys(&at, message, &["role", "content", "name"])?;
                check_content(&at, message.get("content"), &["text"])?;
            }
            "user" => {
                known_keys(&at, message, &["role", "content", "name"])?;
                check_content(
                    &at,
                    message.get("content"),
                    &["text", "image_url", "input_audio", "file"],
                )?;
            }
            "assistant" => open = check_assistant(&at, message)?,
            "tool" => {
                known_keys(&at, message, &["role", "content", "tool_call_id"])?;
                check_content(&at, message.get("content"), &["text"])?;
                let id = text(&format!("{at}.tool_call_id"), message.get("tool_call_id"))?;
                if !open.remove(id) {
                    return refuse(
                        format!("{at}.tool_call_id"),
                        format!(
                            "messages with role 'tool' must be a response to a preceding message with \
                             'tool_calls'; {id:?} answers no open call"
                        ),
                    );
                }
            }
            other => return refuse(format!("{at}.role"), format!("{other:?} is not a role")),
        }
    }
    match open.first() {
        Some(id) => refuse(
            "messages",
            format!("the last tool calls are not all answered; {id:?} has no response"),
        ),
        None => Ok(()),
    }
}

/// Checks an assistant message; returns the ids of its calls.
fn check_assistant(at: &str, message: &Map<String, Value>) -> Checked<BTreeSet<String>> {
    known_keys(
        at,
        message,
        &[
            "role",
            "content",
            "name",
            "refusal",
            "audio",
            "tool_calls",
            // Not OpenAI's, but sent and accepted back by compatible services.
            "reasoning_content",
            "reasoning",
            "reasoning_details",
            "extra_content",
        ],
    )?;
    let mut ids = BTreeSet::new();
    match message.get("tool_calls") {
        None => {}
        Some(Value::Array(calls)) if calls.is_empty() => {
            return refuse(format!("{at}.tool_calls"), "[] is too short; leave the key out");
        }
        Some(Value::Array(calls)) => {
            for (index, call) in calls.iter().enumerate() {
                let at = format!("{at}.tool_calls[{index}]");
                let id = check_call(&at, call)?;
                if !ids.insert(id.clone()) {
                    return refuse(format!("{at}.id"), format!("duplicate tool call id {id:?}"));
                }
            }
        }
        Some(_) => return refuse(format!("{at}.tool_calls"), "has to be an array"),
    }
    match message.get("content") {
        None | Some(Value::Null) if ids.is_empty() => {
            return refuse(format!("{at}.content"), "is required unless tool_calls is given");
        }
        None | Some(Value::Null) => {}
        content => check_content(at, content, &["text", "refusal"])?,
    }
    Ok(ids)
}

fn check_call(at: &str, call: &Value) -> Checked<String> {
    let call = object_at(at, Some(call))?;
    if call.contains_key("index") {
        return refuse(
            format!("{at}.index"),
            "belongs to a streamed delta, not to a message",
        );
    }
    let id = text(&format!("{at}.id"), call.get("id"))?;
    if id.is_empty() {
        return refuse(format!("{at}.id"), "must not be empty");
    }
    if call.get("type").and_then(Value::as_str) != Some("function") {
        return refuse(format!("{at}.type"), "has to be \"function\"");
    }
    let function = object_at(&format!("{at}.function"), call.get("function"))?;
    let name = text(&format!("{at}.function.name"), function.get("name"))?;
    tool_name(&format!("{at}.function.name"), name)?;
    // The real service takes any text here, JSON or not.
    text(&format!("{at}.function.arguments"), function.get("arguments"))?;
    Ok(id.to_owned())
}

fn check_content(at: &str, content: Option<&Value>, kinds: &[&str]) -> Checked {
    let at = format!("{at}.content");
    let parts = match content {
        Some(Value::String(_)) => return Ok(()),
        Some(Value::Array(parts)) => parts,
        None | Some(_) => return refuse(at, "has to be a string or an array of content parts"),
    };
    if parts.is_empty() {
        return refuse(at, "[] is too short");
    }
    for (index, part) in parts.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let part = object_at(&at, Some(part))?;
        let kind = text(&format!("{at}.type"), part.get("type"))?;
        if !kinds.contains(&kind) {
            return refuse(format!("{at}.type"), format!("{kind:?} is not one of {kinds:?}"));
        }
        match kind {
            "text" if text(&format!("{at}.text"), part.get("text"))?.is_empty() => {
                return refuse(format!("{at}.text"), "text content blocks must be non-empty");
            }
            "image_url" => {
                let image = object_at(&format!("{at}.image_url"), part.get("image_url"))?;
                let url = text(&format!("{at}.image_url.url"), image.get("url"))?;
                let is_image = url.starts_with("data:image/") && url.contains(";base64,");
                if !is_image && !url.starts_with("https://") {
                    return refuse(
                        format!("{at}.image_url.url"),
                        "is neither an image's data URI nor an https URL",
                    );
                }
            }
            "file" => {
                let file = object_at(&format!("{at}.file"), part.get("file"))?;
                if !file.contains_key("file_id") {
                    text(&format!("{at}.file.filename"), file.get("filename"))?;
                    let data = text(&format!("{at}.file.file_data"), file.get("file_data"))?;
                    if !data.starts_with("data:") || !data.contains(";base64,") {
                        return refuse(format!("{at}.file.file_data"), "is no data URI");
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn tool_name(at: &str, name: &str) -> Checked {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=64).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        refuse(
            at,
            format!("{name:?} does not match the pattern ^[a-zA-Z0-9_-]{{1,64}}$"),
        )
    }
}

fn known_keys(at: &str, object: &Map<String, Value>, known: &[&str]) -> Checked {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) if at.is_empty() => refuse(key, "unrecognized request argument supplied"),
        Some(key) => refuse(format!("{at}.{key}"), "unrecognized key"),
        None => Ok(()),
    }
}

fn text<'a>(at: &str, value: Option<&'a Value>) -> Checked<&'a str> {
    match value.and_then(Value::as_str) {
        Some(text) => Ok(text),
        None => refuse(at, "has to be a string"),
    }
}

fn object_at<'a>(at: &str, value: Option<&'a Value>) -> Checked<&'a Map<String, Value>> {
    match value.and_then(Value::as_object) {
        Some(object) => Ok(object),
        None => refuse(at, "has to be an object"),
    }
}
