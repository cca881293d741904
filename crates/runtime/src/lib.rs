//! Drives agent loops over real stores and providers.
//!
//! A [`Runtime`] is put together once: a store, providers, tiers, tools, from a [`config`](mod@config) or by
//! hand with a [`RuntimeBuilder`]. It opens [`Session`]s; a session runs turns. The loop itself decides in
//! `tidegate-core`; this crate performs its steps and persists the machine at each of them, so that a
//! process that is killed resumes where it was.
//!
//! What a turn did is in its [`TurnReport`]; what happened meanwhile goes to an [`Observer`] and, as stored
//! events, to the [`EventBus`].
//!
//! **Invariants**
//! - The user's message is stored before the first model call, a reply before its first tool runs, and the
//!   results with the taint they raise before the next model call.
//! - A consequential call is journalled as started before it runs, and is never run again by itself.
//! - A call that has to be approved runs at most once for each grant: using the grant up and journalling the call
//!   are one commit.
//! - Every movement of data passes [`Gate::judge`](tidegate_policy::Gate::judge); there is no other way.
//!
//! **Not here:** what the next step is (`tidegate-core`), how text is shown (`tidegate-cli`).

mod api_key;
mod approvals;
mod attachment;
mod builder;
mod caller;
mod cancel;
mod capped;
pub mod config;
mod configured_tool;
mod data_folder;
mod error;
mod explain;
mod file_labels;
mod hook;
mod ids;
mod live;
mod lock;
mod memory;
mod model_call;
mod notes;
mod open;
mod owner;
mod private_file;
mod probe;
mod project_file;
mod prompt;
mod provenance;
mod reader;
mod redacted;
mod reload;
mod report;
mod requests;
mod resilience;
mod routing;
mod runtime;
mod secrets;
mod session;
mod session_facts;
mod signal;
mod simulate;
mod start;
mod structured;
mod tool_call;
mod trial;
mod turn;
mod wiring;

pub use approvals::{
    ApprovalAnswer, ApprovalRequest, Approver, ControlValue, JudgedValue, PendingQuestion, Release,
    TouchedSink, TouchedSource, ValueOrigin, decide_approval,
};
pub use attachment::AttachmentError;
pub use builder::RuntimeBuilder;
pub use cancel::CancelToken;
pub use data_folder::{DataFolder, user_config_folder};
pub use error::RuntimeError;
pub use explain::Explanation;
pub use hook::{HookNote, HookedTurn, TurnHook};
pub use ids::{new_session_id, new_turn_id};
pub use live::{ConfigurationChange, LiveRuntime, Watching};
pub use memory::{MemoryJobs, MemoryUpkeep};
pub use open::{SessionRequest, SystemMessage, Which};
pub use owner::{OWNER_SESSION, record_memory_release};
pub use reader::{ReadEvents, Reader};
pub use reload::Reconfigured;
pub use report::TurnReport;
pub use requests::{RequestPlace, SentRequest, ShownText, Wire};
pub use runtime::Runtime;
pub use secrets::SecretsError;
pub use session::{Session, TurnOptions};
pub use signal::{EventBus, Observer, Signal};
pub use simulate::{SimulatedCall, Simulation};
pub use structured::{AnswerSchema, Misfit, SchemaError, Structured, StructuredTask};
pub use turn::Compacted;
pub use wiring::MemoryService;
