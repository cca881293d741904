//! Summaries: what is asked of the auxiliary model, and what stands in if it has none to give.

use super::stub::status;
use super::units::{Kind, Unit};
use crate::templates::{
    CutMark, SummaryFrame, SummaryInstructions, SummaryLine, SummaryLines, SummaryPlain, TemplateName,
    Templates, ToolCount,
};
use crate::text::{ends, escape_attribute, escape_block, one_line};
use crate::{PromptError, estimate_text, sanitise};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{AssistantPart, Author, Body, Content, Entry, ResultStatus, UserMessage, joined_text};
use tidegate_policy::Label;

/// The sections of a summary, in order.
const SECTIONS: [&str; 9] = [
    "Goal",
    "Constraints",
    "Done",
    "In progress",
    "Blocked",
    "Decisions",
    "Files",
    "Next steps",
    "Facts",
];

/// Characters that a message may have in a request for a summary: the first of these that makes all of them fit.
const CAPS: [usize; 6] = [4_000, 2_000, 1_000, 500, 200, 100];

/// Requests of people that a summary without a model repeats, and characters of each.
const REQUESTS: usize = 8;
const REQUEST: usize = 200;
/// Characters of the last answer that it repeats.
const ANSWER: usize = 600;

/// What the auxiliary model is asked. Sending it is a flow like any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The system prompt.
    pub instructions: String,
    /// The user message.
    pub text: String,
    /// The join of the labels of what is to be summed up.
    pub label: Label,
    /// The most tokens the answer may have; a longer one is cut.
    pub max_tokens: u64,
    /// How many messages did not fit and are left out.
    pub left_out: usize,
}

/// The request for a summary of `run`, in about `request_tokens` tokens.
pub(super) fn request(
    templates: &Templates,
    run: &[Unit<'_>],
    request_tokens: u64,
    max_tokens: u64,
) -> Result<SummaryRequest, PromptError> {
    let earlier = earlier(run)
        .map(|text| cut_to_tokens(templates, &text, request_tokens / 2))
        .transpose()?;
    let used = earlier.as_deref().map_or(0, estimate_text);
    let room = request_tokens.saturating_sub(used);
    let units: Vec<&Unit<'_>> = run.iter().filter(|unit| unit.kind != Kind::Summary).collect();
    let cost = |cap: usize| {
        let tokens = |unit: &&Unit<'_>| unit.tokens.min(cap as u64);
        units.iter().map(tokens).fold(0, u64::saturating_add)
    };
    let fitting = CAPS.into_iter().find(|cap| cost(*cap) <= room);
    let cap = fitting.unwrap_or(100);
    let kept = if fitting.is_some() {
        0..0
    } else {
        left_out(&units, cap as u64, room)
    };
    let mut messages = Vec::new();
    let mut left_out = 0_usize;
    for (index, unit) in units.iter().enumerate() {
        if kept.contains(&index) {
            left_out = left_out.saturating_add(unit.entries.len());
            continue;
        }
        for entry in unit.entries {
            if let Some((from, text)) = line(entry) {
                messages.push(SummaryLine {
                    from: escape_attribute(&from),
                    text: escape_block(&cut(templates, text.trim(), cap)?).into_owned(),
                });
            }
        }
    }
    let earlier = earlier.map(|text| escape_block(&text).into_owned());
    let text = templates.render(
        TemplateName::SummaryRequest,
        SummaryLines {
            earlier,
            messages,
            left_out,
        },
    )?;
    let instructions = templates.render(
        TemplateName::SummaryInstructions,
        SummaryInstructions {
            sections: &SECTIONS,
            // A word of English has about four thirds of a token.
            max_words: (max_tokens / 4).saturating_mul(3).max(20),
        },
    )?;
    Ok(SummaryRequest {
        instructions,
        text: sanitise(&text).into_owned(),
        label: label(run),
        max_tokens,
        left_out,
    })
}

/// Which units in the middle have to go so that the others fit: the first fourth of the room is for the oldest, the rest
/// for the newest.
fn left_out(units: &[&Unit<'_>], cap: u64, room: u64) -> std::ops::Range<usize> {
    let fill = |units: &mut dyn Iterator<Item = &&Unit<'_>>, room: u64| {
        let mut used = 0_u64;
        units
            .take_while(|unit| {
                used = used.saturating_add(unit.tokens.min(cap));
                used <= room
            })
            .count()
    };
    let first = fill(&mut units.iter(), room / 4);
    let last = fill(&mut units.iter().rev(), room.saturating_sub(room / 4));
    first..units.len().saturating_sub(last).max(first)
}

/// The texts of the summaries in `run`.
fn earlier(run: &[Unit<'_>]) -> Option<String> {
    let texts: Vec<String> = run
        .iter()
        .filter(|unit| unit.kind == Kind::Summary)
        .flat_map(|unit| unit.entries)
        .filter_map(|entry| match &entry.body {
            Body::User(message) => Some(joined_text(&message.content)),
            Body::Assistant(_) | Body::Results(_) => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn label(run: &[Unit<'_>]) -> Label {
    Label::join_all(run.iter().flat_map(|unit| unit.entries).map(|entry| entry.label))
}

/// Who said what in an entry. Recalled memory and notes are not part of it: they were for their turn.
fn line(entry: &Entry) -> Option<(String, String)> {
    let (from, text) = match &entry.body {
        Body::User(message) => {
            let from = match message.author {
                Author::Person => "person",
                Author::Program => "program",
                Author::Summary => "earlier summary",
            };
            (from, told(&message.content))
        }
        Body::Assistant(message) => {
            let parts: Vec<String> = message
                .parts
                .iter()
                .filter_map(|part| match part {
                    AssistantPart::Text { text } => Some(text.clone()),
                    AssistantPart::Reasoning { .. } => None,
                    AssistantPart::Call(call) => {
                        Some(format!("[calls {} with {}]", call.name, call.arguments))
                    }
                })
                .collect();
            ("assistant", parts.join("\n"))
        }
        Body::Results(results) => {
            let parts: Vec<String> = results
                .results
                .iter()
                .map(|result| {
                    format!(
                        "[{}: {}]\n{}",
                        result.name,
                        status(result.status),
                        told(&result.content)
                    )
                })
                .collect();
            ("tools", parts.join("\n"))
        }
    };
    (!text.trim().is_empty()).then(|| (from.to_owned(), text))
}

/// Content in words: attachments by what they are.
fn told(content: &[Content]) -> String {
    let parts: Vec<String> = content
        .iter()
        .map(|part| match part {
            Content::Text { text } => text.clone(),
            Content::Image { media_type, .. } => format!("[image: {media_type}]"),
            Content::File { name, media_type, .. } => format!("[file {name}: {media_type}]"),
        })
        .collect();
    parts.join("\n")
}

/// A summary without a model, in about `max_tokens` tokens.
pub(super) fn plain(templates: &Templates, run: &[Unit<'_>], max_tokens: u64) -> Result<String, PromptError> {
    let mut requests = Vec::new();
    let mut tools: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut answer = None;
    let entries: Vec<&Arc<Entry>> = run
        .iter()
        .filter(|unit| unit.kind != Kind::Summary)
        .flat_map(|unit| unit.entries)
        .collect();
    for entry in &entries {
        match &entry.body {
            Body::User(message) if message.author == Author::Person => {
                requests.push(cut(templates, &one_line(&told(&message.content)), REQUEST)?);
            }
            Body::User(_) => {}
            Body::Assistant(message) => {
                let text = message.text();
                if !text.trim().is_empty() {
                    answer = Some(text);
                }
            }
            Body::Results(results) => {
                for result in &results.results {
                    let (calls, failed) = tools.entry(result.name.as_str()).or_default();
                    *calls = calls.saturating_add(1);
                    *failed = failed.saturating_add(usize::from(result.status != ResultStatus::Ok));
                }
            }
        }
    }
    let first = requests.len().saturating_sub(REQUESTS);
    let text = templates.render(
        TemplateName::SummaryPlain,
        SummaryPlain {
            earlier: earlier(run)
                .map(|text| cut_to_tokens(templates, &text, max_tokens / 2))
                .transpose()?,
            messages: entries.len(),
            calls: tools.values().map(|(calls, _)| calls).sum(),
            requests: requests.split_off(first),
            tools: tools
                .into_iter()
                .map(|(name, (calls, failed))| ToolCount {
                    name: one_line(name),
                    calls,
                    failed,
                })
                .collect(),
            answer: answer
                .map(|text| cut(templates, text.trim(), ANSWER))
                .transpose()?,
        },
    )?;
    cut_to_tokens(templates, &text, max_tokens)
}

/// The message that stands for `text` in the transcript: models see it framed, the history shows it as it is.
pub(super) fn message(templates: &Templates, text: &str) -> Result<UserMessage, PromptError> {
    let framed = templates.render(TemplateName::Summary, SummaryFrame::new(text))?;
    let mut message = UserMessage::summary(text);
    message.sidecar = Some(vec![Content::text(framed)]);
    Ok(message)
}

/// `text` in at most about `most` characters: three quarters of them from its beginning.
fn cut(templates: &Templates, text: &str, most: usize) -> Result<String, PromptError> {
    let tail = most / 4;
    let Some(ends) = ends(text, most.saturating_sub(tail), tail) else {
        return Ok(text.to_owned());
    };
    let mark = templates.render(
        TemplateName::CutMark,
        CutMark {
            omitted: ends.omitted,
            total: ends.total,
        },
    )?;
    Ok(format!("{} {mark} {}", ends.head, ends.tail))
}

/// `text` in at most about `most` tokens.
pub(super) fn cut_to_tokens(templates: &Templates, text: &str, most: u64) -> Result<String, PromptError> {
    let tokens = estimate_text(text);
    if tokens <= most {
        return Ok(text.to_owned());
    }
    let characters = text.chars().count() as u128;
    let share = characters.saturating_mul(u128::from(most)) / u128::from(tokens.max(1));
    cut(
        templates,
        text,
        usize::try_from(share).unwrap_or(usize::MAX).max(8),
    )
}
