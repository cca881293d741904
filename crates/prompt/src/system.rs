//! The system prompt: built once a session, stored, and replayed byte for byte.

use crate::templates::{SystemContext, SystemSession, SystemStable, TemplateName, Templates};
use crate::{ProjectFile, PromptError, estimate_text, sanitise};
use serde::{Deserialize, Serialize};
use std::fmt;
use tidegate_policy::{Classification, Label};

/// A day: when a session began. There is no time of day in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "(i16, i8, i8)", into = "(i16, i8, i8)")]
pub struct SessionDate {
    year: i16,
    month: i8,
    day: i8,
}

impl SessionDate {
    /// A day of the Gregorian calendar; month and day from 1.
    ///
    /// # Errors
    /// If there is no such day, or the year is not from 1 to 9999.
    pub fn new(year: i16, month: i8, day: i8) -> Result<Self, PromptError> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            _ => 0,
        };
        if (1..=9999).contains(&year) && (1..=days).contains(&day) {
            Ok(Self { year, month, day })
        } else {
            Err(PromptError::Date { year, month, day })
        }
    }
}

impl TryFrom<(i16, i8, i8)> for SessionDate {
    type Error = PromptError;

    fn try_from((year, month, day): (i16, i8, i8)) -> Result<Self, PromptError> {
        Self::new(year, month, day)
    }
}

impl From<SessionDate> for (i16, i8, i8) {
    fn from(date: SessionDate) -> Self {
        (date.year, date.month, date.day)
    }
}

/// `2026-11-29`.
impl fmt::Display for SessionDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Something about the place where the agent works, the same as long as the session lasts: `system: Linux`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is about.
    pub name: String,
    /// What is the case.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// A skill, as the index lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Its id, by which it is read.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Its label.
    pub label: Label,
}

impl Skill {
    /// Whether it may stand in a system prompt: PUBLIC, since every session sees the index, and TRUSTED, since it speaks
    /// with the voice of the system.
    pub fn may_be_listed(&self) -> bool {
        self.label == Label::trusted(Classification::Public)
    }
}

/// What a system prompt is made of.
#[derive(Clone, Debug)]
pub struct SystemPromptInput<'a> {
    /// More lines on how to use the tools of this session.
    pub tool_guidance: &'a [String],
    /// Whether there are file tools, so that the folders of the workspace are explained.
    pub files: bool,
    /// What this model needs to be told.
    pub model_guidance: Option<&'a str>,
    /// Where the agent works.
    pub environment: &'a [Fact],
    /// What the caller wants to stand in the system prompt, and its label.
    pub system_message: Option<(&'a str, Label)>,
    /// The project file, once it is trusted, and its label.
    pub project_file: Option<(&'a ProjectFile, Label)>,
    /// Skills. Those that [may not be listed](Skill::may_be_listed) are left out.
    pub skills: &'a [Skill],
    /// The day the session began.
    pub date: SessionDate,
}

/// A system prompt. Stored with its session and replayed; built again only by compaction, a reset or an explicit
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPrompt {
    /// The text, as it is sent.
    pub text: String,
    /// The join of the labels of what is in it.
    pub label: Label,
    /// Ids of skills that may not be listed and were left out.
    pub skills_left_out: Vec<String>,
}

impl SystemPrompt {
    /// Builds one: what is the same for all sessions first, what belongs to this one last. Equal input gives equal bytes;
    /// skills stand in the order of their ids, whatever their order in `input`.
    ///
    /// # Errors
    /// If a template cannot be rendered.
    pub fn build(templates: &Templates, input: &SystemPromptInput<'_>) -> Result<Self, PromptError> {
        let stable = templates.render(
            TemplateName::SystemStable,
            SystemStable::new(
                input.tool_guidance,
                input.files,
                input.model_guidance,
                input.environment,
            ),
        )?;
        let message = input
            .system_message
            .map(|(text, _)| text.trim())
            .filter(|text| !text.is_empty());
        let file = input.project_file.map(|(file, _)| file);
        let context = templates.render(TemplateName::SystemContext, SystemContext::new(message, file))?;
        let (mut listed, left_out): (Vec<&Skill>, Vec<&Skill>) =
            input.skills.iter().partition(|skill| skill.may_be_listed());
        listed.sort_by(|left, right| left.id.cmp(&right.id));
        let session = templates.render(
            TemplateName::SystemSession,
            SystemSession::new(listed, input.date.to_string()),
        )?;
        let tiers: Vec<&str> = [&stable, &context, &session]
            .into_iter()
            .map(|tier| tier.trim())
            .filter(|tier| !tier.is_empty())
            .collect();
        let labels = [
            input.system_message.map(|(_, label)| label),
            input.project_file.map(|(_, label)| label),
        ];
        Ok(Self {
            text: sanitise(&tiers.join("\n\n")).into_owned(),
            label: Label::join_all(labels.into_iter().flatten()),
            skills_left_out: left_out.into_iter().map(|skill| skill.id.clone()).collect(),
        })
    }

    /// About how many tokens it has.
    pub fn tokens(&self) -> u64 {
        estimate_text(&self.text)
    }
}
