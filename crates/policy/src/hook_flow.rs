//! Flows that only the later hooks know: secrets, resets, agents, MCP servers; and what all hooks know.

use crate::{Classification, Label, Role};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who is behind a session: what rules may ask of it at every hook.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller<'a> {
    /// The user in whose name it happens. None: not known, which rules read against the flow.
    pub user: Option<&'a str>,
    /// The role of that user. None: not known.
    pub role: Option<Role>,
    /// The session's name, if it has one.
    pub session_name: Option<&'a str>,
    /// The channel that opened the session, if one did.
    pub channel: Option<&'a str>,
    /// Whether somebody is there to be asked. Default false.
    pub attended: bool,
}

/// What rules may ask of a tool call beyond what the built-in rules need.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallFacts<'a> {
    /// The arguments as the model wrote them. None: not known, which rules read against the call; secrets are
    /// looked for in them.
    pub arguments: Option<&'a Value>,
    /// How many calls the model message holds, this one too. None: not known.
    pub parallel: Option<u64>,
}

/// A secret on its way into a call's arguments, after everything else about the call was judged.
#[derive(Clone, Copy, Debug)]
pub struct SecretFlow<'a> {
    /// The secret's name.
    pub secret: &'a str,
    /// The tool that gets it.
    pub tool: &'a str,
    /// The argument it stands in, as [`Placeholder::argument`](crate::Placeholder::argument) has it.
    pub argument: &'a str,
    /// The hosts the call talks to, in lower case.
    pub hosts: &'a [&'a str],
    /// Whether the owner granted exactly this call.
    pub granted: bool,
}

/// A session that is about to be reset.
#[derive(Clone, Copy, Debug)]
pub struct ResetFlow {
    /// Whether a draft goes along into the new session.
    pub carries_draft: bool,
}

/// The kinds of agents one agent can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// A light sub-agent.
    Subagent,
    /// A delegate.
    Delegate,
    /// A member of a council.
    Council,
    /// A session of its own (`sessions_spawn`).
    Spawn,
}

impl AgentKind {
    /// The name, as rules write it.
    pub fn as_str(self) -> &'static str {
        let [subagent, delegate, council, spawn] = crate::hook::AGENT_KINDS;
        match self {
            Self::Subagent => subagent,
            Self::Delegate => delegate,
            Self::Council => council,
            Self::Spawn => spawn,
        }
    }
}

/// An agent that is about to start: its task flows from the caller to the level it starts at.
#[derive(Clone, Copy, Debug)]
pub struct AgentFlow<'a> {
    /// What starts.
    pub kind: AgentKind,
    /// The task. None: not known, which rules read against the flow.
    pub task: Option<&'a str>,
    /// The label of the context that wrote the task.
    pub produced_by: Label,
    /// The level it starts at.
    pub level: Classification,
    /// How many agents deep it is; 1 for one the main agent starts.
    pub depth: u64,
    /// Whether the owner granted exactly this.
    pub granted: bool,
}

/// How an MCP server is trusted (`[mcp.NAME] status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpStatus {
    /// What it returns is UNTRUSTED, and it is sent PUBLIC data alone.
    Untrusted,
    /// It has a level.
    Classified,
    /// It is not called.
    Blocked,
}

impl McpStatus {
    /// The name, as rules and the configuration write it.
    pub fn as_str(self) -> &'static str {
        let [untrusted, classified, blocked] = crate::hook::MCP_STATUSES;
        match self {
            Self::Untrusted => untrusted,
            Self::Classified => classified,
            Self::Blocked => blocked,
        }
    }
}

/// A call on its way to an MCP server. The tool call it comes from was judged as such.
#[derive(Clone, Copy, Debug)]
pub struct McpFlow<'a> {
    /// The server's name in the configuration.
    pub server: &'a str,
    /// The tool's name as the server has it.
    pub tool: &'a str,
    /// The server's status.
    pub status: McpStatus,
    /// Whether the tool's name, description or schema differ from what the owner approved.
    pub changed: bool,
    /// The highest level the server may be sent.
    pub clearance: Classification,
    /// The label of the context that produced the arguments.
    pub produced_by: Label,
    /// The arguments. None: not known, which rules read against the flow.
    pub arguments: Option<&'a Value>,
    /// Whether the owner granted exactly this call.
    pub granted: bool,
}
