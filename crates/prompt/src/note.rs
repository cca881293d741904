//! What the program tells the model about one message.

use serde::{Deserialize, Serialize};
use tidegate_policy::Label;

/// One note. It rides on the user message of its turn and is never repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it says.
    pub kind: NoteKind,
    /// The label of what it says.
    pub label: Label,
}

impl Note {
    /// A note of nothing but the program's own words.
    pub fn plain(kind: NoteKind) -> Self {
        Self {
            kind,
            label: Label::BOTTOM,
        }
    }
}

/// What a note says. The first three are gateway notes: taken one-shot from the inbox of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteKind {
    /// The first message of this person.
    Introduction {
        /// The channel it came by.
        channel: String,
    },
    /// The conversation goes on elsewhere.
    ChannelSwitch {
        /// Where it was.
        from: String,
        /// Where it is now.
        to: String,
    },
    /// The conversation before was closed by itself.
    AutoReset {
        /// Why, as in "idle for 24 hours".
        reason: String,
    },
    /// The list of open tasks.
    Todo {
        /// The list.
        text: String,
    },
    /// A reminder of the program.
    Nudge {
        /// What to remember.
        text: String,
    },
    /// What a `pre_llm_call` hook adds.
    Hook {
        /// The hook's name.
        hook: String,
        /// What it says.
        text: String,
    },
}
