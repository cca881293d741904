//! Whether one request is the beginning of the next.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Where two requests part.
#[derive(Debug, thiserror::Error)]
pub enum PrefixBreak {
    /// A body is no Chat Completions request.
    #[error("the {which} request cannot be read")]
    Unreadable {
        /// "previous" or "next".
        which: &'static str,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// The tools differ, in content, order or form.
    #[error("the tools differ from byte {at} on: {previous:?} became {next:?}")]
    Tools {
        /// The first byte that differs.
        at: usize,
        /// What stood there.
        previous: String,
        /// What stands there.
        next: String,
    },
    /// A message differs.
    #[error("message {position} differs from byte {at} on: {previous:?} became {next:?}")]
    Message {
        /// Which one, from 0; 0 is the system prompt, if there is one.
        position: usize,
        /// The first byte that differs.
        at: usize,
        /// What stood there.
        previous: String,
        /// What stands there.
        next: String,
    },
    /// There are fewer messages than before.
    #[error("there were {previous} messages, and now there are {next}")]
    Shorter {
        /// Before.
        previous: usize,
        /// Now.
        next: usize,
    },
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

/// Checks that the bytes of tools, system prompt and messages of `previous` are the beginning of those of
/// `next`: a provider's prompt cache needs that.
///
/// # Errors
/// Where they part. The order of tools before messages is the same on the wire of every request, so they are
/// compared each by itself.
pub fn prefix_of(previous: &[u8], next: &[u8]) -> Result<(), PrefixBreak> {
    let previous = read("previous", previous)?;
    let next = read("next", next)?;
    let (before, now) = (raw(previous.tools), raw(next.tools));
    if let Some((at, previous, next)) = difference(before, now) {
        return Err(PrefixBreak::Tools { at, previous, next });
    }
    if next.messages.len() < previous.messages.len() {
        return Err(PrefixBreak::Shorter {
            previous: previous.messages.len(),
            next: next.messages.len(),
        });
    }
    for (position, (before, now)) in previous.messages.iter().zip(&next.messages).enumerate() {
        if let Some((at, previous, next)) = difference(before.get(), now.get()) {
            return Err(PrefixBreak::Message {
                position,
                at,
                previous,
                next,
            });
        }
    }
    Ok(())
}

fn read<'a>(which: &'static str, body: &'a [u8]) -> Result<Request<'a>, PrefixBreak> {
    serde_json::from_slice(body).map_err(|cause| PrefixBreak::Unreadable { which, cause })
}

fn raw(value: Option<&RawValue>) -> &str {
    value.map_or("", RawValue::get)
}

/// The first byte that differs, and what follows it on both sides.
fn difference(before: &str, now: &str) -> Option<(usize, String, String)> {
    if before == now {
        return None;
    }
    let at = before
        .bytes()
        .zip(now.bytes())
        .take_while(|(before, now)| before == now)
        .count();
    let excerpt = |text: &str| {
        String::from_utf8_lossy(text.as_bytes().get(at..).unwrap_or_default())
            .chars()
            .take(60)
            .collect()
    };
    Some((at, excerpt(before), excerpt(now)))
}
