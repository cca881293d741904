//! Measuring retrieval on a file of conversations.

mod file;
mod measure;

pub use file::{Conversation, Question, Turn, read_conversations};
pub use measure::{Measures, Milliseconds, Report, evaluate};
