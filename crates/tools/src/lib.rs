//! Tools: what a model may do besides talk.
//!
//! A [`Tool`] describes itself ([`ToolDefinition`]) and works in two steps: [`Tool::prepare`] resolves the
//! arguments to the things they name, so that the gate can judge them; the [`PreparedCall`] it gives then
//! runs on just those things. Most tools touch nothing the gate has to see and are plain async functions:
//! [`TypedTool`].
//!
//! A [`Registry`] holds the tools of a session in a stable order (by name), lists those a role may see,
//! and checks arguments, with messages a model can act on.
//!
//! ```
//! use std::sync::Arc;
//! use tidegate_tools::{CallContext, Registry, ToolError, TypedTool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greeting {
//!     /// Who is greeted.
//!     name: String,
//! }
//!
//! let greet = TypedTool::new("greet", "Greets somebody.", |greeting: Greeting, _: CallContext| async move {
//!     Ok(format!("Good morning, {}!", greeting.name))
//! });
//! let mut tools = Registry::new();
//! tools.register(Arc::new(greet))?;
//! assert_eq!(
//!     tools.check(&"greet".into(), r#"{"nam": "Ada"}"#).unwrap_err().to_string(),
//!     "arguments of greet: \"nam\" is not an argument; did you mean \"name\"?; \"name\" is missing; \
//!      expected {\"name\": string}",
//! );
//! # Ok::<(), tidegate_tools::RegistryError>(())
//! ```
//!
//! **Not here:** running calls, timeouts, the gate (`tidegate-runtime`); tools that read files
//! (`tidegate-builtins`). Nothing here does I/O or needs an async runtime.

mod cancel;
mod cut;
mod labels;
mod memory_labels;
mod registry;
mod schema;
mod signature;
mod synthetic;
mod tool;
mod typed;
mod validate;

pub use cancel::{Cancel, NeverCancelled, until_cancelled};
pub use cut::{Cut, cut_text, graphemes_within};
pub use labels::{
    ContentHash, FileLabels, FileLabelsError, KnownFile, LabelQuery, LabelStart, PendingWrites,
};
pub use memory_labels::MemoryLabels;
pub use registry::{Registry, RegistryError};
pub use schema::arguments_schema;
pub use synthetic::{NEW_COGNITIVE_LEVEL, NewCognitiveLevel, new_cognitive_level};
pub use tool::{
    BoxFuture, CallContext, OpenQuestion, PreparedCall, Tool, ToolDefinition, ToolError, ToolOutput,
};
pub use typed::{IntoOutput, Json, TypedTool};
pub use validate::{ArgumentsError, Problems, nearest_name};
