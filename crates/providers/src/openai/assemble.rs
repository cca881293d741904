//! One reply put together from its chunks.

use super::calls::{Call, Calls, Fragment};
use super::chunk::Chunk;
use super::details::ReasoningDetails;
use super::encode::{wire_arguments, wire_tool_name};
use super::fragment::{Fields, Malformed, Text, fields};
use super::piece::{Content, Piece};
use crate::{ModelRequest, StreamEvent};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use tidegate_message::{FinishReason, ModelId, ProviderId, Reply, ReplyPart, Usage, Verbatim};
use tidegate_policy::ToolName;

/// The longest reply that is taken, in bytes of what each chunk brings of it.
pub(super) const MAX_REPLY_BYTES: usize = 32 * 1024 * 1024;

/// What has arrived of a reply.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    text: String,
    reasoning_content: String,
    reasoning: String,
    reasoning_details: ReasoningDetails,
    extra_content: Option<Box<RawValue>>,
    calls: Calls,
    usage: Usage,
    finish: Option<Finish>,
    size: usize,
    has_deltas: bool,
}

/// Why the model stopped, in the provider's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finish {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    Failed,
    Other,
}

/// What a chunk turned out to be.
#[derive(Debug)]
pub(super) enum Taken {
    /// A piece of the reply, with what it shows.
    Piece(Vec<StreamEvent>),
    /// The provider's error object.
    Refusal(Box<RawValue>),
}

/// How a stream came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The provider said so, by `[DONE]` or by sending one complete object.
    Said,
    /// The connection was closed in good order.
    Closed,
}

/// Why there is no reply although the stream has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// Part of it is missing.
    Cut,
    /// It is no reply.
    Malformed(Malformed),
}

impl From<Malformed> for Unfinished {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl Assembly {
    /// Takes in one chunk: `chat.completion.chunk`, or a whole `chat.completion`.
    pub(super) fn take(&mut self, chunk: &str, request: &ModelRequest) -> Result<Taken, Malformed> {
        let read: Result<Chunk<'_>, _> = serde_json::from_str(chunk);
        if read.as_ref().map_or(true, Chunk::is_error)
            && let Some(error) = error_in(chunk)?
        {
            return Ok(Taken::Refusal(error));
        }
        let chunk = read.map_err(|error| Malformed::json("a chunk of the reply", &error))?;
        if let Some(usage) = chunk.usage {
            self.usage = read_usage(usage);
        }
        let mut events = Vec::new();
        for choice in chunk.choices {
            // One answer is asked for; a second one belongs to nobody.
            if choice.index.is_some_and(|index| index.get() != "0") {
                continue;
            }
            if let Some(error) = choice.error {
                return Ok(Taken::Refusal(error.to_owned()));
            }
            if let Some(delta) = choice.delta {
                self.has_deltas = true;
                self.take_piece(delta, request, &mut events)?;
            } else if let Some(message) = choice.message.filter(|_| !self.has_deltas) {
                // After deltas it would say everything a second time.
                self.take_piece(message, request, &mut events)?;
            }
            if !choice.finish_reason.0.is_empty() {
                self.finish = Some(Finish::read(&choice.finish_reason.0));
            }
        }
        Ok(Taken::Piece(events))
    }

    /// Takes in a `delta` or a whole `message`.
    fn take_piece(
        &mut self,
        piece: Piece<'_>,
        request: &ModelRequest,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), Malformed> {
        let Piece {
            content,
            refusal: Text(refusal),
            reasoning_content: Text(reasoning_content),
            reasoning: Text(reasoning),
            reasoning_details,
            extra_content,
            tool_calls,
        } = piece;
        let Content::Text(content) = content else {
            return Err(Malformed::new("the content has a part that is not text"));
        };
        let raw = reasoning_details.iter().chain(&extra_content);
        let raw: usize = raw.map(|raw| raw.get().len()).sum();
        let calls: usize = tool_calls.iter().map(Fragment::size).sum();
        let texts = [&content, &refusal, &reasoning_content, &reasoning];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        self.size = self.size.saturating_add(raw + calls + texts);
        if self.size > MAX_REPLY_BYTES {
            return Err(Malformed::new(format!(
                "the reply is longer than {MAX_REPLY_BYTES} bytes"
            )));
        }

        self.reasoning_content.push_str(&reasoning_content);
        self.reasoning.push_str(&reasoning);
        // Servers that send both say the same in both.
        let thought = if reasoning_content.is_empty() {
            reasoning
        } else {
            reasoning_content
        };
        if !thought.is_empty() {
            events.push(StreamEvent::Reasoning(thought.into_owned()));
        }
        for detail in reasoning_details {
            self.reasoning_details.take(detail)?;
        }
        if let Some(extra) = extra_content {
            self.extra_content = Some(extra.to_owned());
        }

        // A refusal is what the model says.
        let mut said = content;
        if !refusal.is_empty() {
            said.to_mut().push_str(&refusal);
        }
        if !said.is_empty() {
            self.text.push_str(&said);
            events.push(StreamEvent::Text(said.into_owned()));
        }
        for call in tool_calls {
            self.calls.take(call, &request.tools)?;
        }
        Ok(())
    }

    /// Whether nothing of a reply has arrived.
    fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.reasoning.is_empty()
            && self.reasoning_content.is_empty()
            && self.calls.is_empty()
            && self.finish.is_none()
    }

    /// The reply, now that the stream has ended.
    ///
    /// Without a finish reason it counts as complete only if the provider said that it had ended, and no
    /// call stands with half its arguments.
    pub(super) fn finish(
        self,
        end: End,
        provider: &ProviderId,
        request: &ModelRequest,
    ) -> Result<Reply, Unfinished> {
        match (self.finish, end) {
            (Some(_), _) => {}
            (None, End::Closed) => return Err(Unfinished::Cut),
            (None, End::Said) if self.is_empty() => {
                return Err(Malformed::new("the answer holds no reply").into());
            }
            (None, End::Said) if self.calls.has_broken_arguments() => return Err(Unfinished::Cut),
            (None, End::Said) => {}
        }
        let mut calls = self.calls.finish()?;
        for call in &mut calls {
            // What is not offered keeps the name the model gave it: it is told so.
            if let Some(name) = request.tools.by_chat_name(&call.name, wire_tool_name) {
                call.name = name.as_str().to_owned();
            }
        }
        let finish = match self.finish {
            Some(Finish::ToolCalls) if calls.is_empty() => {
                return Err(
                    Malformed::new("the model stopped for tool calls, but the reply has none").into(),
                );
            }
            Some(Finish::Failed) => {
                return Err(
                    Malformed::new("the provider says that the model failed during the reply").into(),
                );
            }
            Some(Finish::Length) => FinishReason::Length,
            Some(Finish::ContentFilter) => FinishReason::ContentFilter,
            // Some servers say "stop", or nothing, although they send calls.
            Some(Finish::Stop | Finish::ToolCalls | Finish::Other) | None if calls.is_empty() => {
                FinishReason::Stop
            }
            Some(Finish::Stop | Finish::ToolCalls | Finish::Other) | None => FinishReason::ToolCalls,
        };

        let tool_calls: Result<Vec<_>, _> = calls.iter().map(MessageCall::of).collect();
        let verbatim = tool_calls.map(|tool_calls| Message {
            content: Some(self.text.as_str()).filter(|text| !text.is_empty() || calls.is_empty()),
            extra_content: self.extra_content.as_deref(),
            reasoning: &self.reasoning,
            reasoning_content: &self.reasoning_content,
            reasoning_details: self.reasoning_details.items(),
            role: "assistant",
            tool_calls,
        });
        let json = verbatim
            .and_then(|message| to_raw_value(&message))
            .map_err(|error| Malformed::json("the reply", &error))?;

        let thought = if self.reasoning_content.is_empty() {
            self.reasoning
        } else {
            self.reasoning_content
        };
        let mut parts = Vec::new();
        if !thought.is_empty() {
            parts.push(ReplyPart::Reasoning(thought));
        }
        if !self.text.is_empty() {
            parts.push(ReplyPart::Text(self.text));
        }
        parts.extend(calls.into_iter().map(|call| ReplyPart::Call {
            provider_id: call.id,
            name: ToolName::new(call.name),
            arguments: call.arguments,
        }));
        Ok(Reply {
            model: ModelId::new(provider.clone(), &*request.model),
            parts,
            verbatim: Some(Verbatim {
                provider: provider.clone(),
                json,
            }),
            usage: self.usage,
            finish,
        })
    }
}

/// The error that a chunk tells of or is; also where the rest of it cannot be read.
fn error_in(chunk: &str) -> Result<Option<Box<RawValue>>, Malformed> {
    let Ok(mut chunk) = serde_json::from_str::<Fields<'_>>(chunk) else {
        return Ok(None);
    };
    if chunk
        .get("object")
        .is_some_and(|object| object.get() == r#""error""#)
    {
        let whole = to_raw_value(&chunk.into_map()).map_err(|error| Malformed::json("an error", &error))?;
        return Ok(Some(whole));
    }
    let error = chunk.remove("error").filter(|error| error.get() != "null");
    Ok(error.map(RawValue::to_owned))
}

impl Finish {
    fn read(reason: &str) -> Self {
        match reason {
            "stop" => Self::Stop,
            "tool_calls" | "function_call" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            // OpenRouter's word for a model that broke off.
            "error" => Self::Failed,
            _ => Self::Other,
        }
    }
}

/// What goes back to the provider: what it accepts, nothing that only replies have. Keys in the order of the alphabet.
#[derive(Serialize)]
struct Message<'a> {
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reasoning_details: &'a [BTreeMap<String, Box<RawValue>>],
    role: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<MessageCall<'a>>,
}

/// One of its calls: most have no other fields than these.
#[derive(Serialize)]
#[serde(untagged)]
enum MessageCall<'a> {
    Plain(PlainCall<'a>),
    WithExtras(BTreeMap<String, Box<RawValue>>),
}

#[derive(Serialize)]
struct PlainCall<'a> {
    function: PlainFunction<'a>,
    id: &'a str,
    r#type: &'static str,
}

#[derive(Serialize)]
struct PlainFunction<'a> {
    arguments: &'a str,
    name: String,
}

impl<'a> MessageCall<'a> {
    fn of(call: &'a Call) -> Result<Self, serde_json::Error> {
        let plain = PlainFunction {
            arguments: wire_arguments(&call.arguments),
            name: wire_tool_name(&call.name),
        };
        if call.extra.is_empty() && call.function_extra.is_empty() {
            return Ok(Self::Plain(PlainCall {
                function: plain,
                id: &call.id,
                r#type: "function",
            }));
        }
        let mut function = call.function_extra.clone();
        function.insert("name".to_owned(), to_raw_value(&plain.name)?);
        function.insert("arguments".to_owned(), to_raw_value(plain.arguments)?);
        let mut object = call.extra.clone();
        object.insert("id".to_owned(), to_raw_value(&call.id)?);
        object.insert("type".to_owned(), to_raw_value("function")?);
        object.insert("function".to_owned(), to_raw_value(&function)?);
        Ok(Self::WithExtras(object))
    }
}

/// Prompt tokens contain those read from the cache; nothing is said of those written to it. What is no number of tokens
/// counts as none.
fn read_usage(raw: &RawValue) -> Usage {
    let tokens = |raw: Option<&RawValue>| raw.and_then(|raw| raw.get().parse::<u64>().ok()).unwrap_or(0);
    let usage = members(raw);
    let prompt = tokens(usage.get("prompt_tokens"));
    let details = usage
        .get("prompt_tokens_details")
        .map(members)
        .unwrap_or_default();
    let cached = tokens(details.get("cached_tokens")).min(prompt);
    Usage {
        uncached: prompt - cached,
        cache_read: cached,
        cache_write: 0,
        output: tokens(usage.get("completion_tokens")),
    }
}

/// The members of an object; none of what is no object.
fn members(raw: &RawValue) -> Fields<'_> {
    fields(raw, "`usage`").unwrap_or_default()
}

/// The reply of which `message` is the whole, as a server would send it that does not stream.
pub(crate) fn whole_reply(
    message: &Value,
    provider: &ProviderId,
    request: &ModelRequest,
) -> Result<Reply, Malformed> {
    let whole = serde_json::json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    let mut assembly = Assembly::default();
    assembly.take(&whole.to_string(), request)?;
    assembly
        .finish(End::Said, provider, request)
        .map_err(|unfinished| match unfinished {
            Unfinished::Cut => Malformed::new("it is not complete"),
            Unfinished::Malformed(malformed) => malformed,
        })
}
