//! Taking out of a text what REDACT rules find.

use crate::{Hook, Rule, RuleId, RuleSet};
use serde_json::Value;
use std::ops::Range;

/// A text, and which rules took something out of it.
///
/// It has the label it had: redaction is not declassification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<T = String> {
    /// The text, with `[REDACTED:rule-id]` in place of what was found.
    pub text: T,
    /// The rules that found something, in the order of their priority, each once. Empty: nothing was changed.
    pub by: Vec<RuleId>,
}

/// A redaction of rules that are not there: the rules changed since the flow was judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the rule `{rule}` was to redact this at {hook}, and is not among the rules any more; judge the flow again with \
     the rules in effect, and until then do not let the text through"
)]
pub struct UnknownRedaction {
    /// The rule.
    pub rule: RuleId,
    /// Where it was asked.
    pub hook: Hook,
}

/// One step into a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonStep<'a> {
    /// Into the member of this name.
    Member(&'a str),
    /// Into the entry of this index.
    Entry(usize),
}

/// How a string of a JSON value is redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonText {
    /// Not at all: thinking and signatures, or what the protocol needs, such as types and ids.
    Untouched,
    /// By itself.
    Alone,
    /// As a part of one text with all others that are: what is found may go across parts.
    Part,
}

/// Redacts with certain rules.
///
/// Every pattern looks at the text as it came. Where what rules found overlaps, all of it is replaced by one
/// mark with the name of the rule that comes first; what only touches has its own. So the result does not depend on
/// the order in which things are found, and no pattern sees a mark.
#[derive(Clone, Debug, Default)]
pub struct Redactor<'r> {
    rules: Vec<&'r Rule>,
}

impl RuleSet {
    /// Redacts with these rules of a hook: those an evaluation there named
    /// ([`Evaluation::redactions`](crate::Evaluation::redactions)).
    ///
    /// # Errors
    /// If one of them is not there, or does not redact.
    pub fn redactor(&self, hook: Hook, rules: &[RuleId]) -> Result<Redactor<'_>, UnknownRedaction> {
        let find = |id: &RuleId| {
            let rule = self
                .at(hook)
                .iter()
                .find(|rule| rule.id() == id && rule.pattern().is_some());
            rule.ok_or_else(|| UnknownRedaction {
                rule: id.clone(),
                hook,
            })
        };
        let rules = rules.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Redactor { rules })
    }
}

/// Something found: where, and by which of the rules.
#[derive(Clone, Debug)]
struct Find {
    at: Range<usize>,
    rule: usize,
}

impl Redactor<'_> {
    /// Whether there is no rule, so that nothing is ever changed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Redacts one text.
    pub fn text(&self, text: &str) -> Redacted {
        let Redacted { text: parts, by } = self.parts(&[text]);
        Redacted {
            text: parts.concat(),
            by,
        }
    }

    /// Redacts a text that comes in parts: there are as many afterwards. What is found in one part, and what is
    /// found across parts as if they were one text, is replaced; the mark stands where it began.
    pub fn parts(&self, parts: &[&str]) -> Redacted<Vec<String>> {
        let whole = parts.concat();
        let mut finds = self.finds(&whole, 0);
        if parts.len() > 1 {
            let mut start = 0;
            for part in parts {
                finds.extend(self.finds(part, start));
                start += part.len();
            }
        }
        let mut found: Vec<bool> = vec![false; self.rules.len()];
        for find in &finds {
            if let Some(found) = found.get_mut(find.rule) {
                *found = true;
            }
        }
        let by = self.rules.iter().zip(found);
        let by = by
            .filter(|(_, found)| *found)
            .map(|(rule, _)| rule.id().clone())
            .collect();
        let finds = merged(finds);
        let mut start = 0;
        let text = parts
            .iter()
            .map(|part| {
                let range = start..start + part.len();
                start = range.end;
                self.written(&whole, range, &finds)
            })
            .collect();
        Redacted { text, by }
    }

    /// Redacts the strings of a JSON value, such as a message in a provider's own form; what `choose` says of
    /// each by its path decides how. Names of members and all other values stay.
    ///
    /// Parts follow each other as they stand in the value: entries in order, members by name.
    pub fn json(&self, value: &Value, choose: &dyn Fn(&[JsonStep<'_>]) -> JsonText) -> Redacted<Value> {
        let mut value = value.clone();
        let mut parts = Vec::new();
        let mut by: Vec<RuleId> = Vec::new();
        visit(
            &mut value,
            &mut Vec::new(),
            &mut |path, text| match choose(path) {
                JsonText::Untouched => {}
                JsonText::Alone => {
                    let redacted = self.text(text);
                    *text = redacted.text;
                    by.extend(redacted.by);
                }
                JsonText::Part => parts.push(text.clone()),
            },
        );
        let borrowed: Vec<&str> = parts.iter().map(String::as_str).collect();
        let redacted = self.parts(&borrowed);
        by.extend(redacted.by);
        let mut texts = redacted.text.into_iter();
        visit(&mut value, &mut Vec::new(), &mut |path, text| {
            if choose(path) == JsonText::Part
                && let Some(redacted) = texts.next()
            {
                *text = redacted;
            }
        });
        let rules = self.rules.iter().map(|rule| rule.id());
        let by = rules.filter(|rule| by.contains(rule)).cloned().collect();
        Redacted { text: value, by }
    }

    fn finds(&self, text: &str, start: usize) -> Vec<Find> {
        let rules = self.rules.iter().enumerate();
        let patterns = rules.filter_map(|(index, rule)| Some((index, rule.pattern()?)));
        patterns
            .flat_map(|(rule, pattern)| {
                pattern
                    .find_iter(text)
                    .filter(|found| !found.is_empty())
                    .map(move |found| Find {
                        at: start + found.start()..start + found.end(),
                        rule,
                    })
            })
            .collect()
    }

    /// The part `range` of `whole`, with marks.
    fn written(&self, whole: &str, range: Range<usize>, finds: &[Find]) -> String {
        let mut written = String::with_capacity(range.len());
        let mut at = range.start;
        let first = finds.partition_point(|find| find.at.end <= range.start);
        let here = finds
            .iter()
            .skip(first)
            .take_while(|find| find.at.start < range.end);
        for find in here {
            written.push_str(whole.get(at..find.at.start).unwrap_or_default());
            if find.at.start >= range.start
                && let Some(rule) = self.rules.get(find.rule)
            {
                written.push_str("[REDACTED:");
                written.push_str(rule.id().as_str());
                written.push(']');
            }
            at = find.at.end.min(range.end);
        }
        written.push_str(whole.get(at..range.end).unwrap_or_default());
        written
    }
}

/// What overlaps as one.
fn merged(mut finds: Vec<Find>) -> Vec<Find> {
    finds.sort_by_key(|find| (find.at.start, find.rule));
    let mut merged: Vec<Find> = Vec::with_capacity(finds.len());
    for find in finds {
        match merged.last_mut() {
            Some(last) if find.at.start < last.at.end => {
                last.at.end = last.at.end.max(find.at.end);
                last.rule = last.rule.min(find.rule);
            }
            _ => merged.push(find),
        }
    }
    merged
}

/// Visits every string in `value` with its path.
fn visit<'v>(
    value: &'v mut Value,
    path: &mut Vec<JsonStep<'v>>,
    visitor: &mut dyn FnMut(&[JsonStep<'v>], &mut String),
) {
    match value {
        Value::String(text) => visitor(path, text),
        Value::Array(entries) => {
            for (index, entry) in entries.iter_mut().enumerate() {
                path.push(JsonStep::Entry(index));
                visit(entry, path, visitor);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                path.push(JsonStep::Member(name));
                visit(member, path, visitor);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
