//! Model providers.
//!
//! A [`Provider`] turns a [`ModelRequest`] into a stream of [`StreamEvent`]s that ends with one complete
//! [`Reply`](tidegate_message::Reply), or with one [`ProviderError`] of a known [`ErrorClass`]. Dropping the
//! stream cancels the call.
//!
//! [`OpenAi`] speaks Chat Completions with streaming; [`Scripted`] plays a scenario file.
//!
//! **Not here:** retries, fallbacks, tiers (`tidegate-runtime`).

mod error;
mod provider;

pub use error::{ErrorClass, ProviderError};
pub use provider::{ModelRequest, Provider, ReplyStream, StreamEvent, ToolChoice, ToolSet};
