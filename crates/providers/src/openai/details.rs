//! Structured reasoning (`reasoning_details`), which OpenRouter streams in pieces and wants back whole: a
//! signature is only good for the text it was made for.

use super::fragment::{Fields, Malformed, fields, text};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// The fields whose pieces are joined.
const JOINED: [&str; 2] = ["text", "summary"];

/// The blocks of reasoning of one reply.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<BTreeMap<String, Box<RawValue>>>);

impl ReasoningDetails {
    /// The blocks, as they are sent back.
    pub(super) fn items(&self) -> &[BTreeMap<String, Box<RawValue>>] {
        &self.0
    }

    /// Takes in one element: a piece of the last block if it has the same type and index, else a new block.
    pub(super) fn take(&mut self, raw: &RawValue) -> Result<(), Malformed> {
        let piece = fields(raw, "`reasoning_details`")?;
        match self.0.last_mut() {
            Some(last) if continues(last, &piece) => {
                for (key, value) in piece.into_map() {
                    join(last, key, value)?;
                }
            }
            Some(_) | None => {
                self.0.push(
                    piece
                        .into_map()
                        .into_iter()
                        .map(|(key, value)| (key, value.to_owned()))
                        .collect(),
                );
            }
        }
        Ok(())
    }
}

fn continues(last: &BTreeMap<String, Box<RawValue>>, piece: &Fields<'_>) -> bool {
    ["type", "index"]
        .iter()
        .all(|key| match (last.get(*key), piece.get(key)) {
            (Some(last), Some(piece)) => last.get() == piece.get(),
            (None, _) | (_, None) => false,
        })
}

fn join(last: &mut BTreeMap<String, Box<RawValue>>, key: String, value: &RawValue) -> Result<(), Malformed> {
    if value.get() == "null" {
        return Ok(());
    }
    let joined = match last.get(&key) {
        Some(before) if JOINED.contains(&key.as_str()) => {
            let whole = text(before, &key)? + &text(value, &key)?;
            to_raw_value(&whole).map_err(|error| Malformed::json("`reasoning_details`", &error))?
        }
        Some(_) | None => value.to_owned(),
    };
    last.insert(key, joined);
    Ok(())
}
