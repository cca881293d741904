//! Playing the script.

use super::{ScenarioError, ScriptedError, ScriptedReply, scenario};
use crate::openai::whole_reply;
use crate::{ErrorClass, ModelRequest, Provider, ProviderError, ReplyStream, StreamEvent, validate_history};
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tidegate_message::{Body, Content, Entry, ProviderId};

/// A model that plays a script, so that a program can be tried and tested without one.
///
/// Reply *n* is played when the history holds *n* - 1 model messages, whoever wrote them. So the place
/// in the script is a matter of the conversation alone: a process that resumes goes on where it was, and
/// any number of conversations can play the same script at once. Only how many of a reply's
/// [`errors`](ScriptedReply::errors) have been played is counted in the process, for all conversations together.
///
/// It is as strict as a real provider: a history that those would refuse
/// ([`validate_history`](crate::validate_history)), a text that was expected and did not come, and a call past
/// the end of the script fail with [`ErrorClass::BadRequest`].
/// A reply with tool calls is played even if the request forbids them, as some models do.
///
/// # Scenario files
///
/// ```toml
/// [scenario]                          # optional
/// description = "reads a file"        # for people
///
/// [[reply]]                           # the model's first message
/// expect = ["a.txt"]                  # has to occur in what was sent since the model's last message
/// expect_not = ["secret"]             # must not occur there
/// reasoning = "A file, then."         # thinking
/// text = "I shall look."
/// calls = [
///   { tool = "read_file", arguments = { path = "a.txt" } },
///   { tool = "read_file", raw_arguments = '{"path": ' },    # what a model should not write
///   { tool = "list_files" },                                # no arguments
/// ]
///
/// [[reply]]                           # its second message
/// text = "It says 42."
/// chunk_chars = 4                     # streamed in pieces of 4 characters; else in one
/// thinking_ms = 200                   # how long the model takes before it says anything; 0 by default
/// usage = { uncached = 900, cache_read = 0, cache_write = 0, output = 12 }   # tokens; 0 by default
/// finish = "stop"                     # stop, tool_calls, length, content_filter; else by the calls
///
/// [[reply.errors]]                    # the first try at this message fails like this
/// class = "rate_limited"              # as in `ErrorClass::as_str`
/// message = "slow down"               # optional
/// retry_after_s = 3                   # optional, seconds
/// after_chars = 5                     # so much of the text is streamed before it; 0 by default
/// ```
///
/// A reply needs `text`, `reasoning`, `calls` or `errors`; a model that says nothing is `text = ""`. Errors are
/// played one a try, in order, then the reply; a reply with nothing but errors repeats the last one. Unknown
/// keys and wrong types are errors that name file, line and column.
#[derive(Debug)]
pub struct Scripted {
    script: Arc<Script>,
}

#[derive(Debug)]
struct Script {
    id: ProviderId,
    name: Arc<str>,
    replies: Vec<ScriptedReply>,
    records: bool,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// Replies that were played to their end, by position.
    played: BTreeSet<usize>,
    /// How often each reply's errors were played.
    failed: BTreeMap<usize, usize>,
    /// What the script did not provide for.
    surprises: Vec<String>,
    requests: Vec<ModelRequest>,
}

impl Scripted {
    /// Plays these replies, and records the requests ([`requests`](Self::requests)).
    pub fn new(id: ProviderId, replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self::with(id, "the script".into(), replies.into_iter().collect(), true)
    }

    /// Plays the scenario file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is no scenario.
    pub fn from_file(id: ProviderId, path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|cause| ScenarioError::Unreadable {
            file: path.to_owned(),
            cause,
        })?;
        Self::from_str(id, &path.display().to_string(), &text)
    }

    /// Plays the scenario `text`, which error messages call `name`.
    ///
    /// # Errors
    /// It is no scenario.
    pub fn from_str(id: ProviderId, name: &str, text: &str) -> Result<Self, ScenarioError> {
        let replies = scenario::read(&Arc::from(name), text)?;
        Ok(Self::with(
            id,
            format!("the scenario {name}").into(),
            replies,
            false,
        ))
    }

    fn with(id: ProviderId, name: Arc<str>, replies: Vec<ScriptedReply>, records: bool) -> Self {
        Self {
            script: Arc::new(Script {
                id,
                name,
                replies,
                records,
                log: Mutex::default(),
            }),
        }
    }

    /// The script.
    pub fn replies(&self) -> &[ScriptedReply] {
        &self.script.replies
    }

    /// The numbers, from 1, of the replies that were played at least once.
    pub fn played(&self) -> Vec<usize> {
        self.script
            .log(|log| log.played.iter().map(|position| position + 1).collect())
    }

    /// The numbers, from 1, of the replies that were not played. A reply with nothing but errors counts
    /// as played once all of them have been.
    pub fn unplayed(&self) -> Vec<usize> {
        self.script.log(|log| {
            (0..self.script.replies.len())
                .filter(|position| !log.played.contains(position))
                .map(|position| position + 1)
                .collect()
        })
    }

    /// What the script did not provide for: a history no provider would accept, an expectation that was not
    /// met, a call past the end.
    pub fn surprises(&self) -> Vec<String> {
        self.script.log(|log| log.surprises.clone())
    }

    /// The requests so far, oldest first; recorded only by a script from [`new`](Self::new).
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.script.log(|log| log.requests.clone())
    }
}

impl Provider for Scripted {
    fn id(&self) -> &ProviderId {
        &self.script.id
    }

    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let script = Arc::clone(&self.script);
        let play = async move {
            let thinking = script.thinking(&request);
            if !thinking.is_zero() {
                tokio::time::sleep(thinking).await;
            }
            script.play(request)
        };
        stream::once(play).flat_map(stream::iter).boxed()
    }
}

/// The position of the reply to this request: as many as the model messages before it.
fn position_of(request: &ModelRequest) -> usize {
    request
        .history
        .iter()
        .filter(|entry| matches!(entry.body, Body::Assistant(_)))
        .count()
}

type Events = Vec<Result<StreamEvent, ProviderError>>;

impl Script {
    fn log<T>(&self, read: impl FnOnce(&mut Log) -> T) -> T {
        read(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long the model takes before it answers this request.
    fn thinking(&self, request: &ModelRequest) -> Duration {
        self.replies
            .get(position_of(request))
            .map_or(Duration::ZERO, |reply| reply.thinking)
    }

    fn play(&self, request: ModelRequest) -> Events {
        if self.records {
            self.log(|log| log.requests.push(request.clone()));
        }
        let position = position_of(&request);
        match self.find(position, &request.history) {
            Ok(reply) => self.say(position, reply, &request),
            Err(surprise) => {
                self.log(|log| log.surprises.push(surprise.clone()));
                vec![Err(self.error(ErrorClass::BadRequest, surprise))]
            }
        }
    }

    /// The reply at `position`, if the request is as it should be; else what is wrong.
    fn find(&self, position: usize, history: &[Arc<Entry>]) -> Result<&ScriptedReply, String> {
        validate_history(history).map_err(|error| error.to_string())?;
        let reply = self.replies.get(position).ok_or_else(|| {
            format!(
                "{} has {} replies; the model was called for reply {}",
                self.name,
                self.replies.len(),
                position + 1
            )
        })?;
        let new: Vec<&str> = history
            .iter()
            .rev()
            .take_while(|entry| !matches!(entry.body, Body::Assistant(_)))
            .flat_map(|entry| texts(entry))
            .collect();
        let occurs = |wanted: &str| new.iter().any(|text| text.contains(wanted));
        let at = match &reply.place {
            Some(place) => format!("{place}: "),
            None => String::new(),
        };
        let number = position + 1;
        if let Some(missing) = reply.expect.iter().find(|wanted| !occurs(wanted)) {
            return Err(format!(
                "{at}reply {number} expects {missing:?} in what was sent since the model's last message, and \
                 it is not there"
            ));
        }
        if let Some(found) = reply.expect_not.iter().find(|unwanted| occurs(unwanted)) {
            return Err(format!(
                "{at}reply {number} expects that {found:?} is not in what was sent since the model's last \
                 message, and it is there"
            ));
        }
        Ok(reply)
    }

    fn say(&self, position: usize, reply: &ScriptedReply, request: &ModelRequest) -> Events {
        if let Some(error) = self.next_error(position, reply) {
            let text: String = reply.text.chars().take(error.after_chars).collect();
            let mut events: Events = pieces(&text, reply.chunk_chars)
                .map(|piece| Ok(StreamEvent::Text(piece)))
                .collect();
            let failure = self.error(error.class, error.message.clone());
            events.push(Err(ProviderError {
                retry_after: error.retry_after,
                ..failure
            }));
            return events;
        }
        let mut whole = match whole_reply(&message(position, reply), &self.id, request) {
            Ok(whole) => whole,
            Err(malformed) => return vec![Err(self.error(ErrorClass::MalformedReply, malformed.0))],
        };
        whole.usage = reply.usage;
        if let Some(finish) = reply.finish {
            whole.finish = finish;
        }
        self.log(|log| log.played.insert(position));
        let reasoning = pieces(&reply.reasoning, reply.chunk_chars).map(StreamEvent::Reasoning);
        let text = pieces(&reply.text, reply.chunk_chars).map(StreamEvent::Text);
        reasoning
            .chain(text)
            .chain([StreamEvent::Done(Box::new(whole))])
            .map(Ok)
            .collect()
    }

    /// The error that this try at the reply ends with.
    fn next_error<'a>(&self, position: usize, reply: &'a ScriptedReply) -> Option<&'a ScriptedError> {
        self.log(|log| {
            let failed = log.failed.entry(position).or_default();
            let error = match reply.errors.get(*failed) {
                Some(error) => {
                    *failed += 1;
                    Some(error)
                }
                None if reply.is_only_errors() => reply.errors.last(),
                None => None,
            };
            if reply.is_only_errors() && *failed == reply.errors.len() {
                log.played.insert(position);
            }
            error
        })
    }

    fn error(&self, class: ErrorClass, message: impl Into<String>) -> ProviderError {
        ProviderError::new(self.id.clone(), class, message)
    }
}

/// The reply as Chat Completions would give it.
fn message(position: usize, reply: &ScriptedReply) -> Value {
    let calls: Vec<Value> = reply
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            json!({
                "index": index,
                "id": format!("scripted_{}_{index}", position + 1),
                "type": "function",
                "function": {"name": call.tool, "arguments": call.arguments},
            })
        })
        .collect();
    json!({
        "role": "assistant",
        "content": reply.text,
        "reasoning_content": reply.reasoning,
        "tool_calls": calls,
    })
}

/// The texts of an entry that did not come from the model.
fn texts(entry: &Entry) -> Vec<&str> {
    match &entry.body {
        Body::User(message) => message
            .api_content()
            .iter()
            .filter_map(Content::as_text)
            .collect(),
        Body::Assistant(_) => Vec::new(),
        Body::Results(results) => results
            .results
            .iter()
            .flat_map(|result| &result.content)
            .filter_map(Content::as_text)
            .collect(),
    }
}

/// `text` in pieces of `chars` characters, or in one; none for an empty text.
fn pieces(text: &str, chars: Option<usize>) -> impl Iterator<Item = String> {
    let chars = chars.unwrap_or(usize::MAX).max(1);
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let piece: String = rest.by_ref().take(chars).collect();
        (!piece.is_empty()).then_some(piece)
    })
}
