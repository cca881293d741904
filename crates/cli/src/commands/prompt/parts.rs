//! The parts of a request's body, whatever the wire: `model`, `tools[3]`, `messages[12]`.

use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Characters of a line that are shown.
const LINE: usize = 400;

/// A part of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// The member of the body it belongs to.
    key: &'a str,
    /// Which element of it, if that is a list.
    index: Option<usize>,
    /// Its bytes.
    json: &'a str,
}

impl Part<'_> {
    pub(super) fn name(&self) -> String {
        match self.index {
            Some(index) => format!("{}[{index}]", self.key),
            None => self.key.to_owned(),
        }
    }

    fn is_same_place(&self, other: &Part<'_>) -> bool {
        self.key == other.key && self.index == other.index
    }
}

/// The bodies' members, to be kept while their parts are looked at.
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Those of `body`, in its order. None of what is no JSON object.
    pub(super) fn of(body: &'a str) -> Self {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(body).unwrap_or_default();
        let mut members: Vec<(String, &RawValue)> = members.into_iter().collect();
        // They are pieces of the body, so their addresses have its order.
        members.sort_by_key(|(_, raw)| raw.get().as_ptr().addr());
        Self(members)
    }

    /// Its parts up to the last list: what comes after is the same in every request.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        let mut until = 0;
        for (key, raw) in &self.0 {
            match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
                Ok(elements) => {
                    let elements = elements.into_iter().enumerate();
                    parts.extend(elements.map(|(index, element)| Part {
                        key,
                        index: Some(index),
                        json: element.get(),
                    }));
                    until = parts.len();
                }
                Err(_) => parts.push(Part {
                    key,
                    index: None,
                    json: raw.get(),
                }),
            }
        }
        parts.truncate(until);
        parts
    }
}

/// The first part in which a later request does not go on where one before it ended, and how many of the part's bytes are
/// the same.
pub(super) fn first_difference(before: &[Part<'_>], after: &[Part<'_>]) -> Option<(String, usize)> {
    let mut list = "";
    for (index, part) in before.iter().enumerate() {
        match after.get(index) {
            Some(other) if other.is_same_place(part) && other.json == part.json => list = part.key,
            Some(other) if other.is_same_place(part) => {
                return Some((part.name(), common_prefix(part.json, other.json)));
            }
            // A list has grown in front of what followed it.
            Some(other) if other.index.is_some() && other.key == list => return Some((other.name(), 0)),
            Some(_) | None => return Some((part.name(), 0)),
        }
    }
    None
}

/// How many bytes two texts begin with alike.
pub(super) fn common_prefix(one: &str, other: &str) -> usize {
    let pairs = one.bytes().zip(other.bytes());
    pairs.take_while(|(one, other)| one == other).count()
}

/// The parts as lines for people: the texts in them as they read, not as JSON.
pub(super) fn lines(parts: &[Part<'_>]) -> String {
    let mut text = String::new();
    for part in parts {
        text.push_str(&format!("── {}\n", part.name()));
        let value = serde_json::from_str(part.json).unwrap_or(Value::Null);
        describe(&value, 0, &mut text);
    }
    text
}

fn describe(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let mut line = |shown: &str| {
        text.push_str(&indent);
        text.push_str(&cut(shown));
        text.push('\n');
    };
    match value {
        Value::String(string) => string.split('\n').for_each(line),
        Value::Array(values) => {
            for value in values {
                text.push_str(&format!("{indent}-\n"));
                describe(value, depth.saturating_add(1), text);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(string) if !string.contains('\n') => {
                        text.push_str(&format!("{indent}{key}: {}\n", cut(string)));
                    }
                    Value::String(_) | Value::Array(_) | Value::Object(_) => {
                        text.push_str(&format!("{indent}{key}:\n"));
                        describe(value, depth.saturating_add(1), text);
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) => {
                        text.push_str(&format!("{indent}{key}: {value}\n"));
                    }
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => line(&value.to_string()),
    }
}

fn cut(line: &str) -> String {
    let more = line.chars().count().saturating_sub(LINE);
    if more == 0 {
        return line.to_owned();
    }
    let shown: String = line.chars().take(LINE).collect();
    format!("{shown}… and {more} characters more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_request_differs_from_the_first_part_on_that_it_does_not_have() {
        let before = r#"{"model":"m","tools":[{"a":1}],"messages":["s","q"],"stream":true}"#;
        for (after, expected) in [
            (before, None),
            // More messages, and another constant behind them.
            (
                r#"{"model":"m","tools":[{"a":1}],"messages":["s","q","a"],"stream":false}"#,
                None,
            ),
            // Messages that follow other tools are computed anew.
            (
                r#"{"model":"m","tools":[{"a":1},{"b":2}],"messages":["s","q"]}"#,
                Some(("tools[1]", 0)),
            ),
            (
                r#"{"model":"n","tools":[{"a":1}],"messages":["s","q"]}"#,
                Some(("model", 1)),
            ),
            (
                r#"{"model":"m","tools":[{"a":2}],"messages":["s","q"]}"#,
                Some(("tools[0]", 5)),
            ),
            (r#"{"model":"m","messages":["s","q"]}"#, Some(("tools[0]", 0))),
            (
                r#"{"model":"m","tools":[{"a":1}],"messages":["s"]}"#,
                Some(("messages[1]", 0)),
            ),
            (
                r#"{"model":"m","tools":[{"a":1}],"messages":["s","quest"]}"#,
                Some(("messages[1]", 2)),
            ),
        ] {
            let (one, other) = (Members::of(before), Members::of(after));
            let (one, other) = (one.parts(), other.parts());
            let expected = expected.map(|(part, at): (&str, usize)| (part.to_owned(), at));
            assert_eq!(first_difference(&one, &other), expected, "{after}");
        }
    }

    #[test]
    fn parts_read_as_text() {
        let body = r#"{"model":"m","messages":[{"content":"one\ntwo","role":"user"},{"calls":[{"id":"x"}],"empty":null,"n":3,"role":"tool"}]}"#;
        let members = Members::of(body);
        assert_eq!(
            lines(&members.parts()),
            "── model\nm\n── messages[0]\ncontent:\n  one\n  two\nrole: user\n── messages[1]\ncalls:\n  -\n    id: x\nempty: null\nn: 3\nrole: tool\n"
        );
    }

    #[test]
    fn what_is_no_request_has_no_parts() {
        for body in ["", "[1]", "{\"a\"", "null", "{}"] {
            assert!(Members::of(body).parts().is_empty(), "{body}");
        }
    }
}
