//! A fake of OpenAI's Chat Completions.

mod check;
mod reply;
mod server;
pub(crate) mod wire;

pub use check::{Violation, check_request};
pub use reply::{FakeBody, FakeReply};
pub use server::{FakeOpenAi, RecordedRequest};
