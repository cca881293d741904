//! Labels, taint and the one gate through which data moves.
//!
//! A [`Flow`] says which data wants to go where; [`Gate::judge`] answers with an [`Evaluation`]: the
//! decision, the rule that decided, every rule that was looked at and why, and the taint before and
//! after. Nothing here does I/O, reads a clock or asks a model, so the same question always gets the
//! same answer: running, simulating, replaying and explaining are one function.
//!
//! The crate also classifies names: [`PathRules`] gives a path its level as a source and as a sink,
//! [`HostRules`] does so for URLs, and [`AddressKind`] tells what an IP address leads to. [`escaped`] makes
//! any name safe to show.
//!
//! **Not here:** opening files, validating JSON against a schema, storing taint, asking a person. The
//! caller does these and hands the gate what it found; see `tidegate-tools` and `tidegate-runtime`.
//!
//! **Invariants**
//! - A session's taint never falls: no function lowers a [`Taint`].
//! - A refused flow leaves the taint as it was.
//! - Judging is total: every [`Flow`] has an [`Evaluation`], and no input makes it panic.
//! - A grant answers a question and nothing else: it never turns a refusal into a permission.

mod address;
mod escape;
mod evaluation;
mod flow;
mod gate;
mod host;
mod id;
mod label;
mod path;
mod role;
mod taint;

pub use address::AddressKind;
pub use escape::escaped;
pub use evaluation::{Decision, Evaluation, RuleOutcome, RuleTrace};
pub use flow::{
    Admission, AnswerFlow, ArgumentCheck, Bumper, ContextFlow, Flow, FlowKind, ModelFlow, Resource,
    ResourceKind, ResourceRef, ResponseFlow, ResponseStatus, SessionFacts, SinkLevel, ToolCallFlow,
    ToolPolicy,
};
pub use gate::{Gate, rule};
pub use host::{HostRules, HostRulesError, UrlLabel, default_provider_clearance};
pub use id::{
    ApprovalId, CallId, EventId, IdError, MemoryId, RuleId, SessionId, SessionName, SourceId, ThreadId,
    ToolName, TurnId, UserId,
};
pub use label::{Classification, Integrity, Label, ParseLabelError};
pub use path::{PathLabel, PathRule, PathRules, PathRulesBuilder, PathRulesError};
pub use role::{ParseRoleError, Role};
pub use taint::{Escalation, Origin, Taint};
