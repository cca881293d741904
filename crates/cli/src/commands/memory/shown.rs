//! A memory as it is printed: never without its label and where it is from.

use crate::output;
use serde::Serialize;
use tidegate_policy::{Label, MemoryId, escaped};
use tidegate_store::{MemoryRecord, Provenance};

/// What is printed with `--json`.
#[derive(Serialize)]
pub(super) struct ShownMemory<'a> {
    memory_id: &'a MemoryId,
    artifact_name: &'a str,
    fact: &'a str,
    importance: u8,
    tags: &'a [String],
    label: Label,
    /// Who said it.
    origin: &'a Provenance,
    /// The session in which it was written; none for the command line.
    session: Option<&'a str>,
    created: String,
    updated: String,
    expires: String,
    version: u32,
    /// Labels below this one's under which the same name is known too.
    also_at: &'a [Label],
    /// Only of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
    /// Only of a search: how many more say nearly the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    alike: Option<usize>,
}

impl<'a> ShownMemory<'a> {
    pub(super) fn of(memory: &'a MemoryRecord, also_at: &'a [Label]) -> Self {
        Self {
            memory_id: &memory.memory_id,
            artifact_name: &memory.artifact_name,
            fact: &memory.fact,
            importance: memory.importance,
            tags: &memory.tags,
            label: memory.label,
            origin: &memory.provenance,
            session: Some(&*memory.chat).filter(|chat| !chat.is_empty()),
            created: super::super::time(memory.created_ms),
            updated: super::super::time(memory.updated_ms),
            expires: super::super::time(memory.expires_ms),
            version: memory.version,
            also_at,
            score: None,
            alike: None,
        }
    }

    pub(super) fn found(mut self, score: f32, alike: usize) -> Self {
        self.score = Some(score);
        self.alike = Some(alike);
        self
    }
}

/// Prints one for people.
pub(super) fn line(memory: &MemoryRecord, also_at: &[Label], alike: usize) -> anyhow::Result<()> {
    let mut marks = vec![
        memory.label.to_string(),
        format!("importance {}", memory.importance),
        origin(memory),
        super::super::local_time(memory.updated_ms),
    ];
    if !memory.tags.is_empty() {
        let tags: Vec<String> = memory.tags.iter().map(|tag| escaped(tag).into_owned()).collect();
        marks.push(format!("tags {}", tags.join(", ")));
    }
    output::line(&format!(
        "{}  {}",
        escaped(memory.memory_id.as_str()),
        output::one_line(memory.fact.trim())
    ))?;
    output::line(&format!("    {}", marks.join(" · ")))?;
    if !also_at.is_empty() {
        let labels: Vec<String> = also_at.iter().map(Label::to_string).collect();
        output::line(&format!(
            "    known under this name also at {}",
            labels.join(" · ")
        ))?;
    }
    if alike > 0 {
        output::line(&format!("    {alike} more say nearly the same"))?;
    }
    Ok(())
}

/// Where it is from, in a few words.
pub(super) fn origin(memory: &MemoryRecord) -> String {
    let who = match &memory.provenance {
        Provenance::User => "from you".to_owned(),
        Provenance::Model => "from the model".to_owned(),
        Provenance::Tool { tool, .. } => format!("from {}", escaped(tool.as_str())),
        Provenance::Consolidation { from } => format!("made of {} memories", from.len()),
    };
    if memory.chat.is_empty() {
        who
    } else {
        format!("{who} in session {}", escaped(&memory.chat))
    }
}
