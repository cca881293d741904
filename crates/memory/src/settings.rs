//! What can be set.

use serde::{Deserialize, Serialize};
use tidegate_policy::{Classification, Integrity, Label};

/// Up to which level memories are recalled. `[memory] recall` in the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recall {
    /// What can flow to the session's taint: reading it does not raise the taint's classification.
    #[default]
    AtOrBelow,
    /// What can flow to the session's clearance: reading it may raise the taint.
    Escalate,
}

/// Which legs a search has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Vectors and words.
    #[default]
    Hybrid,
    /// Words alone.
    Lexical,
    /// Vectors alone.
    Dense,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Hybrid, Self::Lexical, Self::Dense];

    /// The name, as the command line has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Dense => "dense",
        }
    }

    pub(crate) fn has_words(self) -> bool {
        self != Self::Dense
    }

    pub(crate) fn has_vectors(self) -> bool {
        self != Self::Lexical
    }
}

/// Settings of the memories.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySettings {
    /// Up to which level is recalled. Default: [`Recall::AtOrBelow`].
    pub recall: Recall,
    /// The legs of a search. Default: [`Mode::Hybrid`].
    pub mode: Mode,
    /// The groups that are suggested to models. Default: "alignment profile" and "learned hypotheses".
    pub artifact_names: Vec<String>,
    /// Days a memory of importance 1 to 5 lives unless it is renewed. Default: 30, 60, 180, 365, 540.
    pub lifetime_days: [u32; 5],
    /// The most tokens of a chunk; less where the embedder sees less. Default: 256.
    pub chunk_tokens: usize,
    /// Tokens with which a chunk repeats the end of the one before. Default: 24.
    pub overlap_tokens: usize,
    /// How often a chunk that cannot be embedded is tried. Default: 3.
    pub attempts: u32,
    /// Texts that are embedded at once. Default: 64.
    pub batch: usize,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            recall: Recall::AtOrBelow,
            mode: Mode::Hybrid,
            artifact_names: vec!["alignment profile".to_owned(), "learned hypotheses".to_owned()],
            lifetime_days: [30, 60, 180, 365, 540],
            chunk_tokens: 256,
            overlap_tokens: 24,
            attempts: 3,
            batch: 64,
        }
    }
}

/// Who asks, from the circumstances of a call and never from a model's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whose memories.
    pub user: tidegate_policy::UserId,
    /// The conversation, as text.
    pub chat: std::sync::Arc<str>,
    /// The label of the context that asks: what is written carries it.
    pub label: Label,
    /// The highest level the session may read.
    pub clearance: Classification,
}

impl Scope {
    /// The labels that `self` may see.
    pub(crate) fn visible(&self, recall: Recall) -> Vec<Label> {
        let ceiling = match recall {
            Recall::AtOrBelow => self.label.classification.min(self.clearance),
            Recall::Escalate => self.clearance,
        };
        Classification::ALL
            .into_iter()
            .filter(|level| level.can_flow_to(ceiling))
            .flat_map(|level| [Label::trusted(level), Label::untrusted(level)])
            .collect()
    }

    /// The TRUSTED ones of `labels`.
    pub(crate) fn trusted(labels: &[Label]) -> Vec<Label> {
        let trusted = labels.iter().filter(|label| label.integrity == Integrity::Trusted);
        trusted.copied().collect()
    }
}
