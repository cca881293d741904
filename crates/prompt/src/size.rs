//! How large a request is, in tokens.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tidegate_message::{AssistantPart, Body, Content, Entry, Transcript};

/// Tokens that the form of a message costs beside its content.
const MESSAGE: u64 = 4;
/// Tokens that the form of a call or of a result costs.
const CALL: u64 = 8;

/// Windows from here on are compacted at half their size; smaller ones at three quarters.
const LARGE_WINDOW: u64 = 512_000;
/// The most tokens a request may have before it is compacted, however large the window.
const MOST_TOKENS: u64 = 256_000;

/// What things cost that have no characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Tokens an image.
    pub image: u64,
    /// Tokens another file.
    pub file: u64,
}

impl Default for Prices {
    /// 1,500 tokens each.
    fn default() -> Self {
        Self {
            image: 1_500,
            file: 1_500,
        }
    }
}

/// A model's context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// How many tokens fit in it.
    pub tokens: u64,
    /// From how many tokens on a request is compacted.
    pub threshold: u64,
}

impl Window {
    /// A window of `tokens` with the usual threshold: half of it, three quarters if it is under 512,000, and at most
    /// 256,000 tokens.
    pub fn new(tokens: u64) -> Self {
        let share = if tokens < LARGE_WINDOW {
            tokens / 4 * 3 + tokens % 4 * 3 / 4
        } else {
            tokens / 2
        };
        Self {
            tokens,
            threshold: share.min(MOST_TOKENS),
        }
    }
}

/// What every request of a session has beside its messages, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    /// The system prompt.
    pub system: u64,
    /// The tools, as they are sent.
    pub tools: u64,
}

impl Fixed {
    /// Both together.
    pub fn total(self) -> u64 {
        self.system.saturating_add(self.tools)
    }
}

/// About how many tokens `text` has: a token for 4 letters of Latin script, for 2 of other alphabets, for each
/// character of Chinese, Japanese or Korean, and half a one of an emoji. Rounded up.
///
/// ```
/// use tidegate_prompt::estimate_text;
///
/// assert_eq!(estimate_text("twelve chars"), 3);
/// assert_eq!(estimate_text("你好"), 2);
/// assert_eq!(estimate_text(""), 0);
/// ```
pub fn estimate_text(text: &str) -> u64 {
    quarters(text).div_ceil(4)
}

fn quarters(text: &str) -> u64 {
    if text.is_ascii() {
        return text.len() as u64;
    }
    text.chars().map(weight).fold(0, u64::saturating_add)
}

/// A character's share of a token, in quarters.
fn weight(character: char) -> u64 {
    match u32::from(character) {
        // Latin with its accents, and marks that combine with letters.
        0..=0x024f | 0x0300..=0x036f | 0x1e00..=0x1eff => 1,
        // Other alphabets: Greek, Cyrillic, Hebrew, Arabic, those of India, Georgian.
        0x0250..=0x10ff => 2,
        // Typographic punctuation.
        0x2000..=0x206f => 2,
        // Beyond the basic plane: emoji, rare ideographs.
        0x1_0000.. => 8,
        // Hangul, kana, ideographs, full-width forms, symbols, and what is not known.
        _ => 4,
    }
}

fn content(parts: &[Content], prices: &Prices) -> u64 {
    let mut tokens = 0_u64;
    for part in parts {
        tokens = tokens.saturating_add(match part {
            Content::Text { text } => estimate_text(text),
            Content::Image { .. } => prices.image,
            Content::File { name, .. } => prices.file.saturating_add(estimate_text(name)),
        });
    }
    tokens
}

/// Tokens of one result.
pub(crate) fn estimate_result(result: &tidegate_message::ToolResult, prices: &Prices) -> u64 {
    content(&result.content, prices)
        .saturating_add(estimate_text(result.name.as_str()))
        .saturating_add(CALL)
}

/// About how many tokens an entry has as it is sent. Attachments have a flat price; the length of their base64 plays no
/// part.
pub fn estimate_entry(entry: &Entry, prices: &Prices) -> u64 {
    let tokens = match &entry.body {
        Body::User(message) => content(message.api_content(), prices),
        Body::Assistant(message) => message.parts.iter().fold(0, |tokens: u64, part| {
            tokens.saturating_add(match part {
                AssistantPart::Text { text } | AssistantPart::Reasoning { text } => estimate_text(text),
                AssistantPart::Call(call) => estimate_text(call.name.as_str())
                    .saturating_add(estimate_text(&call.arguments))
                    .saturating_add(CALL),
            })
        }),
        Body::Results(results) => results.results.iter().fold(0, |tokens: u64, result| {
            tokens.saturating_add(estimate_result(result, prices))
        }),
    };
    tokens.saturating_add(MESSAGE)
}

/// The size of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSize {
    /// Tokens.
    pub tokens: u64,
    /// How many of them a provider counted; the others are estimated. 0 if none has counted yet.
    pub counted: u64,
}

/// How large a request of these entries is: what the provider counted for the last model message, and an estimate of
/// what came after it. Without such a count, all is estimated.
///
/// A count is of no use if something before its message was rewritten later (its entries have higher numbers than the
/// message), by compaction say: then the count is that of a longer request.
pub fn estimate_request(entries: &[Arc<Entry>], fixed: Fixed, prices: &Prices) -> RequestSize {
    estimate(entries, fixed, prices, |index, entry| {
        let before = entries.get(..index).unwrap_or_default();
        before.iter().any(|earlier| earlier.seq > entry.seq)
    })
}

/// The same of a whole transcript: it looks only at what came after the last message that was counted, however long the
/// transcript.
pub fn estimate_transcript(transcript: &Transcript, fixed: Fixed, prices: &Prices) -> RequestSize {
    estimate(transcript.entries(), fixed, prices, |index, _| {
        transcript.is_rewritten_before(index)
    })
}

fn estimate(
    entries: &[Arc<Entry>],
    fixed: Fixed,
    prices: &Prices,
    is_rewritten_before: impl Fn(usize, &Entry) -> bool,
) -> RequestSize {
    let mut appended = 0_u64;
    let mut counted = None;
    for (index, entry) in entries.iter().enumerate().rev() {
        if let Body::Assistant(message) = &entry.body {
            let input = message.usage.input();
            if input > 0 && !is_rewritten_before(index, entry) {
                counted = Some(input.saturating_add(message.usage.output));
                break;
            }
        }
        appended = appended.saturating_add(estimate_entry(entry, prices));
    }
    match counted {
        Some(counted) => RequestSize {
            tokens: counted.saturating_add(appended),
            counted,
        },
        None => RequestSize {
            tokens: appended.saturating_add(fixed.total()),
            counted: 0,
        },
    }
}
