//! Labels, taint and the one gate through which data moves.
//!
//! A [`Flow`] says which data wants to go where; [`Gate::judge`] answers with an [`Evaluation`]: the
//! decision, the rule that decided, every rule that was looked at and why, and the taint before and
//! after. Nothing here does I/O, reads a clock or asks a model, so the same question always gets the
//! same answer: running, simulating, replaying and explaining are one function.
//!
//! After its own rules the gate looks at the custom ones of `[[policy.rules]]`: a [`RuleSet`], asked at the
//! [`Hook`] of each flow, which can refuse, ask, and take things out of texts ([`Redactor`]). [`SecretScopes`] say
//! where secrets may go; a [`Scrubber`] takes their values out of results. [`KeyedHash`] stands for what logs must
//! not hold.
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
//! - A refused flow leaves the taint as it was, unless a custom rule refused what enters for its content: that it
//!   did tells of the content.
//! - A custom rule lets through nothing that a built-in rule refuses, and answers no question of one.
//! - Redaction changes texts, never labels.
//! - Judging is total: every [`Flow`] has an [`Evaluation`], and no input makes it panic.
//! - A grant answers a question and nothing else: it never turns a refusal into a permission.

mod address;
mod confusable;
mod escape;
mod evaluation;
mod flow;
mod gate;
mod hook;
mod hook_flow;
mod host;
mod id;
mod integrity;
mod label;
mod licence;
mod log;
mod path;
mod provenance;
mod redact;
pub mod replay;
mod role;
mod rules;
mod secret;
mod taint;

pub use address::AddressKind;
pub use confusable::{Confusable, confusables};
pub use escape::escaped;
pub use evaluation::{Decision, Evaluation, RuleOutcome, RuleTrace, Why};
pub use flow::{
    Admission, AnswerFlow, ArgumentCheck, Bumper, ContextFlow, Flow, FlowKind, ModelFlow, Resource,
    ResourceKind, ResourceRef, ResponseFlow, ResponseStatus, SessionFacts, SinkLevel, ToolCallFlow,
    ToolPolicy,
};
pub use gate::{Gate, rule};
pub use hook::{Field, FieldKind, FieldName, Hook};
pub use hook_flow::{AgentFlow, AgentKind, CallFacts, Caller, McpFlow, McpStatus, ResetFlow, SecretFlow};
pub use host::{HostRules, HostRulesError, UrlLabel, default_provider_clearance};
pub use id::{
    ApprovalId, CallId, EventId, IdError, MemoryId, RuleId, SessionId, SessionName, SourceId, ThreadId,
    ToolName, TurnId, UserId,
};
pub use integrity::{
    ActionClass, ControlValue, IntegrityAction, IntegrityFacts, IntegrityMode, IntegrityVerdict, LicenceUse,
    RowFields, ToolIntegrity, TrustedFields, ValueOrigin,
};
pub use label::{Classification, Integrity, Label, ParseLabelError};
pub use licence::{ActionFamily, ActionWords, ActionWordsError, NumberRole, ObjectClass};
pub use log::{KeyedHash, logged_url};
pub use path::{PathLabel, PathRule, PathRules, PathRulesBuilder, PathRulesError};
pub use provenance::{ProvenanceLedger, ToolOutcome};
pub use redact::{JsonStep, JsonText, Redacted, Redactor, UnknownRedaction};
pub use role::{ParseRoleError, Role};
pub use rules::{
    Action, CustomOutcome, CustomVerdict, Fact, Facts, Operator, Rule, RuleError, RuleErrors, RuleProblem,
    RuleSet, RuleWarning,
};
pub use secret::{
    Placeholder, ScopeProblem, ScopeRefusal, Scrubbed, Scrubber, SecretError, SecretName, SecretScope,
    SecretScopeError, SecretScopes, SecretValues, SubstitutedArguments, placeholders,
};
pub use taint::{Escalation, Origin, Taint};
