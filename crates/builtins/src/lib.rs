//! Built-in tools: files, search and time.
//!
//! [`file_tools`] gives `read_file`, `write_file`, `edit_file`, `list_files` and `search_files` over a
//! [`Workspace`]; [`current_time`] gives the tool of that name over a clock.
//!
//! Every file is named relative to the workspace and opened beneath it: whatever links there are, and whoever
//! changes them meanwhile, nothing outside is read or written. What is opened is judged by where it really
//! is, and its content carries the label with which a tool wrote it.
//!
//! **Not here:** the gate (`tidegate-policy`), running tools (`tidegate-runtime`), commands and the network.
//!
//! **Invariants**
//! - A path above the session's clearance is never touched, so that its existence cannot be told from any
//!   answer: listings, searches, suggestions and errors are the same with and without it.
//! - The label of written content is recorded durably before the content can be seen.
//! - A result's label joins the labels of everything looked at, matched or not.
//!
//! Needs a Unix. On Linux files are opened with `openat2` (Linux 5.6 or later); elsewhere folder by folder.

mod beneath;
mod content;
mod edit;
mod entries;
mod error;
mod list;
mod missing;
mod path;
mod place;
mod read;
mod resolve;
mod search;
mod stop;
mod time;
mod tool;
mod workspace;
mod write;

pub use error::FileError;
pub use time::current_time;
pub use tool::file_tools;
pub use workspace::Workspace;
