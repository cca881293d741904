//! Trying a template with sample values, so that its mistakes show when the program starts and not in a turn.

use super::context::{
    CutMark, MemoryBlock, NotesBlock, SmartContextBlock, Stub, SummaryFrame, SummaryInstructions,
    SummaryLine, SummaryLines, SummaryPlain, SystemContext, SystemSession, SystemStable, ToolCount,
};
use super::{TemplateName, Templates};
use crate::{Fact, Note, NoteKind, ProjectFile, PromptError, Recalled, Skill, SmartContext};
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;
use std::collections::BTreeSet;
use tidegate_policy::Label;

/// Letters that stand in no template.
const SHOWN: &str = "qxzv";

/// Everything set, and as little as possible. In the first, each text that must not be lost is [`SHOWN`] and a name.
fn samples(name: TemplateName) -> [Value; 2] {
    let shown = |what: &str| format!("{SHOWN} {what}");
    match name {
        TemplateName::SystemStable => [
            value(SystemStable::new(
                &[shown("tool_guidance")],
                true,
                Some(&shown("model_guidance")),
                &[Fact::new("system", shown("environment"))],
            )),
            value(SystemStable::new(&[], false, None, &[])),
        ],
        TemplateName::SystemContext => [
            value(SystemContext::new(
                Some(&shown("system_message")),
                Some(&ProjectFile::uncut("AGENTS.md", shown("project_file.text"))),
            )),
            value(SystemContext::new(None, None)),
        ],
        TemplateName::SystemSession => {
            let skill = Skill {
                id: shown("skills[].id"),
                name: "n".into(),
                description: shown("skills[].description"),
                label: Label::BOTTOM,
            };
            [
                value(SystemSession::new([&skill], shown("date"))),
                value(SystemSession::new([], "2026-11-29".into())),
            ]
        }
        TemplateName::Memory => {
            let item = Recalled {
                memory: None,
                origin: shown("items[].origin"),
                text: shown("items[].text"),
                label: Label::BOTTOM,
            };
            [
                value(MemoryBlock::new(&[item.clone(), item.clone()])),
                value(MemoryBlock::new(&[item])),
            ]
        }
        TemplateName::Notes => {
            let all = [
                NoteKind::Introduction { channel: "c".into() },
                NoteKind::ChannelSwitch {
                    from: "c".into(),
                    to: "d".into(),
                },
                NoteKind::AutoReset {
                    reason: "idle".into(),
                },
                NoteKind::Todo {
                    text: shown("notes[].text of a todo"),
                },
                NoteKind::Nudge {
                    text: shown("notes[].text of a nudge"),
                },
                NoteKind::Hook {
                    hook: "h".into(),
                    text: shown("notes[].text of a hook"),
                },
            ]
            .map(Note::plain);
            [
                value(NotesBlock::new(&all)),
                value(NotesBlock::new(all.get(..1).unwrap_or_default())),
            ]
        }
        TemplateName::ToolStub => {
            let stub = |arguments: Option<String>, source: Option<String>| Stub {
                tool: shown("tool"),
                status: "ok",
                characters: 1,
                attachments: usize::from(source.is_some()),
                arguments,
                source,
                entry: 1,
            };
            [
                value(stub(Some("{}".into()), Some(shown("source")))),
                value(stub(None, None)),
            ]
        }
        TemplateName::CutMark => [
            value(CutMark { omitted: 1, total: 2 }),
            value(CutMark { omitted: 1, total: 1 }),
        ],
        TemplateName::SummaryInstructions => {
            let sample = |max_words| SummaryInstructions {
                sections: &["qxzv sections"],
                max_words,
            };
            [value(sample(1)), value(sample(900))]
        }
        TemplateName::SummaryRequest => {
            let line = SummaryLine {
                from: "a person".into(),
                text: shown("messages[].text"),
            };
            let sample = |earlier, left_out| SummaryLines {
                earlier,
                messages: vec![line.clone()],
                left_out,
            };
            [value(sample(Some(shown("earlier")), 3)), value(sample(None, 0))]
        }
        TemplateName::SummaryPlain => {
            let full = SummaryPlain {
                earlier: Some(shown("earlier")),
                messages: 9,
                calls: 4,
                requests: vec![shown("requests")],
                tools: vec![ToolCount {
                    name: shown("tools[].name"),
                    calls: 4,
                    failed: 1,
                }],
                answer: Some(shown("answer")),
            };
            let empty = SummaryPlain {
                earlier: None,
                messages: 0,
                calls: 0,
                requests: Vec::new(),
                tools: Vec::new(),
                answer: None,
            };
            [value(full), value(empty)]
        }
        TemplateName::SmartContext => {
            let file = SmartContext {
                filename: shown("filename"),
                mime_type: "text/plain".into(),
                mode: "INDEXED".into(),
                source_id: shown("source_id").as_str().into(),
                label: Label::BOTTOM,
                summary: Some(shown("summary")),
                why: Some(shown("why")),
            };
            let least = SmartContext {
                summary: None,
                why: None,
                ..file.clone()
            };
            [
                value(SmartContextBlock::new(&file)),
                value(SmartContextBlock::new(&least)),
            ]
        }
        TemplateName::Summary => {
            let sample = || value(SummaryFrame::new(&shown("text")));
            [sample(), sample()]
        }
    }
}

/// What has to come out of the first sample.
fn must_show(name: TemplateName) -> &'static [&'static str] {
    match name {
        TemplateName::SystemStable => &["tool_guidance", "model_guidance", "environment"],
        TemplateName::SystemContext => &["system_message", "project_file.text"],
        TemplateName::SystemSession => &["skills[].id", "skills[].description", "date"],
        TemplateName::Memory => &["items[].origin", "items[].text"],
        TemplateName::Notes => &[
            "notes[].text of a todo",
            "notes[].text of a nudge",
            "notes[].text of a hook",
        ],
        TemplateName::ToolStub => &["tool", "source"],
        TemplateName::SmartContext => &["filename", "source_id", "summary", "why"],
        TemplateName::CutMark => &[],
        TemplateName::SummaryInstructions => &["sections"],
        TemplateName::SummaryRequest => &["earlier", "messages[].text"],
        TemplateName::SummaryPlain => &["earlier", "requests", "tools[].name", "answer"],
        TemplateName::Summary => &["text"],
    }
}

/// The names that a template may use.
pub(super) fn variables(name: TemplateName) -> Vec<String> {
    let [sample, _] = samples(name);
    let names: BTreeSet<String> = sample
        .try_iter()
        .into_iter()
        .flatten()
        .map(|name| name.to_string())
        .collect();
    names.into_iter().collect()
}

/// Whether `text`, compiled as `name`, does what it should.
pub(super) fn check(templates: &Templates, name: TemplateName, text: &str) -> Result<(), PromptError> {
    let valid = variables(name);
    let environment = templates.environment();
    let undeclared: BTreeSet<String> = match environment.get_template(name.file()) {
        Ok(template) => template.undeclared_variables(false).into_iter().collect(),
        Err(_) => BTreeSet::new(),
    };
    let is_known = |variable: &str| {
        valid.iter().any(|known| known == variable)
            || environment.globals().any(|(global, _)| global == variable)
    };
    let unknown = undeclared
        .into_iter()
        .filter(|variable| !is_known(variable))
        .map(|variable| (line_of(text, &variable), variable))
        .min();
    if let Some((line, variable)) = unknown {
        return Err(PromptError::UnknownVariable {
            file: name.file().into(),
            line,
            variable,
            valid: valid.join(", "),
        });
    }
    let [full, empty] = samples(name);
    let rendered = templates.render_value(name, full)?;
    templates.render_value(name, empty)?;
    match must_show(name)
        .iter()
        .find(|what| !rendered.contains(&format!("{SHOWN} {what}")))
    {
        Some(variable) => Err(PromptError::TemplateDrops {
            file: name.file().into(),
            variable: (*variable).into(),
        }),
        None => Ok(()),
    }
}

/// The line, from 1, of the first tag that has `variable` as a word; the engine knows the name alone.
fn line_of(text: &str, variable: &str) -> usize {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut line = 1_usize;
    let mut rest = text;
    while let Some(open) = ["{{", "{%"].iter().filter_map(|tag| rest.find(tag)).min() {
        let (before, tag) = rest.split_at_checked(open).unwrap_or((rest, ""));
        line = line.saturating_add(before.matches('\n').count());
        let close = if tag.starts_with("{{") { "}}" } else { "%}" };
        let end = tag
            .find(close)
            .map_or(tag.len(), |end| end.saturating_add(close.len()));
        let (inside, after) = tag.split_at_checked(end).unwrap_or((tag, ""));
        for (offset, part) in inside.split('\n').enumerate() {
            if part
                .split(|character| !is_word(character))
                .any(|word| word == variable)
            {
                return line.saturating_add(offset);
            }
        }
        line = line.saturating_add(inside.matches('\n').count());
        rest = after;
    }
    1
}

fn value(variables: impl Serialize) -> Value {
    Value::from(Serde(variables))
}
