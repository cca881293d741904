//! Chat Completions: OpenAI, and every server that speaks its protocol.

mod assemble;
mod calls;
mod chunk;
mod classify;
mod details;
mod echo;
mod encode;
mod endpoint;
mod exchange;
mod fragment;
mod messages;
mod piece;
mod provider;
mod read;

pub(crate) use assemble::whole_reply;
pub use encode::encode_request;
pub(crate) use messages::ChatMessages;
pub use messages::chat_wire;
pub use provider::{OpenAi, OpenAiConfig};
