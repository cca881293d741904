//! Confining commands: the process that stands between the program and a command.
//!
//! A command is never started by the program itself but by a **launcher**, a small process of one thread. The
//! launcher takes rights away, one after the other, and only then starts the shell; it waits for the shell's end
//! and sees to it that nothing of the command lives on. Program and launcher talk over one socket, the launcher's
//! standard input: the plan goes in, what happened comes out, and when the program closes its side (or dies) the
//! command is stopped.
//!
//! **Confined** (Linux) means all of this, or the command is not run:
//! - namespaces for mounts, processes, network, System V IPC and host name; a user namespace where the program is
//!   not root. The network has no interface that is up, and no process outside is seen;
//! - a new root that holds only what the plan names, each part writable, readable or hidden, everything but the
//!   writable parts mounted read-only; a private temporary folder in memory; five devices; its own `/proc`;
//! - no capability but the four over owners and modes of files, and those only where the program is root;
//! - Landlock: reading in that root, writing only where the plan says, no TCP, no signal and no abstract socket to
//!   the outside, as far as the kernel's version knows of these;
//! - a filter of system calls that refuses sockets of every family (Unix sockets too), `io_uring`, which could open
//!   them, new namespaces, mounts, tracing, kernel keys and the like;
//! - no descriptor beside standard input, output and error.
//!
//! The launcher is the first process of its process namespace: when it ends, the kernel kills every process in it
//! and waits for them, whatever they ignore and however they regrouped.
//!
//! **Only supervised**, where that is not available: the command has the rights of the program. The launcher
//! is then the reaper of its descendants (Linux) and kills all it finds before it ends; a process that multiplies
//! faster than it is found can outlive it. On other systems it kills the command's process group, and a
//! process that leaves the group outlives it.

mod environment;
mod launcher;
mod limits;
mod plan;
mod shell;
mod stage;

#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod rules;

pub use launcher::{Launcher, SUBCOMMAND, main};
pub use limits::CommandLimits;

pub(crate) use environment::environment;
pub(crate) use plan::{Access, Confinement, Ended, Plan, Report, View};
pub(crate) use stage::Stage;
