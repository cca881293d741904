//! Recorded traces, judged step by step by the whole gate.
//!
//! A [`Trace`] is what an owner wrote and the calls a model made after it. [`replay`] judges its calls as a session
//! would: same gate, same taint, same ledger. What is expected of a trace ([`Expectation`]) is a type of its own that
//! the engine never sees; [`Figures`] compares the two afterwards.

mod error;
mod figures;
mod judge;
mod read;

pub use error::ReplayError;
pub use figures::{Benign, Figures, Hostile, Macro, SuiteFigures};
pub use judge::{ReplayPolicy, StepDecision, replay};
pub use read::{Expectation, RecordedTrace, ReplayTools, Trace, TraceKind, TraceStep, read_traces};
