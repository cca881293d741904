//! What happens, as facts: one envelope, a closed list of kinds.

use crate::{FinishReason, ModelId, ResultStatus, Tier, Usage};
use serde::{Deserialize, Serialize};
use tidegate_policy::{
    ApprovalId, CallId, Classification, Evaluation, Label, MemoryId, Origin, RuleId, SessionId, SessionName,
    SourceId, ToolName, TurnId,
};

/// One fact about a session, stored in order and broadcast. Monitor, command line, audit, tests and
/// crash recovery read the same events. It holds no message content, but for the owner's own words where check 7 says
/// which of them license a call, or do not.
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
        /// How many of the session's tools were sent, from the first on; none in the records of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<u64>,
        /// The tiers it could switch to, by one more tool.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        targets: Vec<Tier>,
        /// Whether it had to answer without calling a tool.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        must_answer: bool,
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
    /// Text that was shown of a reply does not count: the call failed in the middle of it.
    #[serde(rename = "model.retracted")]
    ModelRetracted {
        /// Whose reply it was.
        model: ModelId,
        /// Characters that were shown.
        characters: u64,
    },
    /// After a failure, the same request goes to the same model again.
    #[serde(rename = "model.retried")]
    ModelRetried {
        /// Which one.
        model: ModelId,
        /// The class of the error before.
        class: String,
        /// Which try it will be, from 2.
        attempt: u32,
        /// How long it waits until then, in milliseconds.
        wait_ms: u64,
    },
    /// A request waits, because the provider has asked this process to leave it alone for a while.
    #[serde(rename = "model.delayed")]
    ModelDelayed {
        /// Which model it is for.
        model: ModelId,
        /// How long it waits, in milliseconds.
        wait_ms: u64,
    },
    /// A candidate was not asked, or not asked again, for now.
    #[serde(rename = "model.unavailable")]
    ModelUnavailable {
        /// Which one.
        model: ModelId,
        /// Why.
        class: Unavailable,
        /// For how long from now, in milliseconds.
        wait_ms: u64,
    },
    /// A candidate was given up, and the next of its tier is called.
    #[serde(rename = "model.fallback")]
    ModelFallback {
        /// The one given up.
        from: ModelId,
        /// The next.
        to: ModelId,
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
    /// The owner is asked whether a call may run. What it would do is kept with the approval, not here.
    #[serde(rename = "approval.asked")]
    ApprovalAsked {
        /// The request.
        approval: ApprovalId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// The rule that asks.
        rule: RuleId,
    },
    /// A request for approval was answered, or its time was up.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// The request.
        approval: ApprovalId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// The rule that asked.
        rule: RuleId,
        /// The answer.
        decision: ApprovalDecision,
    },
    /// A grant was used up: its call is about to run, and no other will.
    #[serde(rename = "approval.used")]
    ApprovalUsed {
        /// The request.
        approval: ApprovalId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// The rule that asked.
        rule: RuleId,
    },
    /// The model asked the owner something and nobody was there: the turn waits for the answer. The question itself is
    /// kept as requests for approval are, not here.
    #[serde(rename = "question.asked")]
    QuestionAsked {
        /// The question, by the id it is kept under.
        approval: ApprovalId,
        /// The call that asks.
        call: CallId,
        /// The tool.
        tool: ToolName,
    },
    /// A question that was kept was answered, or will not be.
    #[serde(rename = "question.settled")]
    QuestionSettled {
        /// The question, by the id it is kept under.
        approval: ApprovalId,
        /// The call that asked.
        call: CallId,
        /// What became of it.
        end: QuestionEnd,
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
    /// A conversation that has become long is being made shorter.
    #[serde(rename = "compaction.started")]
    CompactionStarted {
        /// Why.
        cause: CompactionTrigger,
        /// Tokens of the request, about.
        tokens: u64,
        /// Tokens that fit in the model's window.
        window: u64,
    },
    /// The conversation goes on as a new segment; what was said stays stored.
    #[serde(rename = "compaction.finished")]
    CompactionFinished {
        /// Why.
        cause: CompactionTrigger,
        /// Who summed up; none if shorter results were enough.
        summary: Option<SummaryBy>,
        /// Why no model did.
        reason: Option<String>,
        /// The model that summed up.
        model: Option<ModelId>,
        /// What that cost.
        usage: Usage,
        /// Messages before.
        messages_before: u64,
        /// Messages after.
        messages_after: u64,
        /// Tokens of the request before, about.
        tokens_before: u64,
        /// Tokens of the request after, about.
        tokens_after: u64,
        /// Passes it took.
        passes: u32,
        /// Tool results that were shortened.
        stubs: u64,
    },
    /// The conversation could not be made shorter.
    #[serde(rename = "compaction.failed")]
    CompactionFailed {
        /// Why it was tried.
        cause: CompactionTrigger,
        /// What was in the way.
        error: String,
        /// For how long it is not tried again by itself, in milliseconds.
        wait_ms: u64,
        /// The model that summed up in vain, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelId>,
        /// What that cost.
        #[serde(default)]
        usage: Usage,
    },
    /// A request did not begin with the one before it, so that a provider's cache was of no use from there on.
    #[serde(rename = "prompt.prefix_break")]
    PrefixBreak {
        /// Why.
        cause: BreakCause,
        /// Where.
        part: BrokenPart,
        /// Which message or tool, from 0.
        index: u64,
        /// Tokens it costs, about: those of the request before that are computed anew.
        tokens: u64,
    },
    /// Long-term memories were recalled for a message. The event has the label of all that was looked at.
    #[serde(rename = "memory.recalled")]
    MemoryRecalled {
        /// Those that ride on the message, best first.
        memories: Vec<RecalledItem>,
        /// How many more were found and left out: there was no room, or a rule kept them away.
        left_out: u64,
        /// Why only words were searched for, and not their meaning; none if both were.
        words_alone: Option<MemoryTrouble>,
    },
    /// Long-term memory could not be searched, or not as usual; the turn goes on.
    #[serde(rename = "memory.unavailable")]
    MemoryUnavailable {
        /// Why.
        class: MemoryTrouble,
        /// What it said.
        message: String,
    },
    /// The owner let a memory be read at another label as well. What it says is not here.
    #[serde(rename = "memory.released")]
    MemoryReleased {
        /// Its name.
        memory: MemoryId,
        /// Its label.
        from: Label,
        /// The label under which it can be read too from now on.
        to: Label,
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
    pub const NAMES: [&str; 31] = [
        "session.created",
        "turn.started",
        "turn.resumed",
        "model.called",
        "model.replied",
        "model.failed",
        "model.retracted",
        "model.retried",
        "model.delayed",
        "model.unavailable",
        "model.fallback",
        "model.skipped",
        "flow.judged",
        "approval.asked",
        "approval.decided",
        "approval.used",
        "question.asked",
        "question.settled",
        "tool.started",
        "tool.finished",
        "taint.raised",
        "tier.switched",
        "turn.limited",
        "compaction.started",
        "compaction.finished",
        "compaction.failed",
        "prompt.prefix_break",
        "memory.recalled",
        "memory.unavailable",
        "memory.released",
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
            Self::ModelRetracted { .. } => "model.retracted",
            Self::ModelRetried { .. } => "model.retried",
            Self::ModelDelayed { .. } => "model.delayed",
            Self::ModelUnavailable { .. } => "model.unavailable",
            Self::ModelFallback { .. } => "model.fallback",
            Self::ModelSkipped { .. } => "model.skipped",
            Self::FlowJudged { .. } => "flow.judged",
            Self::ApprovalAsked { .. } => "approval.asked",
            Self::ApprovalDecided { .. } => "approval.decided",
            Self::ApprovalUsed { .. } => "approval.used",
            Self::QuestionAsked { .. } => "question.asked",
            Self::QuestionSettled { .. } => "question.settled",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolFinished { .. } => "tool.finished",
            Self::TaintRaised { .. } => "taint.raised",
            Self::TierSwitched { .. } => "tier.switched",
            Self::TurnLimited { .. } => "turn.limited",
            Self::CompactionStarted { .. } => "compaction.started",
            Self::CompactionFinished { .. } => "compaction.finished",
            Self::CompactionFailed { .. } => "compaction.failed",
            Self::PrefixBreak { .. } => "prompt.prefix_break",
            Self::MemoryRecalled { .. } => "memory.recalled",
            Self::MemoryUnavailable { .. } => "memory.unavailable",
            Self::MemoryReleased { .. } => "memory.released",
            Self::TurnFinished { .. } => "turn.finished",
        }
    }
}

/// A memory that was recalled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecalledItem {
    /// Its id among the records: a UUID computed from its user, label and name. The name itself would tell of its
    /// content.
    pub memory: String,
    /// Its label.
    pub label: Label,
}

/// What keeps memory from being searched as usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryTrouble {
    /// The message may not flow to the embedder.
    NotCleared,
    /// The embedder failed.
    EmbedderFailed,
    /// It took too long.
    TimedOut,
    /// Records or index failed.
    Failed,
}

/// Why a conversation is made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// It has reached the threshold of the model's window.
    Threshold,
    /// A provider said that it does not fit.
    Overflow,
    /// A person asked for it.
    Manual,
}

/// Who wrote a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryBy {
    /// The auxiliary model.
    Model,
    /// Nobody: it was put together without a model.
    Plain,
}

/// Why a request does not begin with the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakCause {
    /// The conversation was compacted.
    Compaction,
    /// The system prompt was built again.
    PromptRebuild,
    /// Another model is called.
    ModelSwitch,
    /// A tool was added.
    AppendedTool,
    /// A stored message was rewritten.
    Rewrite,
    /// Nothing explains it: a mistake of the program.
    Unannounced,
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokenPart {
    /// Whom it goes to.
    Model,
    /// The tools.
    Tool,
    /// The system prompt.
    System,
    /// The messages.
    Message,
}

/// Why a model is not asked for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unavailable {
    /// Its provider has not answered several times in a row.
    CircuitOpen,
    /// Its provider asks to be left alone for longer than is waited.
    AskedToWait,
}

/// A limit of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Rounds: model calls that may ask for tools.
    Rounds,
    /// Tool calls.
    Calls,
    /// Calls the owner refused.
    Refusals,
    /// The same call with the same result.
    Repeats,
}

/// What became of a request for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// The call may run, once.
    Granted,
    /// It may not.
    Refused,
    /// Nobody answered in time, or the turn went on without it: the call may not run.
    Expired,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionEnd {
    /// The owner answered it.
    Answered,
    /// The owner does not want to answer it.
    Refused,
    /// Nobody answered in time.
    Expired,
    /// The turn went on without it.
    GivenUp,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// With an answer.
    Success,
    /// With a question to the caller (delegates), or waiting for the owner's answer to one.
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
    /// The model went on with the same call and the same result, and was made to answer.
    Repeating,
    /// The owner refused so many calls that the model was made to answer.
    ApprovalsRefused,
    /// The answer ends before its end: the model ran into its output limit, or the provider withheld the rest.
    AnswerIncomplete,
}
