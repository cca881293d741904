//! The words the rules share.

use crate::escape::quoted;
use crate::{Classification, Escalation, Origin, ResourceKind, ResourceRef, SessionFacts};

/// Longest name shown whole, in characters; of longer ones the beginning and the end are.
const LONGEST_NAME: usize = 200;
const SHOWN_BEGINNING: usize = 120;
const SHOWN_END: usize = 60;

/// Most names listed of what raised a taint.
const MOST_NAMES: usize = 3;

/// What makes a refused read possible.
pub(super) const HIGHER_CLEARANCE: &str = "possible: ask in a session with a higher clearance, which is the \
    lowest of those set in [policy], for the user, for the channel and for the providers";

/// A name, so that it can be taken for nothing else: plain ones as they are, all others in quotes and
/// escaped, very long ones cut in the middle.
pub(super) fn shown(name: &str) -> String {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b'~' | b'+')
    };
    // A name holds at least as many bytes as characters.
    if name.len() <= LONGEST_NAME && !name.is_empty() && name.bytes().all(plain) {
        return name.to_owned();
    }
    let length = name.chars().count();
    if length <= LONGEST_NAME {
        return quoted(name);
    }
    let beginning: String = name.chars().take(SHOWN_BEGINNING).collect();
    let end: String = name.chars().skip(length - SHOWN_END).collect();
    format!("{} … {} ({length} characters)", quoted(&beginning), quoted(&end))
}

/// A resource with its kind, where the kind does not go without saying.
pub(super) fn shown_resource(what: &ResourceRef) -> String {
    let name = shown(&what.name);
    match what.kind {
        ResourceKind::Path | ResourceKind::Recipient => name,
        ResourceKind::Url => format!("the address {name}"),
        ResourceKind::Command => format!("the command {name}"),
        ResourceKind::Session => format!("the session {name}"),
    }
}

/// The lines of an explanation: the first, then the others indented.
pub(super) fn lines<const N: usize>(first: String, others: [String; N]) -> String {
    others
        .into_iter()
        .fold(first, |text, line| format!("{text}\n  {line}"))
}

/// How the context came to hold data of `level`.
pub(super) fn how_it_came_to(level: Classification, session: SessionFacts<'_>) -> String {
    match session.taint.step_to(level) {
        Some(step) => format!("the session became {}", step_taken(step)),
        None if level <= session.taint.label().classification => {
            format!(
                "the session has been {} from its start",
                session.taint.label().classification
            )
        }
        None => format!("the message with the call was written in a context of level {level}"),
    }
}

fn step_taken(step: &Escalation) -> String {
    let Escalation { to, origin, turn, .. } = step;
    let level = to.classification;
    match origin {
        Origin::Owner => format!("{level} at turn {turn}, when text of that level was given to it"),
        Origin::Tool { tool, resources, .. } if resources.is_empty() => {
            format!("{level} at turn {turn}, when it ran {}", shown(tool.as_str()))
        }
        Origin::Tool { tool, resources, .. } => {
            let names = some_of(resources.iter().map(|name| shown(name)).collect());
            format!(
                "{level} at turn {turn}, when it read {} with {}",
                listed(&names),
                shown(tool.as_str())
            )
        }
        Origin::Session { session } => {
            format!(
                "{level} at turn {turn}, with what the session {} handed over",
                shown(session)
            )
        }
    }
}

/// The first few of `names`, and how many more there are.
pub(super) fn some_of(mut names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        names.truncate(MOST_NAMES);
        names.push(format!("{more} more"));
    }
    names
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// `a`, `a, or b`, `a, b, or c`.
pub(super) fn alternatives(ways: &[String]) -> String {
    match ways {
        [others @ .., last] if !others.is_empty() => format!("{}, or {last}", others.join(", ")),
        _ => ways.concat(),
    }
}
