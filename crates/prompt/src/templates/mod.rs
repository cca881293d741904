//! The templates of all text that models see.

mod check;
mod context;
mod engine;
mod name;

pub(crate) use context::{
    CutMark, MemoryBlock, NotesBlock, SmartContextBlock, Stub, SummaryFrame, SummaryInstructions,
    SummaryLine, SummaryLines, SummaryPlain, SystemContext, SystemSession, SystemStable, ToolCount,
};
pub use engine::Templates;
pub use name::TemplateName;
