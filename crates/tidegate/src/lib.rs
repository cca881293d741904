//! Tidegate: a runtime for agents that keep secrets.
//!
//! A tide gate lets water through one way only; here data may move up in classification and never down, on
//! every path. This crate is the front door for Rust programs: it re-exports the crates it is made of, each
//! usable alone, and the handful of names a first program needs in [`prelude`].
//!
//! ```
//! use std::sync::Arc;
//! use tidegate::prelude::*;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Tide {
//!     /// The harbour.
//!     harbour: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tide = TypedTool::new("tide", "When the tide is high.", |tide: Tide, _context| async move {
//!     Ok(format!("{}: 14:20", tide.harbour))
//! });
//! // A scripted model stands in for a real one: see `OpenAi` for those.
//! let model = Scripted::new(
//!     ProviderId::new("script"),
//!     [
//!         ScriptedReply::calls([("tide", serde_json::json!({ "harbour": "Brest" }))]),
//!         ScriptedReply::text("High tide in Brest is at 14:20.").expecting("14:20"),
//!     ],
//! );
//! let runtime = Runtime::builder()
//!     .in_memory()
//!     .provider(Arc::new(model), Classification::Restricted, 8)
//!     .tier(Tier::Lite, vec!["script:any".parse()?])
//!     .tool(Arc::new(tide))
//!     .without_file_tools()
//!     .build()?;
//! let mut session = runtime.session(SessionRequest::new(Which::New)).await?;
//! let report = session.run("When is high tide in Brest?", TurnOptions::default()).await?;
//! assert_eq!(report.answer, "High tide in Brest is at 14:20.");
//! # Ok(())
//! # }
//! ```
//!
//! Memories need nothing more: `with_memory` of the builder adds them with [`memory::HashedEmbedder`] and exact search.
//! The features `embed` (local and remote models) and `qdrant` (Qdrant's engine in the process, and its server) bring
//! the real ones; both are heavy and off by default.
//!
//! **Not here:** the command line (`tidegate-cli`).

pub use tidegate_builtins as builtins;
pub use tidegate_core as core;
#[cfg(feature = "embed")]
pub use tidegate_embed as embed;
pub use tidegate_memory as memory;
pub use tidegate_message as message;
pub use tidegate_policy as policy;
pub use tidegate_prompt as prompt;
pub use tidegate_providers as providers;
#[cfg(feature = "qdrant")]
pub use tidegate_qdrant as qdrant;
pub use tidegate_runtime as runtime;
pub use tidegate_store as store;
pub use tidegate_tools as tools;

/// What a first program needs.
pub mod prelude {
    pub use tidegate_memory::{
        Embedder, HashedEmbedder, Memory, MemorySearch, NewMemory, Scope, VectorIndex,
    };
    pub use tidegate_message::{ModelId, ModelPolicy, ProviderId, Tier, TurnStatus};
    pub use tidegate_policy::{Classification, Integrity, Label, Role, SessionName};
    pub use tidegate_providers::{OpenAi, OpenAiConfig, Provider, Scripted, ScriptedReply};
    pub use tidegate_runtime::{
        ApprovalAnswer, ApprovalRequest, Approver, CancelToken, Observer, Runtime, RuntimeError, Session,
        SessionRequest, Signal, TurnOptions, TurnReport, Which,
    };
    pub use tidegate_store::{MemoryStore, SqliteStore, Store};
    pub use tidegate_tools::{CallContext, Tool, ToolError, ToolOutput, TypedTool};
}
