//! Names of memories.

use crate::ids::uuid_of;
use crate::text::{content_words, fold};
use tidegate_policy::MemoryId;

/// Words of a name made of a fact.
const MOST_WORDS: usize = 6;

/// A name of a fact's first words, and of its whole text where they do not tell all: the same for the same fact, and
/// another for another.
pub(super) fn slug(fact: &str) -> MemoryId {
    let words = content_words(fact);
    let plain: Vec<String> = words
        .iter()
        .map(|word| fold(word).replace(|character: char| !character.is_alphanumeric(), ""))
        .filter(|word| !word.is_empty())
        .collect();
    let name = plain.iter().take(MOST_WORDS).cloned().collect::<Vec<_>>().join("-");
    let hash = uuid_of(&serde_json::json!(["fact", fact.trim()])).simple().to_string();
    let hash: String = hash.chars().take(8).collect();
    let beginning: String = name.chars().take(60).collect();
    MemoryId::new(if beginning.is_empty() {
        hash
    } else {
        format!("{beginning}-{hash}")
    })
}

/// A name as a model gave it: words and hyphens, at most 64 characters; none if nothing is left.
pub(super) fn cleaned(name: &str) -> Option<MemoryId> {
    let lowered: String = name.to_lowercase();
    let parts = lowered.split(|character: char| !character.is_alphanumeric() && character != '_');
    let joined = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let cut: String = joined.chars().take(64).collect();
    (!cut.is_empty()).then(|| MemoryId::new(cut))
}
