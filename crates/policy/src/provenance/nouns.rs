//! What a tool is about, from its name.

use crate::licence::Vocabulary;

/// The nouns in a tool's name and the classes of objects they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolNouns {
    /// In the singular, lower case.
    pub(crate) words: Vec<String>,
    pub(crate) classes: Vec<usize>,
    /// Families of its action words.
    pub(crate) families: Vec<usize>,
    /// Every word of its name.
    pub(crate) all: Vec<String>,
}

const FILLERS: [&str; 34] = [
    "get",
    "list",
    "search",
    "find",
    "read",
    "fetch",
    "show",
    "lookup",
    "look",
    "query",
    "by",
    "all",
    "id",
    "ids",
    "in",
    "for",
    "to",
    "of",
    "the",
    "a",
    "an",
    "and",
    "from",
    "with",
    "my",
    "unread",
    "sent",
    "received",
    "most",
    "recent",
    "name",
    "content",
    "current",
    "available",
];

/// Words that in a tool's name only say that what follows comes to be.
const MAKERS: [&str; 6] = ["add", "create", "make", "new", "place", "submit"];

impl ToolNouns {
    /// Whether the two may be about the same kind of object.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.words.iter().any(|word| other.words.contains(word))
            || self.classes.iter().any(|class| other.classes.contains(class))
    }
}

/// The words of a name in snake, kebab or camel case, in lower case.
pub(crate) fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut fresh = true;
    let mut previous_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            fresh = true;
            previous_lower = false;
            continue;
        }
        if character.is_uppercase() && previous_lower {
            fresh = true;
        }
        previous_lower = character.is_lowercase();
        if fresh {
            words.push(String::new());
            fresh = false;
        }
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words
}

pub(crate) fn singular(word: &str) -> &str {
    match word {
        _ if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") => {
            word.strip_suffix('s').unwrap_or(word)
        }
        _ => word,
    }
}

pub(crate) fn nouns_of(name: &str, vocabulary: &Vocabulary) -> ToolNouns {
    let mut nouns = ToolNouns::default();
    let (mut foreign, mut objects_foreign) = (false, false);
    let mut makes = false;
    for (position, word) in name_words(name).into_iter().enumerate() {
        // In `add_comment` and `create_order` the noun says what is done.
        let families = vocabulary.tool_families(&word, position == 0 || (position == 1 && makes));
        makes = MAKERS.contains(&word.as_str());
        let is_verb = !families.is_empty();
        nouns.all.push(word.clone());
        for family in families {
            if !nouns.families.contains(&family) {
                nouns.families.push(family);
            }
        }
        let single = singular(&word);
        for class in vocabulary
            .tool_object_classes(&word)
            .iter()
            .chain(vocabulary.tool_object_classes(single))
        {
            if !nouns.classes.contains(class) {
                nouns.classes.push(*class);
            }
        }
        let is_object = !vocabulary.tool_object_classes(&word).is_empty();
        if !FILLERS.contains(&word.as_str()) && (is_object || !is_verb) {
            nouns.words.push(single.to_owned());
        }
    }
    // A name in another language.
    for word in name_words(name) {
        if FILLERS.contains(&word.as_str()) {
            continue;
        }
        if nouns.families.is_empty() || foreign {
            let families = vocabulary.word_families(&word);
            foreign |= !families.is_empty();
            if !families.is_empty() {
                nouns.words.retain(|noun| noun != singular(&word));
            }
            nouns.families.extend(families);
        }
        if nouns.classes.is_empty() || objects_foreign {
            let classes = vocabulary.word_objects(&word);
            objects_foreign |= !classes.is_empty();
            nouns.classes.extend(classes);
        }
    }
    nouns
}
