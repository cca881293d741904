//! The values of a rules file: what conditions compare with, and how they are shown.

use super::condition::{Number, Operand, Operator};
use super::error::shown;
use crate::{Classification, FieldKind, Hook, Role};
use regex::{Regex, RegexBuilder};
use toml::de::{DeArray, DeValue};

/// Largest regular expression, as written and compiled.
const LONGEST_REGEX: usize = 2_000;
const LARGEST_REGEX: usize = 1 << 20;
const DEEPEST_REGEX: u32 = 50;

/// The names of the fields of a hook.
pub(super) fn fields(hook: Hook) -> String {
    let names: Vec<&str> = hook.fields().map(|field| field.name.as_str()).collect();
    names.join(", ")
}

/// A regular expression within the limits; else what is wrong with it.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > LONGEST_REGEX {
        return Err(format!("it has {} bytes", pattern.len()));
    }
    let regex = RegexBuilder::new(pattern)
        .size_limit(LARGEST_REGEX)
        .dfa_size_limit(LARGEST_REGEX)
        .nest_limit(DEEPEST_REGEX)
        .build();
    regex.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large once it is compiled".to_owned(),
        // The last line says what is wrong, those before draw where.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    })
}

/// What a condition compares a field of this kind with.
pub(super) fn operand(value: &DeValue<'_>, kind: FieldKind) -> Option<Operand> {
    let text = || value.as_str().map(|text| Operand::Text(text.into()));
    match kind {
        FieldKind::Text | FieldKind::Texts => text(),
        FieldKind::Word(words) => {
            let word = value.as_str()?;
            words.contains(&word).then(|| Operand::Text(word.into()))
        }
        FieldKind::Number => number(value).map(Operand::Number),
        FieldKind::Boolean => value.as_bool().map(Operand::Boolean),
        FieldKind::Level => value.as_str()?.parse::<Classification>().ok().map(Operand::Level),
        FieldKind::Role => value.as_str()?.parse::<Role>().ok().map(Operand::Role),
        FieldKind::Argument => text()
            .or_else(|| number(value).map(Operand::Number))
            .or_else(|| value.as_bool().map(Operand::Boolean)),
    }
}

/// Those of a list, unless it is empty or one of them does not fit.
pub(super) fn operands(list: &DeArray<'_>, kind: FieldKind) -> Option<Box<[Operand]>> {
    if list.is_empty() {
        return None;
    }
    list.iter().map(|value| operand(value.get_ref(), kind)).collect()
}

pub(super) fn number(value: &DeValue<'_>) -> Option<Number> {
    match value {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| Number::Whole(number.into())),
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().ok()?;
            number.is_finite().then_some(Number::Broken(number))
        }
        _ => None,
    }
}

/// What to write as a value.
pub(super) fn expected(kind: FieldKind, operator: Operator) -> String {
    let one = match (operator, kind) {
        (Operator::Exists, _) => return "true or false".to_owned(),
        (Operator::Contains, _) => return "a text that is not empty".to_owned(),
        (Operator::Matches, _) => return "a regular expression, as a text".to_owned(),
        (Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte, FieldKind::Argument)
        | (_, FieldKind::Number) => "a number".to_owned(),
        (_, FieldKind::Text | FieldKind::Texts) => "a text".to_owned(),
        (_, FieldKind::Boolean) => "true or false".to_owned(),
        (_, FieldKind::Level) => one_of(&Classification::ALL.map(Classification::as_str)),
        (_, FieldKind::Role) => one_of(&Role::ALL.map(Role::as_str)),
        (_, FieldKind::Word(words)) => one_of(words),
        (_, FieldKind::Argument) => "a text, a number, true or false".to_owned(),
    };
    match operator {
        Operator::In => format!("a list that is not empty, each of it {one}"),
        _ => one,
    }
}

pub(super) fn one_of(words: &[&str]) -> String {
    format!("one of {}", words.join(", "))
}

/// A value as the file has it, for people; `short` for errors.
pub(super) fn written(value: &DeValue<'_>, short: bool) -> String {
    match value {
        DeValue::String(text) if short => shown(text),
        DeValue::String(text) => crate::escape::quoted(text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(boolean) => boolean.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(list) if short && list.len() > 8 => format!("a list of {} values", list.len()),
        DeValue::Array(list) => {
            let entries: Vec<_> = list.iter().map(|value| written(value.get_ref(), short)).collect();
            format!("[{}]", entries.join(", "))
        }
        DeValue::Table(_) => "a table".to_owned(),
    }
}

pub(super) fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
