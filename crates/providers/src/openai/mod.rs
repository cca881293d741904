//! Chat Completions: OpenAI, and every server that speaks its protocol.

mod assemble;
mod calls;
mod classify;
mod details;
mod echo;
mod encode;
mod endpoint;
mod exchange;
mod fragment;
mod provider;
mod read;

pub(crate) use assemble::whole_reply;
pub use encode::{chat_wire, encode_request};
pub use provider::{OpenAi, OpenAiConfig};
