//! One module a command.

pub(crate) mod approvals;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod events;
pub(crate) mod init;
pub(crate) mod memory;
pub(crate) mod models;
mod new_file;
mod outcome;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod rag;
pub(crate) mod run;
pub(crate) mod sessions;
mod time;
pub(crate) mod tokens;
mod tour;
pub(crate) mod usage;
mod words;

use time::{local_time, time};
use words::{broken_by, trigger, word};
