//! One module a command.

pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod events;
pub(crate) mod run;
pub(crate) mod sessions;
mod time;
mod tour;

use time::{local_time, time};
