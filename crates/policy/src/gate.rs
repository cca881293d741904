//! Placeholder for the gate.
use crate::{Evaluation, Flow, SessionFacts};

/// Names of the built-in rules.
pub mod rule {
    /// Check 1, set: the tool is offered in this context.
    pub const ALLOWED_SET: &str = "allowed-set";
    /// Check 1, role: the user's role reaches the tool's.
    pub const ROLE: &str = "role";
    /// Check 2: the arguments fit the tool's JSON schema.
    pub const ARGUMENTS: &str = "arguments";
    /// Check 3: the program's own files are never a sink.
    pub const NEVER_WRITE_OWN_FILES: &str = "never-write-own-files";
    /// Check 4: the session's taint reaches the tool's floor.
    pub const TOOL_FLOOR: &str = "tool-floor";
    /// Checks 5 and 12: nothing above the clearance is read.
    pub const READ_CEILING: &str = "read-ceiling";
    /// Check 6: data moves up in classification, never down.
    pub const NO_WRITE_DOWN: &str = "no-write-down";
    /// The context's level must be within the model provider's clearance.
    pub const PROVIDER_CLEARANCE: &str = "provider-clearance";
}

/// The one gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {}

impl Gate {
    /// Judges one flow.
    pub fn judge(&self, flow: Flow<'_>, session: SessionFacts<'_>) -> Evaluation {
        let _ = flow;
        Evaluation {
            flow: crate::FlowKind::Context,
            decision: crate::Decision::Allow,
            rule: None,
            rules: Vec::new(),
            taint_before: session.taint.label(),
            taint_after: session.taint.label(),
            label: session.taint.label(),
            explanation: None,
        }
    }
}
