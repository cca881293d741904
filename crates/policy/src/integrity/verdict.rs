//! What check 7 is asked and what it answers.

use crate::ProvenanceLedger;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How integrity is judged (`[policy] integrity`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegrityMode {
    /// By the values of a call and the owner's licence for it.
    #[default]
    Values,
    /// Every consequential call in an UNTRUSTED context needs approval.
    Session,
    /// Not at all.
    Off,
}

/// What becomes of a call that is not licensed (`[policy] integrity_action`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntegrityAction {
    /// The owner is asked.
    #[default]
    Approve,
    /// It is refused.
    Block,
}

/// What the gate needs for check 7 of one call.
#[derive(Clone, Copy, Debug)]
pub struct IntegrityFacts<'a> {
    /// How integrity is judged.
    pub mode: IntegrityMode,
    /// What becomes of an unlicensed call.
    pub action: IntegrityAction,
    /// What the session knows of its values, up to the model message with the call.
    pub ledger: &'a ProvenanceLedger,
    /// The call's arguments.
    pub arguments: &'a Value,
}

/// Where a control value came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ValueOrigin {
    /// The owner wrote it.
    Owner {
        /// The owner's words with it.
        clause: String,
    },
    /// It follows from what the owner wrote: an end from a duration, a mode from its word.
    Derived {
        /// From what.
        from: String,
    },
    /// It stands in the configuration.
    Configuration,
    /// A trusted field of a result holds it.
    TrustedField {
        /// The call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// The only row that bears the name the owner used.
    Row {
        /// The call that listed it.
        call: String,
        /// The tool.
        tool: String,
        /// The name the owner used.
        name: String,
    },
    /// An object that a licensed call of this session made.
    NewObject {
        /// The call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// It stands in an untrusted result.
    Result {
        /// The call.
        call: String,
        /// The tool.
        tool: String,
    },
    /// Nothing this session read holds it.
    Unknown,
}

/// One value that decides what a call does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlValue {
    /// The argument it stands in, as a path: `recipients[0]`.
    pub argument: String,
    /// The value, whole and as it is; whoever shows it escapes it.
    pub value: String,
    /// Whether it is trusted.
    pub trusted: bool,
    /// Where it came from.
    pub origin: ValueOrigin,
    /// Why it is trusted or not: a sentence without a final stop, escaped.
    pub why: String,
}

/// The licence a call uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LicenceUse {
    /// Its number in the session, counted from 0.
    pub licence: usize,
    /// The owner's clause.
    pub clause: String,
    /// Which owner text of the session it stands in, counted from 0.
    pub message: usize,
    /// Where in that text's normalised form (NFKC), in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The answer of check 7 to one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrityVerdict {
    /// Whether the call may run without approval.
    pub satisfied: bool,
    /// The licence it uses; none where none fits or none is needed.
    pub licence: Option<LicenceUse>,
    /// Why no licence fits, for each that was looked at; a single line where the owner asked for nothing.
    pub missing: Vec<String>,
    /// Every control value.
    pub values: Vec<ControlValue>,
    /// One line for the trace, escaped.
    pub why: String,
}
