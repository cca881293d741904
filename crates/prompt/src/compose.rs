//! What a model is sent in place of a user's message.

use crate::templates::{MemoryBlock, NotesBlock, TemplateName, Templates};
use crate::{Note, PromptError, Recalled, SmartContext};
use tidegate_message::Content;
use tidegate_policy::Label;

/// A composed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// Its parts: the sidecar. `None` if nothing is added, so that the content itself is sent.
    pub sidecar: Option<Vec<Content>>,
    /// The join of the labels of what is added.
    pub label: Label,
}

/// Adds recalled memory, what stands for files that are not there whole, and notes to what a user wrote, as blocks that nothing in them can close.
///
/// If all of it is text, the blocks follow the last text after a blank line. If there is an image or a file in it, they
/// are one more text part at the end. What the user wrote is not changed.
///
/// # Errors
/// If a template cannot be rendered.
pub fn compose_user_api_content(
    templates: &Templates,
    content: &[Content],
    recalled: &[Recalled],
    files: &[SmartContext],
    notes: &[Note],
) -> Result<Composed, PromptError> {
    let mut blocks = Vec::with_capacity(files.len().saturating_add(2));
    if !recalled.is_empty() {
        blocks.push(templates.render(TemplateName::Memory, MemoryBlock::new(recalled))?);
    }
    for file in files {
        blocks.push(file.render(templates)?);
    }
    if !notes.is_empty() {
        blocks.push(templates.render(TemplateName::Notes, NotesBlock::new(notes))?);
    }
    blocks.retain(|block| !block.is_empty());
    let labels = recalled
        .iter()
        .map(|item| item.label)
        .chain(files.iter().map(|file| file.label))
        .chain(notes.iter().map(|note| note.label));
    let label = Label::join_all(labels);
    if blocks.is_empty() {
        return Ok(Composed { sidecar: None, label });
    }
    let blocks = blocks.join("\n\n");
    let mut sidecar: Vec<Content> = content
        .iter()
        .filter(|part| part.as_text() != Some(""))
        .cloned()
        .collect();
    let only_text = sidecar.iter().all(|part| part.as_text().is_some());
    match sidecar.last_mut() {
        Some(Content::Text { text }) if only_text => {
            text.push_str("\n\n");
            text.push_str(&blocks);
        }
        Some(_) | None => sidecar.push(Content::text(blocks)),
    }
    Ok(Composed {
        sidecar: Some(sidecar),
        label,
    })
}
