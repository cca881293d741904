//! Built-in tools: files, search, commands, the web, and the small ones.
//!
//! | function | tools |
//! | --- | --- |
//! | [`file_tools`] | `read_file`, `write_file`, `edit_file`, `list_files`, `search_files` over a [`Workspace`] |
//! | [`run_command`] | `run_command`: a command line, confined where the system allows it ([`confine`]) |
//! | [`http_get`] | `http_get`: a page or file of the web |
//! | [`ask_user`] | `ask_user`: a question, asked by an [`Asker`] |
//! | [`list_tools`], [`get_tool_schema`] | the tools of these names over a [`Catalogue`] |
//! | [`current_time`] | `current_time` over a clock |
//!
//! Every file is named relative to the workspace and opened beneath it: whatever links there are, and whoever
//! changes them meanwhile, nothing outside is read or written. What is opened is judged by where it really
//! is, and its content carries the label with which a tool wrote it.
//!
//! **Not here:** the gate (`tidegate-policy`), running tools and asking people (`tidegate-runtime`).
//!
//! **Invariants**
//! - A path above the session's clearance is never touched, so that its existence cannot be told from any
//!   answer: listings, searches, suggestions and errors are the same with and without it.
//! - The label of written content is recorded durably before the content can be seen.
//! - A result's label joins the labels of everything looked at, matched or not.
//! - A confined command can read nothing of a higher level than it can write, and nothing it started outlives it.
//! - Nothing is looked up or connected to for a URL before the gate has judged it.
//!
//! Needs a Unix. On Linux files are opened with `openat2` (Linux 5.6 or later); elsewhere folder by folder.

mod ask;
mod beneath;
mod catalogue;
mod causes;
mod command;
pub mod confine;
mod content;
mod edit;
mod entries;
mod error;
mod http;
mod list;
mod missing;
mod path;
mod place;
mod read;
mod recorded;
mod resolve;
mod search;
mod stop;
mod time;
mod tool;
mod workspace;
mod write;

pub use ask::{Answered, Asker, Question, ask_user};
pub use catalogue::{Catalogue, get_tool_schema, list_tools};
pub use command::{CommandError, CommandSettings, confinement_available, run_command};
pub use error::FileError;
pub use http::{FetchError, HttpLimits, HttpSettings, Resolver, SystemResolver, http_get};
pub use time::current_time;
pub use tool::file_tools;
pub use workspace::Workspace;
