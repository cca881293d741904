//! What happens, as facts: one envelope, a closed list of kinds.

use crate::{FinishReason, ModelId, ResultStatus, Tier, Usage};
use serde::{Deserialize, Serialize};
use tidegate_policy::{
    CallId, Classification, Evaluation, Label, Origin, SessionId, SessionName, SourceId, ToolName, TurnId,
};

/// One fact about a session, stored in order and broadcast. Monitor, command line, audit, tests and
/// crash recovery read the same events. It never holds message content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The session.
    pub session: SessionId,
    /// Its place in the session's sequence, from 1 without gaps.
    pub sequence: u64,
    /// When it was recorded: milliseconds since 1970-01-01 UTC.
    pub at_ms: i64,
    /// The turn it belongs to, if any.
    pub turn: Option<TurnId>,
    /// The label of what it tells.
    pub label: Label,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened. `kind` in JSON is the dotted name, and the fields stand beside it.
///
/// The list is closed: reading an event of a kind that only a newer version knows is an error that names
/// the kind and those known here. Who lists events one by one can show its JSON instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum EventKind {
    /// A session came into being.
    #[serde(rename = "session.created")]
    SessionCreated {
        /// The name a person gave it.
        name: Option<SessionName>,
        /// The highest level it may read.
        clearance: Classification,
    },
    /// A turn began with a user message.
    #[serde(rename = "turn.started")]
    TurnStarted,
    /// An interrupted turn goes on.
    #[serde(rename = "turn.resumed")]
    TurnResumed {
        /// Calls whose outcome is unknown and that got a synthetic result.
        unknown_calls: Vec<CallId>,
    },
    /// A request went to a model.
    #[serde(rename = "model.called")]
    ModelCalled {
        /// Which one.
        model: ModelId,
        /// Its tier; none for a fixed model.
        tier: Option<Tier>,
        /// The round of the turn, from 1.
        round: u32,
        /// Entries sent.
        entries: u64,
    },
    /// A model answered completely.
    #[serde(rename = "model.replied")]
    ModelReplied {
        /// Which one.
        model: ModelId,
        /// What it cost.
        usage: Usage,
        /// Why it stopped.
        finish: FinishReason,
        /// How many calls it asked for.
        calls: u32,
        /// From sending the request to the last byte.
        duration_ms: u64,
    },
    /// A model call failed.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// Which one.
        model: ModelId,
        /// The class of the error.
        class: String,
        /// What it said.
        message: String,
    },
    /// A candidate was passed over: the context may not flow to it.
    #[serde(rename = "model.skipped")]
    ModelSkipped {
        /// Which one.
        model: ModelId,
        /// Why.
        evaluation: Evaluation,
    },
    /// The gate judged a flow.
    #[serde(rename = "flow.judged")]
    FlowJudged {
        /// The call it was about, if one.
        call: Option<CallId>,
        /// The tool, if one.
        tool: Option<ToolName>,
        /// The answer.
        evaluation: Evaluation,
    },
    /// A tool began to run.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
    },
    /// A call was answered: run, refused or not run.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// How it ended.
        status: ResultStatus,
        /// How long it ran.
        duration_ms: u64,
        /// Where the uncut text is, if it was cut.
        source: Option<SourceId>,
    },
    /// The session's taint rose.
    #[serde(rename = "taint.raised")]
    TaintRaised {
        /// Before.
        from: Label,
        /// After.
        to: Label,
        /// By what.
        origin: Origin,
    },
    /// The model tier changed.
    #[serde(rename = "tier.switched")]
    TierSwitched {
        /// Before.
        from: Tier,
        /// After.
        to: Tier,
        /// Why, as the model said.
        reason: Option<String>,
    },
    /// A limit ended the work: calls asked for were not run and the model was asked for its answer.
    #[serde(rename = "turn.limited")]
    TurnLimited {
        /// Which limit.
        limit: Limit,
        /// How much it allows.
        allowed: u32,
    },
    /// A turn ended.
    #[serde(rename = "turn.finished")]
    TurnFinished {
        /// How.
        status: TurnStatus,
        /// With which reservation.
        warning: Option<Warning>,
        /// What went wrong.
        error: Option<String>,
        /// What the turn cost.
        usage: Usage,
    },
}

impl EventKind {
    /// The dotted names of all kinds, in the order in which the kinds are declared.
    pub const NAMES: [&str; 14] = [
        "session.created",
        "turn.started",
        "turn.resumed",
        "model.called",
        "model.replied",
        "model.failed",
        "model.skipped",
        "flow.judged",
        "tool.started",
        "tool.finished",
        "taint.raised",
        "tier.switched",
        "turn.limited",
        "turn.finished",
    ];

    /// The dotted name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionCreated { .. } => "session.created",
            Self::TurnStarted => "turn.started",
            Self::TurnResumed { .. } => "turn.resumed",
            Self::ModelCalled { .. } => "model.called",
            Self::ModelReplied { .. } => "model.replied",
            Self::ModelFailed { .. } => "model.failed",
            Self::ModelSkipped { .. } => "model.skipped",
            Self::FlowJudged { .. } => "flow.judged",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolFinished { .. } => "tool.finished",
            Self::TaintRaised { .. } => "taint.raised",
            Self::TierSwitched { .. } => "tier.switched",
            Self::TurnLimited { .. } => "turn.limited",
            Self::TurnFinished { .. } => "turn.finished",
        }
    }
}

/// A limit of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Rounds: model calls that may ask for tools.
    Rounds,
    /// Tool calls.
    Calls,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// With an answer.
    Success,
    /// With a question to the caller (delegates).
    PendingQuestion,
    /// Waiting for a person to allow a call.
    AwaitingApproval,
    /// The answer itself was refused, or no provider is cleared for the context.
    Blocked,
    /// Cancelled.
    Cancelled,
    /// With an error.
    Error,
}

/// A reservation about a successful turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// The budget of tool calls was used up.
    BudgetExhausted,
    /// The rounds were used up.
    RoundsExhausted,
    /// The rounds of a light sub-agent were used up; its last text is the answer.
    MaxRoundsReached,
    /// The answer ends before its end: the model ran into its output limit, or the provider withheld the rest.
    AnswerIncomplete,
}
