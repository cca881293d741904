//! Reading the pieces of a reply without losing a byte of what is not known.

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// An object's fields, their values as they came.
pub(super) type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Why something is no reply. The text never quotes what the model said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    /// For this reason, a clause without a full stop.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// `what` is not JSON of the wanted shape.
    pub(super) fn json(what: &str, error: &serde_json::Error) -> Self {
        // The parser's own words may quote the text.
        let kind = match error.classify() {
            serde_json::error::Category::Data => "JSON of another shape than expected",
            serde_json::error::Category::Eof => "JSON that ends too early",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => "not valid JSON",
        };
        Self(format!(
            "{what} is {kind} (line {}, column {})",
            error.line(),
            error.column()
        ))
    }
}

/// The fields of the object `raw`, which `what` names.
pub(super) fn fields<'a>(raw: &'a RawValue, what: &str) -> Result<Fields<'a>, Malformed> {
    serde_json::from_str(raw.get()).map_err(|error| Malformed::json(what, &error))
}

/// The text `raw`, empty for null; `what` names it.
pub(super) fn text(raw: &RawValue, what: &str) -> Result<String, Malformed> {
    let text: Option<String> = serde_json::from_str(raw.get())
        .map_err(|error| Malformed::json(&format!("`{what}` of the reply"), &error))?;
    Ok(text.unwrap_or_default())
}

/// Takes the text `key` out of `fields`; empty if it is missing or null.
pub(super) fn text_field(fields: &mut Fields<'_>, key: &str) -> Result<String, Malformed> {
    fields
        .remove(key)
        .map_or_else(|| Ok(String::new()), |raw| text(raw, key))
}

/// Takes the array `key` out of `fields`; empty if it is missing or null.
pub(super) fn array_field<'a>(fields: &mut Fields<'a>, key: &str) -> Result<Vec<&'a RawValue>, Malformed> {
    let Some(raw) = fields.remove(key) else {
        return Ok(Vec::new());
    };
    let items: Option<Vec<&RawValue>> = serde_json::from_str(raw.get())
        .map_err(|error| Malformed::json(&format!("`{key}` of the reply"), &error))?;
    Ok(items.unwrap_or_default())
}
