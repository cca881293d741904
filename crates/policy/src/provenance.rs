//! Where the values of a session came from.

mod ledger;
mod nouns;
mod structure;

pub use ledger::{ProvenanceLedger, ToolOutcome};
pub(crate) use ledger::{Row, TrustedField, argument_texts};
pub(crate) use nouns::{ToolNouns, name_words, nouns_of, singular};
