//! What the gate is asked: a movement of data, and the facts about it that the caller gathered.

use crate::{
    AgentFlow, CallFacts, Caller, Classification, Hook, IntegrityFacts, Label, McpFlow, ResetFlow, Role,
    SecretFlow, Taint, ToolIntegrity, ToolName,
};
use serde::{Deserialize, Serialize};

/// What the gate knows about the session in whose context a flow happens.
#[derive(Clone, Copy, Debug)]
pub struct SessionFacts<'a> {
    /// What the session has been in touch with.
    pub taint: &'a Taint,
    /// The highest level it may read.
    pub clearance: Classification,
    /// Where the owner is asked before the taint rises; none where nobody is there, or it is switched off
    /// (`[policy] bumpers`).
    pub bumper: Option<Bumper>,
    /// Who is behind the session, for custom rules.
    pub caller: Caller<'a>,
}

/// From which level on the owner is asked before a call raises the taint (check 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bumper {
    /// Levels up to this one need no question: `[policy] workspace`.
    pub above: Classification,
    /// Levels up to this one were granted in this session before. It only rises.
    pub acknowledged: Classification,
}

impl Bumper {
    /// Whether the owner is asked before a context of level `from` becomes `to`.
    pub fn asks(self, from: Classification, to: Classification) -> bool {
        to > from && to > self.above && to > self.acknowledged
    }
}

/// One movement of data.
#[derive(Clone, Copy, Debug)]
pub enum Flow<'a> {
    /// A tool call the model asked for, before it runs (checks 1 to 6 and 8, and again as check 11).
    ToolCall(&'a ToolCallFlow<'a>),
    /// A tool's result on its way into the context (check 12).
    Response(&'a ResponseFlow<'a>),
    /// The whole context on its way to a model provider.
    Model(&'a ModelFlow<'a>),
    /// Text that enters the context otherwise: owner text, notes.
    Context(&'a ContextFlow<'a>),
    /// The answer on its way to the reader, or a message on its way to its recipients.
    Answer(&'a AnswerFlow<'a>),
    /// A secret on its way into a call's arguments.
    SecretAccess(&'a SecretFlow<'a>),
    /// A session that is about to be reset.
    SessionReset(&'a ResetFlow),
    /// An agent that is about to start.
    AgentInvocation(&'a AgentFlow<'a>),
    /// A call on its way to an MCP server.
    McpToolCall(&'a McpFlow<'a>),
}

impl Flow<'_> {
    /// Its kind.
    pub fn kind(&self) -> FlowKind {
        match self {
            Self::ToolCall(_) => FlowKind::ToolCall,
            Self::Response(_) => FlowKind::Response,
            Self::Model(_) => FlowKind::Model,
            Self::Context(_) => FlowKind::Context,
            Self::Answer(_) => FlowKind::Answer,
            Self::SecretAccess(_) => FlowKind::SecretAccess,
            Self::SessionReset(_) => FlowKind::SessionReset,
            Self::AgentInvocation(_) => FlowKind::AgentInvocation,
            Self::McpToolCall(_) => FlowKind::McpToolCall,
        }
    }
}

/// The kind of a [`Flow`], as events name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowKind {
    /// [`Flow::ToolCall`].
    ToolCall,
    /// [`Flow::Response`].
    Response,
    /// [`Flow::Model`].
    Model,
    /// [`Flow::Context`].
    Context,
    /// [`Flow::Answer`].
    Answer,
    /// [`Flow::SecretAccess`].
    SecretAccess,
    /// [`Flow::SessionReset`].
    SessionReset,
    /// [`Flow::AgentInvocation`].
    AgentInvocation,
    /// [`Flow::McpToolCall`].
    McpToolCall,
}

impl FlowKind {
    /// Where custom rules are asked about it; nowhere about the context on its way to a model.
    pub fn hook(self) -> Option<Hook> {
        match self {
            Self::ToolCall => Some(Hook::PreToolCall),
            Self::Response => Some(Hook::PostToolResponse),
            Self::Model => None,
            Self::Context => Some(Hook::PreContextInjection),
            Self::Answer => Some(Hook::PreOutput),
            Self::SecretAccess => Some(Hook::SecretAccess),
            Self::SessionReset => Some(Hook::SessionReset),
            Self::AgentInvocation => Some(Hook::AgentInvocation),
            Self::McpToolCall => Some(Hook::McpToolCall),
        }
    }
}

/// What the gate has to know about a tool, independent of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPolicy {
    /// Its name.
    pub name: ToolName,
    /// The least role that may see and run it.
    pub role: Role,
    /// Whether a call changes something outside the conversation.
    pub consequential: bool,
    /// The label of what it returns, whatever it read. Configurable by `[policy.tools.NAME] source`.
    pub source: Label,
    /// The least session taint to use it. Configurable by `[policy.tools.NAME] floor`; PUBLIC asks nothing.
    pub floor: Classification,
    /// Arguments that decide what the call does: ids, addresses, paths, URLs, amounts.
    pub control_arguments: Vec<String>,
    /// Whether the owner is asked before each call. Configurable by `[policy.tools.NAME] approval`. Default
    /// false.
    #[serde(default)]
    pub approval: bool,
    /// What integrity by value (check 7) has to know. Default: it only reads, and its result is not trusted.
    #[serde(default)]
    pub integrity: ToolIntegrity,
}

/// Whether the caller offers the tool at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Admission {
    /// The tool is in the set that was offered.
    Offered,
    /// It is not; these are.
    NotOffered {
        /// The names that are offered, in order.
        available: Vec<ToolName>,
    },
}

/// What came of checking the arguments against the tool's JSON schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArgumentCheck {
    /// They fit.
    Valid,
    /// They do not: a text the model can act on.
    Invalid {
        /// What is wrong, where, and what is valid.
        problem: String,
    },
}

/// The kinds of things a tool reads from or writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// A file or folder.
    Path,
    /// An address on the network.
    Url,
    /// A command of the operating system.
    Command,
    /// A channel together with its recipients.
    Recipient,
    /// Another session.
    Session,
}

/// Names one resource in explanations and lineage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceRef {
    /// What kind of thing.
    pub kind: ResourceKind,
    /// Its name as the user knows it: a path relative to the workspace, a host.
    pub name: String,
}

/// The level of something data is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "level", rename_all = "snake_case")]
pub enum SinkLevel {
    /// Data up to this level may go there.
    Level(Classification),
    /// One of the program's own files: never a sink of any tool.
    OwnFile,
}

/// One thing a call touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "use", rename_all = "snake_case")]
pub enum Resource {
    /// The call reads it: its content comes back as a result.
    Source {
        /// Which thing.
        what: ResourceRef,
        /// The label of what is read.
        label: Label,
    },
    /// The call writes or sends there.
    Sink {
        /// Which thing.
        what: ResourceRef,
        /// What may go there.
        level: SinkLevel,
    },
    /// The call sends this object along (an attachment, say): it joins what is sent.
    Payload {
        /// Which thing.
        what: ResourceRef,
        /// Its label.
        label: Label,
    },
}

impl Resource {
    /// Which thing.
    pub fn what(&self) -> &ResourceRef {
        match self {
            Self::Source { what, .. } | Self::Sink { what, .. } | Self::Payload { what, .. } => what,
        }
    }
}

/// A tool call before it runs.
#[derive(Clone, Debug)]
pub struct ToolCallFlow<'a> {
    /// The tool; for a name nobody knows, a policy made up for it by the caller.
    pub tool: &'a ToolPolicy,
    /// Whether it is offered in this context.
    pub admission: &'a Admission,
    /// The role of the user in whose name it would run.
    pub role: Role,
    /// Whether its arguments fit the schema.
    pub arguments: &'a ArgumentCheck,
    /// The label of the context that produced the arguments: the taint at the model message with the call.
    pub produced_by: Label,
    /// What the call touches. Empty until the arguments are valid.
    pub resources: &'a [Resource],
    /// Whether the owner granted exactly this call: this id with these arguments, resolved to these resources.
    /// The caller vouches for that. It satisfies the rules that ask and no other.
    pub granted: bool,
    /// Whether the owner released exactly what this call would send to exactly where it would send it. The caller
    /// vouches for that. It satisfies no-write-down and no other rule, and only where what moves is TRUSTED: nothing that
    /// is read can bring a release about.
    pub released: bool,
    /// What integrity by value is judged from (check 7); none where it does not apply.
    pub integrity: Option<IntegrityFacts<'a>>,
    /// What custom rules may look at beyond that.
    pub facts: CallFacts<'a>,
}

impl ToolCallFlow<'_> {
    /// The highest level the call may bring into the context, as far as that is known before it runs: of what it
    /// reads and sends along, and of what the tool returns.
    pub fn brings(&self) -> Classification {
        self.resources
            .iter()
            .filter_map(|resource| match resource {
                Resource::Source { label, .. } | Resource::Payload { label, .. } => {
                    Some(label.classification)
                }
                Resource::Sink { .. } => None,
            })
            .fold(self.tool.source.classification, Classification::max)
    }
}

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// With a result, perhaps an empty one.
    Ok,
    /// With an error; it carries its label like a result.
    Error,
}

/// A tool's result on its way into the context.
#[derive(Clone, Debug)]
pub struct ResponseFlow<'a> {
    /// The tool.
    pub tool: &'a ToolPolicy,
    /// How it ended.
    pub status: ResponseStatus,
    /// The label of the resources it read: the join over everything looked at, matched or not.
    pub read: Label,
    /// `_classification` of a JSON result, as written there. It may only raise; unreadable counts as RESTRICTED.
    pub declared: Option<&'a str>,
    /// The texts of the result, in order: what of it the model would read. None: not known, which custom rules read
    /// against it.
    pub texts: Option<&'a [&'a str]>,
}

/// The whole context on its way to a model provider.
#[derive(Clone, Debug)]
pub struct ModelFlow<'a> {
    /// `provider:model`.
    pub model: &'a str,
    /// The highest level that may be sent to it.
    pub clearance: Classification,
}

/// Text that enters a context otherwise than as a tool's result.
#[derive(Clone, Debug)]
pub struct ContextFlow<'a> {
    /// What it is, for the explanation: `the task`.
    pub what: &'a str,
    /// Its label.
    pub label: Label,
    /// The text, in parts. None: not known, which custom rules read against it.
    pub texts: Option<&'a [&'a str]>,
}

/// The answer on its way to its reader, or a message to a channel.
#[derive(Clone, Debug)]
pub struct AnswerFlow<'a> {
    /// Who reads it.
    pub reader: &'a str,
    /// What they may read.
    pub clearance: Classification,
    /// The text, in parts, without thinking. None: not known, which custom rules read against it.
    pub texts: Option<&'a [&'a str]>,
    /// Those it is sent to, where it is a message; their levels are in `clearance`.
    pub recipients: &'a [&'a str],
    /// Whether the owner granted exactly this text to this reader.
    pub granted: bool,
}
