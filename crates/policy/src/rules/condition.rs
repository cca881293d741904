//! One condition of a rule: a field, an operator, a value.

use super::arguments;
use super::facts::Fact;
use crate::{Classification, FieldKind, FieldName, Role};
use regex::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How a field is compared with the value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The same. Texts to the letter, in the same case.
    Equals,
    /// Not the same.
    NotEquals,
    /// Greater: numbers by value, levels and roles by rank.
    Gt,
    /// Greater or the same.
    Gte,
    /// Less.
    Lt,
    /// Less or the same.
    Lte,
    /// The text holds this one, in the same case.
    Contains,
    /// The regular expression is found in the text.
    Matches,
    /// The same as one of a list.
    In,
    /// Whether there is a value at all: `value` is `true` (the default) or `false`.
    Exists,
}

impl Operator {
    /// All operators.
    pub const ALL: [Self; 10] = [
        Self::Equals,
        Self::NotEquals,
        Self::Gt,
        Self::Gte,
        Self::Lt,
        Self::Lte,
        Self::Contains,
        Self::Matches,
        Self::In,
        Self::Exists,
    ];

    /// The name, as rules write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "not_equals",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::Contains => "contains",
            Self::Matches => "matches",
            Self::In => "in",
            Self::Exists => "exists",
        }
    }

    /// Whether it can be used with fields of this kind.
    pub fn fits(self, kind: FieldKind) -> bool {
        match self {
            Self::Equals | Self::NotEquals | Self::Exists => true,
            Self::In => kind != FieldKind::Boolean,
            Self::Gt | Self::Gte | Self::Lt | Self::Lte => matches!(
                kind,
                FieldKind::Number | FieldKind::Level | FieldKind::Role | FieldKind::Argument
            ),
            Self::Contains | Self::Matches => {
                matches!(kind, FieldKind::Text | FieldKind::Texts | FieldKind::Argument)
            }
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A number of a rule or a fact. Whole numbers compare exactly.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Whole(i128),
    /// Finite.
    Broken(f64),
}

impl Number {
    fn of_json(number: &serde_json::Number) -> Option<Self> {
        number
            .as_i128()
            .map(Self::Whole)
            .or_else(|| number.as_f64().map(Self::Broken))
    }

    /// A text that is a number and nothing else.
    fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        text.parse().map(Self::Whole).ok().or_else(|| {
            let number: f64 = text.parse().ok()?;
            number.is_finite().then_some(Self::Broken(number))
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "one of the two is inexact anyway")]
    fn broken(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Broken(number) => number,
        }
    }

    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(number), Self::Whole(other)) => Some(number.cmp(&other)),
            (number, other) => number.broken().partial_cmp(&other.broken()),
        }
    }
}

/// What a condition compares with.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Text(Box<str>),
    Number(Number),
    Boolean(bool),
    Level(Classification),
    Role(Role),
}

/// An operator with its value.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Exists(bool),
    /// Never `Contains`, `Matches`, `In` or `Exists`.
    Compare(Operator, Operand),
    Contains(Box<str>),
    Matches(Box<Regex>),
    In(Box<[Operand]>),
}

/// A condition, ready to be checked.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) field: FieldName,
    /// Of [`FieldName::Argument`].
    pub(super) path: Box<str>,
    pub(super) test: Test,
    /// It as text: field, operator, value.
    pub(super) text: Arc<str>,
    /// That it is not met.
    pub(super) unmet: Arc<str>,
    /// That it counts as met in doubt.
    pub(super) in_doubt: Arc<str>,
}

/// How a condition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Yes,
    No,
    /// It counts as met, because it cannot be told.
    InDoubt,
}

impl Met {
    fn certainly(met: bool) -> Self {
        if met { Self::Yes } else { Self::No }
    }

    fn in_doubt(strictly: bool) -> Self {
        if strictly { Self::No } else { Self::InDoubt }
    }
}

/// One value of a fact.
#[derive(Clone, Copy)]
enum Entry<'a> {
    Text(&'a str),
    Number(Number),
    Boolean(bool),
    Level(Classification),
    Role(Role),
    /// A number of a size nothing here can hold.
    Incomparable,
}

impl Entry<'_> {
    fn of_json(value: &Value) -> Entry<'_> {
        match value {
            Value::String(text) => Entry::Text(text),
            Value::Number(number) => Number::of_json(number).map_or(Entry::Incomparable, Entry::Number),
            Value::Bool(boolean) => Entry::Boolean(*boolean),
            Value::Null | Value::Array(_) | Value::Object(_) => Entry::Incomparable,
        }
    }
}

impl Condition {
    /// Whether `fact` meets it. `strictly`: every value has to, and doubt does not; else one is enough, and doubt
    /// is too.
    pub(super) fn is_met(&self, fact: Fact<'_>, strictly: bool) -> Met {
        let one = |entry| match self.test {
            Test::Exists(wanted) => Met::certainly(wanted),
            _ => match self.meets(entry) {
                Some(met) => Met::certainly(met),
                None => Met::in_doubt(strictly),
            },
        };
        match fact {
            Fact::Unknown => Met::in_doubt(strictly),
            Fact::Absent => Met::certainly(matches!(self.test, Test::Exists(false))),
            Fact::Text(text) => one(Entry::Text(text)),
            Fact::Number(number) => one(Entry::Number(Number::Whole(number.into()))),
            Fact::Boolean(boolean) => one(Entry::Boolean(boolean)),
            Fact::Level(level) => one(Entry::Level(level)),
            Fact::Role(role) => one(Entry::Role(role)),
            Fact::Texts(texts) => {
                let mut found = Found::default();
                // Whether all was looked at does not matter: it was until it was settled.
                let _settled = texts
                    .iter()
                    .try_for_each(|text| self.look(Entry::Text(text), strictly, &mut found));
                self.settled(&found, strictly)
            }
            Fact::Arguments(value) => {
                let mut found = Found::default();
                let _settled = arguments::visit(value, &self.path, &mut |value| {
                    self.look(Entry::of_json(value), strictly, &mut found)
                });
                self.settled(&found, strictly)
            }
        }
    }

    /// Looks at one of several values; whether that settles it.
    fn look(&self, entry: Entry<'_>, strictly: bool, found: &mut Found) -> ControlFlow<()> {
        found.any = true;
        if matches!(self.test, Test::Exists(_)) {
            return ControlFlow::Break(());
        }
        match self.meets(entry) {
            Some(true) => found.met = true,
            Some(false) => found.unmet = true,
            None => found.doubt = true,
        }
        let settled = if strictly {
            found.unmet || found.doubt
        } else {
            found.met
        };
        if settled {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn settled(&self, found: &Found, strictly: bool) -> Met {
        match self.test {
            Test::Exists(wanted) => Met::certainly(found.any == wanted),
            _ if !found.any => Met::No,
            _ if strictly => Met::certainly(!found.unmet && !found.doubt),
            _ if found.met => Met::Yes,
            _ if found.doubt => Met::InDoubt,
            _ => Met::No,
        }
    }

    /// Whether one value does; nothing if it cannot be compared.
    fn meets(&self, entry: Entry<'_>) -> Option<bool> {
        match &self.test {
            Test::Exists(_) => None,
            // By far the most common, and lengths tell most texts apart.
            Test::Compare(Operator::Equals, Operand::Text(wanted)) if let Entry::Text(text) = entry => {
                Some(*text == **wanted)
            }
            Test::Compare(operator, operand) => {
                let ordering = compare(entry, operand)?;
                Some(match operator {
                    Operator::Equals => ordering.is_eq(),
                    Operator::NotEquals => ordering.is_ne(),
                    Operator::Gt => ordering.is_gt(),
                    Operator::Gte => ordering.is_ge(),
                    Operator::Lt => ordering.is_lt(),
                    Operator::Lte => ordering.is_le(),
                    Operator::Contains | Operator::Matches | Operator::In | Operator::Exists => return None,
                })
            }
            Test::Contains(wanted) => Some(text_of(entry)?.contains(&**wanted)),
            Test::Matches(pattern) => Some(pattern.is_match(&text_of(entry)?)),
            Test::In(operands) => {
                let mut comparable = false;
                for operand in operands {
                    match compare(entry, operand) {
                        Some(Ordering::Equal) => return Some(true),
                        Some(_) => comparable = true,
                        None => {}
                    }
                }
                comparable.then_some(false)
            }
        }
    }
}

#[derive(Default)]
struct Found {
    any: bool,
    met: bool,
    unmet: bool,
    doubt: bool,
}

/// The order of a value and an operand of the same type, or that can be read as one of the same type.
fn compare(entry: Entry<'_>, operand: &Operand) -> Option<Ordering> {
    match (entry, operand) {
        (Entry::Text(text), Operand::Text(wanted)) => Some(text.cmp(wanted)),
        (Entry::Number(_) | Entry::Boolean(_), Operand::Text(wanted)) => Some((*text_of(entry)?).cmp(wanted)),
        (Entry::Number(number), Operand::Number(wanted)) => number.compare(*wanted),
        (Entry::Text(text), Operand::Number(wanted)) => Number::of_text(text)?.compare(*wanted),
        (Entry::Boolean(boolean), Operand::Boolean(wanted)) => Some(boolean.cmp(wanted)),
        (Entry::Text(text), Operand::Boolean(wanted)) => {
            text.parse::<bool>().ok().map(|boolean| boolean.cmp(wanted))
        }
        (Entry::Level(level), Operand::Level(wanted)) => Some(level.cmp(wanted)),
        (Entry::Role(role), Operand::Role(wanted)) => Some(role.cmp(wanted)),
        (
            Entry::Number(_)
            | Entry::Boolean(_)
            | Entry::Level(_)
            | Entry::Role(_)
            | Entry::Text(_)
            | Entry::Incomparable,
            _,
        ) => None,
    }
}

fn text_of(entry: Entry<'_>) -> Option<Cow<'_, str>> {
    match entry {
        Entry::Text(text) => Some(Cow::Borrowed(text)),
        Entry::Number(Number::Whole(number)) => Some(Cow::Owned(number.to_string())),
        Entry::Number(Number::Broken(number)) => Some(Cow::Owned(number.to_string())),
        Entry::Boolean(boolean) => Some(Cow::Borrowed(if boolean { "true" } else { "false" })),
        Entry::Level(_) | Entry::Role(_) | Entry::Incomparable => None,
    }
}
