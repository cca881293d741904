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
//! **Not here:** running calls, timeouts, the gate (`tidegate-runtime`); tools that read files
//! (`tidegate-builtins`). Nothing here does I/O or needs an async runtime.

mod cancel;
mod cut;
mod labels;
mod registry;
mod synthetic;
mod tool;
mod typed;
mod validate;

pub use cancel::{Cancel, NeverCancelled};
pub use cut::{Cut, cut_text};
pub use labels::{ContentHash, FileLabels, FileLabelsError, KnownFile};
pub use registry::{Registry, RegistryError};
pub use synthetic::{NEW_COGNITIVE_LEVEL, NewCognitiveLevel, new_cognitive_level};
pub use tool::{
    BoxFuture, CallContext, PreparedCall, Tool, ToolDefinition, ToolError, ToolOutput,
};
pub use typed::TypedTool;
pub use validate::ArgumentsError;
