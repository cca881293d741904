//! Making a transcript shorter without losing the thread.

mod cooldown;
mod largest;
mod machine;
mod outcome;
mod plan;
mod progress;
mod settings;
mod stub;
mod summary;
mod units;

pub use cooldown::Cooldown;
pub(crate) use largest::largest_fixed;
pub use largest::{LargestPart, TooLarge};
pub use machine::{Compaction, CompactionInput, CompactionStep};
pub use outcome::{CompactionOutcome, SummaryOrigin};
pub use progress::Progress;
pub use settings::{CompactionCause, CompactionSettings};
pub use summary::SummaryRequest;
