//! How long a memory may be, whoever it comes from.

use super::NewMemory;
use crate::MemoryError;
use tidegate_policy::MemoryId;
use tidegate_store::{MemoryRecord, MemoryVersion};

/// The longest fact, in characters.
pub(super) const LONGEST_FACT: usize = 4_000;

/// The longest name of a memory or group, in characters.
const LONGEST_NAME: usize = 200;

/// The longest tag, in characters.
const LONGEST_TAG: usize = 100;

/// The most tags of a memory.
pub(super) const MOST_TAGS: usize = 32;

impl NewMemory {
    /// Whether it may be written.
    pub(super) fn check(&self) -> Result<(), MemoryError> {
        if let Some(memory_id) = &self.memory_id {
            check_name(memory_id)?;
        }
        check_content(&self.artifact_name, &self.fact, self.importance, &self.tags)
    }
}

/// Checks a memory that comes from elsewhere, by the rules of [`Memory::remember`](crate::Memory::remember).
///
/// # Errors
/// [`MemoryError::Empty`], [`MemoryError::TooLong`], [`MemoryError::TooMany`], [`MemoryError::OutOfBounds`].
pub fn check_memory(memory: &MemoryRecord) -> Result<(), MemoryError> {
    check_name(&memory.memory_id)?;
    check_content(
        &memory.artifact_name,
        &memory.fact,
        memory.importance,
        &memory.tags,
    )
}

/// The same for what a memory said before.
///
/// # Errors
/// As there.
pub fn check_version(version: &MemoryVersion) -> Result<(), MemoryError> {
    check_content(
        &version.artifact_name,
        &version.fact,
        version.importance,
        &version.tags,
    )
}

fn check_name(memory_id: &MemoryId) -> Result<(), MemoryError> {
    check_text("memory_id", memory_id.as_str(), LONGEST_NAME)
}

fn check_content(
    artifact_name: &str,
    fact: &str,
    importance: u8,
    tags: &[String],
) -> Result<(), MemoryError> {
    check_text("fact", fact, LONGEST_FACT)?;
    check_text("artifact_name", artifact_name, LONGEST_NAME)?;
    if tags.len() > MOST_TAGS {
        return Err(MemoryError::TooMany {
            what: "tags",
            given: tags.len(),
            most: MOST_TAGS,
        });
    }
    for tag in tags {
        check_text("tag", tag, LONGEST_TAG)?;
    }
    if (1..=5).contains(&importance) {
        return Ok(());
    }
    Err(MemoryError::OutOfBounds {
        what: "importance",
        given: importance.into(),
        least: 1,
        most: 5,
    })
}

/// Checks that a text says something and is not too long.
fn check_text(what: &'static str, text: &str, most: usize) -> Result<(), MemoryError> {
    if text.trim().is_empty() {
        return Err(MemoryError::Empty { what });
    }
    let given = text.chars().count();
    if given > most {
        return Err(MemoryError::TooLong { what, given, most });
    }
    Ok(())
}
