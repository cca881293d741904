//! The variables of each template. What people, tools and files wrote is escaped here, so that no template, built in or
//! overriding, can forget it.

use crate::text::{escape_attribute, escape_block, one_line};
use crate::{Fact, Note, NoteKind, ProjectFile, Recalled, Skill, SmartContext};
use serde::Serialize;

/// Variables of `system_stable.j2`.
#[derive(Serialize)]
pub(crate) struct SystemStable<'a> {
    pub(crate) tool_guidance: &'a [String],
    pub(crate) files: bool,
    pub(crate) model_guidance: Option<&'a str>,
    environment: Vec<Pair>,
}

#[derive(Serialize)]
struct Pair {
    name: String,
    value: String,
}

impl<'a> SystemStable<'a> {
    pub(crate) fn new(
        tool_guidance: &'a [String],
        files: bool,
        model_guidance: Option<&'a str>,
        environment: &[Fact],
    ) -> Self {
        let pair = |fact: &Fact| Pair {
            name: escape_block(&one_line(&fact.name)).into_owned(),
            value: escape_block(&one_line(&fact.value)).into_owned(),
        };
        Self {
            tool_guidance,
            files,
            model_guidance,
            environment: environment.iter().map(pair).collect(),
        }
    }
}

/// Variables of `system_context.j2`.
#[derive(Serialize)]
pub(crate) struct SystemContext<'a> {
    system_message: Option<&'a str>,
    project_file: Option<File>,
}

#[derive(Serialize)]
struct File {
    name: String,
    text: String,
}

impl<'a> SystemContext<'a> {
    pub(crate) fn new(system_message: Option<&'a str>, project_file: Option<&ProjectFile>) -> Self {
        Self {
            system_message,
            project_file: project_file.map(|file| File {
                name: escape_attribute(file.name()),
                text: escape_block(file.text()).into_owned(),
            }),
        }
    }
}

/// Variables of `system_session.j2`.
#[derive(Serialize)]
pub(crate) struct SystemSession {
    skills: Vec<SkillLine>,
    date: String,
}

#[derive(Serialize)]
struct SkillLine {
    id: String,
    name: String,
    description: String,
}

impl SystemSession {
    pub(crate) fn new<'a>(skills: impl IntoIterator<Item = &'a Skill>, date: String) -> Self {
        let line = |text: &str| escape_block(&one_line(text)).into_owned();
        let skills = skills
            .into_iter()
            .map(|skill| SkillLine {
                id: line(&skill.id),
                name: line(&skill.name),
                description: line(&skill.description),
            })
            .collect();
        Self { skills, date }
    }
}

/// Variables of `memory.j2`.
#[derive(Serialize)]
pub(crate) struct MemoryBlock {
    items: Vec<MemoryItem>,
}

#[derive(Serialize)]
struct MemoryItem {
    origin: String,
    label: String,
    text: String,
}

impl MemoryBlock {
    pub(crate) fn new(items: &[Recalled]) -> Self {
        let item = |item: &Recalled| MemoryItem {
            origin: escape_attribute(&item.origin),
            label: item.label.to_string(),
            text: escape_block(item.text.trim()).into_owned(),
        };
        Self {
            items: items.iter().map(item).collect(),
        }
    }
}

/// Variables of `notes.j2`.
#[derive(Serialize)]
pub(crate) struct NotesBlock {
    notes: Vec<NoteKind>,
}

impl NotesBlock {
    pub(crate) fn new(notes: &[Note]) -> Self {
        let line = |text: &str| escape_attribute(&one_line(text));
        let block = |text: &str| escape_block(text.trim()).into_owned();
        let note = |note: &Note| match &note.kind {
            NoteKind::Introduction { channel } => NoteKind::Introduction {
                channel: line(channel),
            },
            NoteKind::ChannelSwitch { from, to } => NoteKind::ChannelSwitch {
                from: line(from),
                to: line(to),
            },
            NoteKind::AutoReset { reason } => NoteKind::AutoReset { reason: line(reason) },
            NoteKind::Todo { text } => NoteKind::Todo { text: block(text) },
            NoteKind::Nudge { text } => NoteKind::Nudge { text: block(text) },
            NoteKind::Hook { hook, text } => NoteKind::Hook {
                hook: line(hook),
                text: block(text),
            },
        };
        Self {
            notes: notes.iter().map(note).collect(),
        }
    }
}

/// Variables of `smart_context.j2`.
#[derive(Serialize)]
pub(crate) struct SmartContextBlock {
    filename: String,
    mime_type: String,
    mode: String,
    source_id: String,
    label: String,
    summary: Option<String>,
    why: Option<String>,
}

impl SmartContextBlock {
    pub(crate) fn new(file: &SmartContext) -> Self {
        let line = |text: &str| escape_attribute(&one_line(text));
        let block = |text: &String| escape_block(text.trim()).into_owned();
        Self {
            filename: line(&file.filename),
            mime_type: line(&file.mime_type),
            mode: line(&file.mode),
            source_id: line(file.source_id.as_str()),
            label: file.label.to_string(),
            summary: file.summary.as_ref().map(block),
            why: file.why.as_ref().map(block),
        }
    }
}

/// Variables of `tool_stub.j2`.
#[derive(Serialize)]
pub(crate) struct Stub {
    pub(crate) tool: String,
    pub(crate) status: &'static str,
    pub(crate) characters: usize,
    pub(crate) attachments: usize,
    pub(crate) arguments: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) entry: u64,
}

/// Variables of `cut_mark.j2`.
#[derive(Serialize)]
pub(crate) struct CutMark {
    pub(crate) omitted: usize,
    pub(crate) total: usize,
}

/// Variables of `summary_instructions.j2`.
#[derive(Serialize)]
pub(crate) struct SummaryInstructions {
    pub(crate) sections: &'static [&'static str],
    pub(crate) max_words: u64,
}

/// Variables of `summary_request.j2`.
#[derive(Serialize)]
pub(crate) struct SummaryLines {
    pub(crate) earlier: Option<String>,
    pub(crate) messages: Vec<SummaryLine>,
    pub(crate) left_out: usize,
}

/// One message to sum up, escaped already.
#[derive(Clone, Serialize)]
pub(crate) struct SummaryLine {
    pub(crate) from: String,
    pub(crate) text: String,
}

/// Variables of `summary_plain.j2`. Not escaped: what comes out is the text of a summary, which is escaped in its frame.
#[derive(Serialize)]
pub(crate) struct SummaryPlain {
    pub(crate) earlier: Option<String>,
    pub(crate) messages: usize,
    pub(crate) calls: usize,
    pub(crate) requests: Vec<String>,
    pub(crate) tools: Vec<ToolCount>,
    pub(crate) answer: Option<String>,
}

/// How often a tool was called.
#[derive(Serialize)]
pub(crate) struct ToolCount {
    pub(crate) name: String,
    pub(crate) calls: usize,
    pub(crate) failed: usize,
}

/// Variables of `summary.j2`.
#[derive(Serialize)]
pub(crate) struct SummaryFrame {
    text: String,
}

impl SummaryFrame {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: escape_block(text).into_owned(),
        }
    }
}
