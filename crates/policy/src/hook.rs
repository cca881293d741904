//! Where custom rules are asked, and what they may look at there.

use crate::{Classification, Role};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in the program at which custom rules are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Hook {
    /// Anything that enters a context otherwise than as a tool's result: owner text, notes, memories.
    PreContextInjection,
    /// A tool call, before it runs.
    PreToolCall,
    /// A tool's result, before it enters the context.
    PostToolResponse,
    /// Anything that leaves: answers, messages, sends.
    PreOutput,
    /// A secret, before its value is put into a call's arguments.
    SecretAccess,
    /// A session, before it is reset.
    SessionReset,
    /// A sub-agent, delegate, council or spawned session, before it starts.
    AgentInvocation,
    /// A call to a tool of an MCP server, before it is sent.
    McpToolCall,
}

impl Hook {
    /// All hooks.
    pub const ALL: [Self; 8] = [
        Self::PreContextInjection,
        Self::PreToolCall,
        Self::PostToolResponse,
        Self::PreOutput,
        Self::SecretAccess,
        Self::SessionReset,
        Self::AgentInvocation,
        Self::McpToolCall,
    ];

    /// The name, as rules write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreContextInjection => "PRE_CONTEXT_INJECTION",
            Self::PreToolCall => "PRE_TOOL_CALL",
            Self::PostToolResponse => "POST_TOOL_RESPONSE",
            Self::PreOutput => "PRE_OUTPUT",
            Self::SecretAccess => "SECRET_ACCESS",
            Self::SessionReset => "SESSION_RESET",
            Self::AgentInvocation => "AGENT_INVOCATION",
            Self::McpToolCall => "MCP_TOOL_CALL",
        }
    }

    /// When it is asked, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::PreContextInjection => {
                "before anything but a tool's result enters a context: owner text, notes, memories"
            }
            Self::PreToolCall => "before a tool call runs",
            Self::PostToolResponse => "before a tool's result enters the context",
            Self::PreOutput => "before anything leaves: answers, messages, sends",
            Self::SecretAccess => "before the value of a secret is put into a call's arguments",
            Self::SessionReset => "before a session is reset",
            Self::AgentInvocation => "before a sub-agent, delegate, council or spawned session starts",
            Self::McpToolCall => "before a call is sent to an MCP server",
        }
    }

    /// Whether there is a text here that a rule may redact.
    pub fn can_redact(self) -> bool {
        matches!(
            self,
            Self::PreContextInjection | Self::PostToolResponse | Self::PreOutput
        )
    }

    /// The closed list of what a rule may look at here.
    pub fn fields(self) -> impl Iterator<Item = &'static Field> {
        own_fields(self).iter().chain(&COMMON)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something a rule may look at.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Which.
    pub name: FieldName,
    /// What its values are.
    pub kind: FieldKind,
    /// What it says, for people.
    pub meaning: &'static str,
}

/// What the values of a field are, and so which operators fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// One text.
    Text,
    /// Any number of texts.
    Texts,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A classification; levels compare by rank.
    Level,
    /// A role; roles compare by rank.
    Role,
    /// One of these words.
    Word(&'static [&'static str]),
    /// What the model wrote as an argument: texts, numbers and booleans, one or several.
    Argument,
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Texts => f.write_str("texts"),
            Self::Number => f.write_str("number"),
            Self::Boolean => f.write_str("boolean"),
            Self::Level => write!(
                f,
                "level: {}",
                Classification::ALL.map(Classification::as_str).join(", ")
            ),
            Self::Role => write!(f, "role: {}", Role::ALL.map(Role::as_str).join(", ")),
            Self::Word(words) => write!(f, "one of {}", words.join(", ")),
            Self::Argument => f.write_str("any value"),
        }
    }
}

macro_rules! field_names {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// The name of something a rule may look at. Which there are differs by [`Hook`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FieldName {
            $($(#[$doc])* $name),+
        }

        impl FieldName {
            /// The name, as rules write it. That of [`FieldName::Argument`] has a path in place of `NAME`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text),+
                }
            }
        }
    };
}

field_names! {
    /// The session's level.
    Taint = "taint",
    /// The session's integrity.
    Integrity = "integrity",
    /// The highest level the session may read.
    Clearance = "clearance",
    /// In whose name it happens.
    User = "user",
    /// The role of that user.
    Role = "role",
    /// The session's name.
    SessionName = "session_name",
    /// The channel that opened the session.
    Channel = "channel",
    /// Whether somebody is there to be asked.
    Attended = "attended",
    /// The tool.
    Tool = "tool",
    /// One argument of the call.
    Argument = "arguments.NAME",
    /// All arguments as one text.
    ArgumentsText = "arguments_text",
    /// The class of its effect.
    Action = "action",
    /// Whether the call changes something outside.
    Consequential = "consequential",
    /// How many calls the model message holds.
    Parallel = "parallel",
    /// What the call writes or sends to.
    Sinks = "sinks",
    /// The least of what those may receive.
    SinkLevel = "sink_level",
    /// What the call reads and sends along.
    Sources = "sources",
    /// The highest level it may bring in.
    SourceLevel = "source_level",
    /// The level of what the call would carry to its sinks.
    Carries = "carries",
    /// Files and folders.
    Paths = "paths",
    /// Hosts of addresses on the network.
    UrlHost = "url.host",
    /// Those who receive.
    Recipients = "recipients",
    /// The text itself.
    Text = "text",
    /// How long it is.
    TextLength = "text_length",
    /// Its level.
    Level = "level",
    /// Its integrity.
    TextIntegrity = "text_integrity",
    /// How a tool ended, or an MCP server's status.
    Status = "status",
    /// What enters the context.
    What = "what",
    /// Who reads.
    Reader = "reader",
    /// What they may read.
    ReaderLevel = "reader_level",
    /// A secret's name.
    Secret = "secret",
    /// Where in the arguments a secret stands.
    SecretArgument = "argument",
    /// Whether a draft goes along into the new session.
    CarriesDraft = "carries_draft",
    /// What kind of agent starts.
    Kind = "kind",
    /// The level asked for.
    RequestedLevel = "requested_level",
    /// How many agents deep it is.
    Depth = "depth",
    /// An MCP server.
    Server = "server",
    /// What an MCP server may be sent.
    ServerLevel = "server_level",
}

const INTEGRITIES: FieldKind = FieldKind::Word(&["TRUSTED", "UNTRUSTED"]);

/// The kinds of agents, as the field `kind` has them.
pub(crate) const AGENT_KINDS: [&str; 4] = ["subagent", "delegate", "council", "spawn"];
/// The classes of effects, as [`ActionClass`](crate::ActionClass) has them.
const ACTIONS: [&str; 5] = ["none", "egress", "destructive", "financial", "local_write"];
/// The ways a tool ends, as the field `status` has them.
pub(crate) const RESPONSE_STATUSES: [&str; 2] = ["ok", "error"];
/// The statuses of MCP servers, as the field `status` has them.
pub(crate) const MCP_STATUSES: [&str; 3] = ["untrusted", "classified", "blocked"];

const fn field(name: FieldName, kind: FieldKind, meaning: &'static str) -> Field {
    Field { name, kind, meaning }
}

const COMMON: [Field; 8] = [
    field(
        FieldName::Taint,
        FieldKind::Level,
        "the session's level before this",
    ),
    field(
        FieldName::Integrity,
        INTEGRITIES,
        "the session's integrity before this",
    ),
    field(
        FieldName::Clearance,
        FieldKind::Level,
        "the highest level the session may read",
    ),
    field(
        FieldName::User,
        FieldKind::Text,
        "the user in whose name it happens",
    ),
    field(FieldName::Role, FieldKind::Role, "the role of that user"),
    field(
        FieldName::SessionName,
        FieldKind::Text,
        "the session's name, if it has one",
    ),
    field(
        FieldName::Channel,
        FieldKind::Text,
        "the channel that opened the session, if one did",
    ),
    field(
        FieldName::Attended,
        FieldKind::Boolean,
        "whether somebody is there to be asked",
    ),
];

const ARGUMENT: Field = field(
    FieldName::Argument,
    FieldKind::Argument,
    "one argument; dots lead into objects and through every entry of a list, as in arguments.to.address; an \
     object stands for every value in it",
);
const ARGUMENTS_TEXT: Field = field(
    FieldName::ArgumentsText,
    FieldKind::Text,
    "every key and value of the arguments, unescaped, each on its own line",
);

const CONTEXT: [Field; 5] = [
    field(
        FieldName::What,
        FieldKind::Text,
        "what it is, such as \"the task\"",
    ),
    field(FieldName::Text, FieldKind::Text, "the text that enters"),
    field(
        FieldName::TextLength,
        FieldKind::Number,
        "its length in characters",
    ),
    field(FieldName::Level, FieldKind::Level, "the level of the text"),
    field(FieldName::TextIntegrity, INTEGRITIES, "the integrity of the text"),
];

const CALL: [Field; 14] = [
    field(FieldName::Tool, FieldKind::Text, "the tool's name"),
    ARGUMENT,
    ARGUMENTS_TEXT,
    field(
        FieldName::Action,
        FieldKind::Word(&ACTIONS),
        "the class of its effect",
    ),
    field(
        FieldName::Consequential,
        FieldKind::Boolean,
        "whether it changes something outside",
    ),
    field(
        FieldName::Parallel,
        FieldKind::Number,
        "how many calls the model's message holds",
    ),
    field(
        FieldName::Sinks,
        FieldKind::Texts,
        "what it writes or sends to, by name",
    ),
    field(
        FieldName::SinkLevel,
        FieldKind::Level,
        "the least of what its sinks may receive",
    ),
    field(
        FieldName::Sources,
        FieldKind::Texts,
        "what it reads or sends along, by name",
    ),
    field(
        FieldName::SourceLevel,
        FieldKind::Level,
        "the highest level it may bring into the context",
    ),
    field(
        FieldName::Carries,
        FieldKind::Level,
        "the level of what it would carry to its sinks",
    ),
    field(
        FieldName::Paths,
        FieldKind::Texts,
        "files and folders it touches, relative to the workspace",
    ),
    field(
        FieldName::UrlHost,
        FieldKind::Texts,
        "hosts it talks to, in lower case",
    ),
    field(
        FieldName::Recipients,
        FieldKind::Texts,
        "those who receive what it sends",
    ),
];

const RESPONSE: [Field; 7] = [
    field(FieldName::Tool, FieldKind::Text, "the tool's name"),
    field(
        FieldName::Consequential,
        FieldKind::Boolean,
        "whether it changes something outside",
    ),
    field(
        FieldName::Status,
        FieldKind::Word(&RESPONSE_STATUSES),
        "how the tool ended",
    ),
    field(FieldName::Text, FieldKind::Text, "the text of the result"),
    field(
        FieldName::TextLength,
        FieldKind::Number,
        "its length in characters",
    ),
    field(FieldName::Level, FieldKind::Level, "the level of the result"),
    field(
        FieldName::TextIntegrity,
        INTEGRITIES,
        "the integrity of the result",
    ),
];

const OUTPUT: [Field; 5] = [
    field(FieldName::Text, FieldKind::Text, "the text that leaves"),
    field(
        FieldName::TextLength,
        FieldKind::Number,
        "its length in characters",
    ),
    field(
        FieldName::Reader,
        FieldKind::Text,
        "who reads it: a user, or a channel it is sent to",
    ),
    field(
        FieldName::ReaderLevel,
        FieldKind::Level,
        "the highest level they may read",
    ),
    field(
        FieldName::Recipients,
        FieldKind::Texts,
        "those it is sent to, where it is a message",
    ),
];

const SECRET: [Field; 4] = [
    field(FieldName::Secret, FieldKind::Text, "the secret's name"),
    field(FieldName::Tool, FieldKind::Text, "the tool that would get it"),
    field(
        FieldName::SecretArgument,
        FieldKind::Text,
        "the argument it stands in, with dots",
    ),
    field(
        FieldName::UrlHost,
        FieldKind::Texts,
        "hosts the call talks to, in lower case",
    ),
];

const RESET: [Field; 1] = [field(
    FieldName::CarriesDraft,
    FieldKind::Boolean,
    "whether a draft goes along into the new session",
)];

const AGENT: [Field; 5] = [
    field(FieldName::Kind, FieldKind::Word(&AGENT_KINDS), "what starts"),
    field(FieldName::Text, FieldKind::Text, "the task"),
    field(
        FieldName::TextLength,
        FieldKind::Number,
        "the length of the task in characters",
    ),
    field(
        FieldName::RequestedLevel,
        FieldKind::Level,
        "the level it starts at",
    ),
    field(
        FieldName::Depth,
        FieldKind::Number,
        "how many agents deep it is; 1 for one the main agent starts",
    ),
];

const MCP: [Field; 6] = [
    field(
        FieldName::Server,
        FieldKind::Text,
        "the server's name in the configuration",
    ),
    field(
        FieldName::Tool,
        FieldKind::Text,
        "the tool's name as the server has it",
    ),
    field(
        FieldName::Status,
        FieldKind::Word(&MCP_STATUSES),
        "the server's status",
    ),
    field(
        FieldName::ServerLevel,
        FieldKind::Level,
        "the highest level the server may be sent",
    ),
    ARGUMENT,
    ARGUMENTS_TEXT,
];

fn own_fields(hook: Hook) -> &'static [Field] {
    match hook {
        Hook::PreContextInjection => &CONTEXT,
        Hook::PreToolCall => &CALL,
        Hook::PostToolResponse => &RESPONSE,
        Hook::PreOutput => &OUTPUT,
        Hook::SecretAccess => &SECRET,
        Hook::SessionReset => &RESET,
        Hook::AgentInvocation => &AGENT,
        Hook::McpToolCall => &MCP,
    }
}
