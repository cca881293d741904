//! What both indexes hold of a point, and how points are chosen.

use serde_json::{Map, Value};
use tidegate_memory::{IndexFilter, PointPayload};
use tidegate_policy::Label;

/// The named vectors.
pub(crate) const DENSE: &str = "dense";
/// Of the learned sparse model.
pub(crate) const SPARSE: &str = "sparse";
/// How often each term stands in the text.
pub(crate) const LEXICAL: &str = "lexical";

const USER: &str = "user_id";
const CHAT: &str = "chat_id";
const LABEL: &str = "label";
const SOURCE: &str = "source_id";
const ARTIFACT: &str = "artifact_name";
const TIME: &str = "time_ms";
const EXPIRES: &str = "expires_ms";

/// What does not end has this end. Ranges are compared as 64-bit floating-point numbers, and this is the largest whole
/// number up to which these are exact: the year 287396.
const NEVER: i64 = 1 << 53;

/// How a field is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// The key by which points of different owners are kept apart.
    Tenant,
    /// Compared whole.
    Keyword,
    /// Compared by order.
    Integer,
}

/// Every field that is filtered.
pub(crate) const FIELDS: [(&str, FieldKind); 7] = [
    (USER, FieldKind::Tenant),
    (CHAT, FieldKind::Keyword),
    (LABEL, FieldKind::Keyword),
    (SOURCE, FieldKind::Keyword),
    (ARTIFACT, FieldKind::Keyword),
    (TIME, FieldKind::Integer),
    (EXPIRES, FieldKind::Integer),
];

/// What a point must meet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// The field is this text.
    Is(&'static str, String),
    /// The field is one of these texts.
    Any(&'static str, Vec<String>),
    /// The field is at least this.
    AtLeast(&'static str, i64),
    /// The field is at most this.
    AtMost(&'static str, i64),
    /// The field is more than this.
    MoreThan(&'static str, i64),
}

/// As a text that no two labels share.
fn label(label: Label) -> String {
    format!("{}/{}", label.classification, label.integrity)
}

/// The conditions of a filter; none if nothing can pass it.
pub(crate) fn conditions(filter: &IndexFilter) -> Option<Vec<Condition>> {
    if filter.labels.is_empty() {
        return None;
    }
    let labels = filter.labels.iter().map(|one| label(*one)).collect();
    let mut conditions = vec![
        Condition::Is(USER, filter.user.as_str().to_owned()),
        Condition::Any(LABEL, labels),
    ];
    let texts = [
        (CHAT, filter.chat.as_deref()),
        (SOURCE, filter.source.as_ref().map(|source| source.as_str())),
        (ARTIFACT, filter.artifact_name.as_deref()),
    ];
    let given = texts
        .into_iter()
        .filter_map(|(field, text)| Some((field, text?.to_owned())));
    conditions.extend(given.map(|(field, text)| Condition::Is(field, text)));
    conditions.extend(filter.from_ms.map(|from| Condition::AtLeast(TIME, from)));
    conditions.extend(filter.to_ms.map(|to| Condition::AtMost(TIME, to)));
    conditions.extend(filter.alive_at_ms.map(|now| Condition::MoreThan(EXPIRES, now)));
    Some(conditions)
}

/// The payload of a point. Its text is in the records alone.
pub(crate) fn payload(of: &PointPayload) -> Map<String, Value> {
    let text = |text: &str| Value::from(text);
    let fields = [
        (USER, Some(text(of.user.as_str()))),
        (CHAT, Some(text(&of.chat))),
        (LABEL, Some(Value::from(label(of.label)))),
        (SOURCE, of.source.as_ref().map(|source| text(source.as_str()))),
        ("ordinal", of.ordinal.map(Value::from)),
        ("memory_id", of.memory_id.as_ref().map(|id| text(id.as_str()))),
        (ARTIFACT, of.artifact_name.as_deref().map(text)),
        ("importance", of.importance.map(Value::from)),
        (TIME, Some(Value::from(of.time_ms))),
        (EXPIRES, Some(Value::from(of.expires_ms.unwrap_or(NEVER)))),
        ("language", Some(text(&of.language))),
    ];
    let given = fields
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_owned(), value?)));
    given.collect()
}
