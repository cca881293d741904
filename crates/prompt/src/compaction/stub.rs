//! Stubs in the place of long tool results.

use crate::PromptError;
use crate::templates::{Stub, TemplateName, Templates};
use crate::text::{ends, one_line};
use std::sync::Arc;
use tidegate_message::{Body, Content, Entry, ResultStatus, ToolCall, ToolResult};
use tidegate_policy::escaped;

/// Characters of the arguments that a stub repeats.
const ARGUMENTS: usize = 60;

/// Whether one of the unit's results is worth a stub, and the unit has none yet.
pub(super) fn can_be_stubbed(unit: &[Arc<Entry>], stub_over: usize) -> bool {
    let [calls, results] = unit else { return false };
    let Body::Results(body) = &results.body else {
        return false;
    };
    // What compaction puts in has a number that does not follow that of its calls. A stub in another language may be longer
    // than the limit; it still is one, and a stub of it would name the wrong size.
    let is_rewritten = results.seq.0 != calls.seq.0.saturating_add(1);
    let limit = if is_rewritten {
        stub_over.saturating_mul(3)
    } else {
        stub_over
    };
    body.results.iter().any(|result| is_long(result, limit))
}

fn is_long(result: &ToolResult, limit: usize) -> bool {
    attachments(result) > 0 || characters(result, limit) > limit
}

/// How many characters the result has; where it is plain that there are more than `enough`, only its bytes are counted.
fn characters(result: &ToolResult, enough: usize) -> usize {
    let texts = || result.content.iter().filter_map(Content::as_text);
    let bytes: usize = texts().map(str::len).sum();
    // A character has at most four bytes.
    if bytes <= enough || bytes / 4 > enough {
        bytes
    } else {
        texts().map(|text| text.chars().count()).sum()
    }
}

fn attachments(result: &ToolResult) -> usize {
    result
        .content
        .iter()
        .filter(|part| part.as_text().is_none())
        .count()
}

/// The results of a unit with stubs for the long ones, and how many those are. `None` if there is nothing to gain.
pub(super) fn stubbed(
    templates: &Templates,
    unit: &[Arc<Entry>],
    stub_over: usize,
) -> Result<Option<(Vec<ToolResult>, usize)>, PromptError> {
    let [calls, entry] = unit else { return Ok(None) };
    let (Body::Assistant(message), Body::Results(body)) = (&calls.body, &entry.body) else {
        return Ok(None);
    };
    let mut stubs = 0_usize;
    let mut results = Vec::with_capacity(body.results.len());
    for (call, result) in message.calls().zip(&body.results) {
        let stub = if is_long(result, stub_over) {
            stub_of(templates, entry, call, result)?
        } else {
            None
        };
        match stub {
            Some(stub) => {
                stubs = stubs.saturating_add(1);
                results.push(stub);
            }
            None => results.push(result.clone()),
        }
    }
    Ok((stubs > 0).then_some((results, stubs)))
}

fn stub_of(
    templates: &Templates,
    entry: &Entry,
    call: &ToolCall,
    result: &ToolResult,
) -> Result<Option<ToolResult>, PromptError> {
    let count = |text: &str| text.chars().count();
    let characters: usize = result
        .content
        .iter()
        .filter_map(Content::as_text)
        .map(count)
        .sum();
    let attachments = attachments(result);
    let text = templates.render(
        TemplateName::ToolStub,
        Stub {
            tool: shortened(&escaped(result.name.as_str()), 64),
            status: status(result.status),
            characters,
            attachments,
            arguments: Some(shortened(&one_line(&call.arguments), ARGUMENTS)).filter(|text| !text.is_empty()),
            source: result
                .source
                .as_ref()
                .map(|source| escaped(source.as_str()).into_owned()),
            entry: entry.seq.0,
        },
    )?;
    let is_shorter = attachments > 0 || count(&text) < characters;
    Ok(is_shorter.then(|| ToolResult {
        content: vec![Content::text(text)],
        ..result.clone()
    }))
}

fn shortened(text: &str, most: usize) -> String {
    match ends(text, most, 0) {
        Some(ends) => format!("{}…", ends.head),
        None => text.to_owned(),
    }
}

pub(super) fn status(status: ResultStatus) -> &'static str {
    match status {
        ResultStatus::Ok => "ok",
        ResultStatus::Error => "error",
        ResultStatus::Refused => "refused",
        ResultStatus::Withheld => "ran, result withheld",
        ResultStatus::NotRun => "not run",
        ResultStatus::Unknown => "outcome unknown",
    }
}
