//! Prompts that stay a prefix: the system prompt, the context of a turn, its size, and compaction.
//!
//! A request that begins with the bytes of the one before it costs a fraction. So the system prompt is built once a
//! session ([`SystemPrompt`]), what changes by turn rides on the user message of its turn
//! ([`compose_user_api_content`]) and is stored with it as its sidecar, and what has to break the prefix says so
//! ([`compare_requests`], [`PrefixBreakCause`]).
//!
//! [`TurnBuilder`] makes a [`TurnContext`] of a user's message: it says what it needs ([`Need`]), whoever drives it
//! provides that. [`Compaction`] makes a transcript shorter in the same way: it asks for a summary, or makes one
//! itself if none can be had. All text a model sees is in templates ([`Templates`]) that can be overridden; what
//! people and tools wrote is only ever a variable of them, and is escaped where it stands in a block.
//!
//! Nothing here does I/O, reads a clock or asks a model: the same input gives the same bytes.
//!
//! **Not here:** where prompts are stored, who may read them, calling the auxiliary model, trust in project files and
//! templates (`tidegate-runtime`); how a wire looks (`tidegate-providers`).
//!
//! **Invariants**
//! - What compaction makes is a valid transcript that keeps the current request, and it ends after at most
//!   [`CompactionSettings::max_passes`] passes, with progress or an error that names the largest part.
//! - The label of what is composed or summed up is the join of everything in it.

mod anchor;
mod compaction;
mod compose;
mod error;
mod note;
mod prefix;
mod project;
mod recall;
mod sanitise;
mod size;
mod smart_context;
mod system;
mod templates;
mod text;
mod turn;

pub use anchor::{CurrentMessage, reanchor_current_turn_user_idx};
pub use compaction::{
    Compaction, CompactionCause, CompactionInput, CompactionOutcome, CompactionSettings, CompactionStep,
    Cooldown, LargestPart, Progress, SummaryOrigin, SummaryRequest, TooLarge,
};
pub use compose::{Composed, compose_user_api_content};
pub use error::PromptError;
pub use note::{Note, NoteKind};
pub use prefix::{
    EncodedRequest, PrefixBreak, PrefixBreakCause, PrefixPart, RequestComparison, compare_requests,
};
pub use project::{PROJECT_FILE_NAMES, ProjectFile, project_file_candidates};
pub use recall::Recalled;
pub use sanitise::{LossyText, sanitise};
pub use size::{Fixed, Prices, RequestSize, Window, estimate_entry, estimate_request, estimate_text};
pub use smart_context::SmartContext;
pub use system::{Fact, SessionDate, Skill, SystemPrompt, SystemPromptInput};
pub use templates::{TemplateName, Templates};
pub use text::{escape_attribute, escape_block};
pub use turn::{CompactionReport, Need, TurnBuilder, TurnContext, TurnInput};
