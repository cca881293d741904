//! The repeat detector. It keeps nothing: the transcript has every call of the turn with its result.

use super::MAX_REPEATS;
use serde_json::{Map, Value};
use std::sync::Arc;
use tidegate_message::{AssistantMessage, Body, Content, Entry, ToolCall, ToolResult, Transcript};
use tidegate_policy::{CallId, Label, ToolName, TurnId};

/// A call that had the same result too often.
pub(super) struct Repeated {
    pub(super) tool: ToolName,
    pub(super) times: u32,
}

/// The call of the unit that was just closed that had the same result most often in the turn, if that is too
/// often. The call `except` does not count.
pub(super) fn in_last_unit(
    transcript: &Transcript,
    turn: TurnId,
    except: Option<&CallId>,
) -> Option<Repeated> {
    let latest = answered_in(transcript, turn).next()?;
    let most = pairs(latest)
        .filter(|(call, _)| except != Some(&call.id))
        .map(|(call, result)| (call, times(transcript, turn, call, result)))
        .max_by_key(|(_, times)| *times)?;
    let (call, times) = most;
    (times >= MAX_REPEATS).then(|| Repeated {
        tool: call.name.clone(),
        times,
    })
}

/// The label of the last unit: what is said about it is no lower.
pub(super) fn label_of_last_unit(transcript: &Transcript) -> Label {
    Label::join_all(
        transcript
            .entries()
            .iter()
            .rev()
            .take_while(|entry| !matches!(entry.body, Body::User(_)))
            .take(2)
            .map(|entry| entry.label),
    )
}

type Answered<'a> = (&'a AssistantMessage, &'a [ToolResult]);

/// The messages of the turn whose calls are answered, with their results, latest first.
fn answered_in(transcript: &Transcript, turn: TurnId) -> impl Iterator<Item = Answered<'_>> {
    let entries = transcript.entries();
    let results = entries.iter().enumerate().rev();
    results
        .take_while(move |(_, entry)| entry.turn == turn)
        .filter_map(move |(index, entry)| {
            let calls: &Arc<Entry> = entries.get(index.checked_sub(1)?)?;
            match (&calls.body, &entry.body) {
                (Body::Assistant(message), Body::Results(results)) => Some((message, &*results.results)),
                _ => None,
            }
        })
}

fn pairs<'a>((message, results): Answered<'a>) -> impl Iterator<Item = (&'a ToolCall, &'a ToolResult)> {
    // The transcript has them in the same order.
    message.calls().zip(results)
}

/// How often this call had this result in the turn.
fn times(transcript: &Transcript, turn: TurnId, call: &ToolCall, result: &ToolResult) -> u32 {
    // Read once, and only if another call needs it.
    let mut arguments: Option<Arguments<'_>> = None;
    let mut same = |(other, its): &(&ToolCall, &ToolResult)| {
        // Cheap first: results differ nearly always.
        other.name == call.name
            && its.status == result.status
            && said_the_same(its, result)
            && (other.arguments == call.arguments
                || *arguments.get_or_insert_with(|| Arguments::of(call)) == Arguments::of(other))
    };
    let count = answered_in(transcript, turn)
        .flat_map(pairs)
        .filter(|pair| same(pair))
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether two results say the same. The name under which the full text of a cut result is kept is different for
/// each call and says nothing.
fn said_the_same(one: &ToolResult, other: &ToolResult) -> bool {
    if one.source.is_none() && other.source.is_none() {
        return one.content == other.content;
    }
    one.content.len() == other.content.len()
        && one
            .content
            .iter()
            .zip(&other.content)
            .all(|(a, b)| without_source(a, one) == without_source(b, other))
}

fn without_source(part: &Content, result: &ToolResult) -> Content {
    match (part, &result.source) {
        (Content::Text { text }, Some(source)) => Content::text(text.replace(source.as_str(), "")),
        (part, _) => part.clone(),
    }
}

/// Arguments as they are compared: as JSON, whatever the order of keys and the white space.
#[derive(PartialEq)]
enum Arguments<'a> {
    Object(Map<String, Value>),
    Unreadable(&'a str),
}

impl<'a> Arguments<'a> {
    fn of(call: &'a ToolCall) -> Self {
        call.parse_arguments()
            .map_or_else(|_| Self::Unreadable(call.arguments.trim()), Self::Object)
    }
}
