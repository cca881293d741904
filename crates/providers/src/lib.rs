//! Model providers.
//!
//! A [`Provider`] turns a [`ModelRequest`] into a stream of [`StreamEvent`]s that ends with one complete
//! [`Reply`](tidegate_message::Reply), or with one [`ProviderError`] of a known [`ErrorClass`]. Dropping the
//! stream cancels the call.
//!
//! [`OpenAi`] speaks Chat Completions with streaming; [`Scripted`] plays a scenario file.
//!
//! **The prompt is a prefix.** [`encode_request`] puts a request together from bytes that were made once
//! per entry, so that the tools, system prompt and messages of one request are the beginning of the next
//! one's and a provider's prompt cache is hit.
//!
//! **Not here:** retries, fallbacks, tiers (`tidegate-runtime`).

mod error;
mod history;
mod openai;
mod provider;
mod scripted;

pub use error::{ErrorClass, ProviderError};
pub use history::{HistoryError, validate_history};
pub use openai::{OpenAi, OpenAiConfig, chat_wire, encode_request};
pub use provider::{ModelRequest, Provider, ReplyStream, StreamEvent, ToolChoice, ToolSet};
pub use scripted::{Place, ScenarioError, Scripted, ScriptedCall, ScriptedError, ScriptedReply};
pub use secrecy::SecretString;
pub use tidegate_http::printable;
