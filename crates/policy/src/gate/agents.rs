//! The rules for agents that start and for calls to MCP servers.

use super::wording::{lines, shown};
use super::{Refusal, Stage, Verdict, rule};
use crate::{AgentFlow, McpFlow, McpStatus, SessionFacts};

pub(super) fn agent_stages<'a>() -> [Stage<AgentFlow<'a>>; 1] {
    [Stage {
        rule: rule::NO_WRITE_DOWN,
        judge: task_not_down,
    }]
}

pub(super) fn mcp_stages<'a>() -> [Stage<McpFlow<'a>>; 2] {
    [
        Stage {
            rule: rule::MCP_STATUS,
            judge: mcp_status,
        },
        Stage {
            rule: rule::NO_WRITE_DOWN,
            judge: arguments_not_down,
        },
    ]
}

fn task_not_down(agent: &AgentFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let (level, start) = (agent.produced_by.classification, agent.level);
    if level.can_flow_to(start) {
        return Verdict::Passed(format!("the task is {level}, the agent starts at {start}"));
    }
    let kind = agent.kind.as_str();
    Verdict::Refused(Refusal {
        why: format!("the task is {level}, the agent starts at {start}"),
        explanation: lines(
            format!("a {kind} would start at {start} with a task that is {level}"),
            [format!("possible: ask for the level {level}")],
        ),
        told: format!(
            "This conversation holds {level} data, and the {kind} would start at {start}. Possible: ask for the \
             level {level}."
        ),
    })
}

fn mcp_status(call: &McpFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let (server, tool) = (shown(call.server), shown(call.tool));
    let (why, possible) = match call.status {
        McpStatus::Blocked => (
            format!("the MCP server {server} is blocked"),
            format!("possible: change `status` in [mcp.{server}]"),
        ),
        McpStatus::Untrusted | McpStatus::Classified if call.changed => (
            format!("{tool} of the MCP server {server} is not what the owner approved"),
            "possible: look at its name, description and schema, and approve them".to_owned(),
        ),
        McpStatus::Untrusted | McpStatus::Classified => {
            return Verdict::Passed(format!("the MCP server {server} is {}", call.status.as_str()));
        }
    };
    Verdict::Refused(Refusal {
        explanation: lines(format!("{tool} cannot be called: {why}"), [possible]),
        told: format!("{tool} cannot be called: {why}."),
        why,
    })
}

fn arguments_not_down(call: &McpFlow<'_>, _: SessionFacts<'_>) -> Verdict {
    let (level, clearance) = (call.produced_by.classification, call.clearance);
    let server = shown(call.server);
    if level.can_flow_to(clearance) {
        return Verdict::Passed(format!(
            "the arguments are {level}, {server} may be sent {clearance}"
        ));
    }
    Verdict::Refused(Refusal {
        why: format!("the arguments are {level}, {server} may be sent at most {clearance}"),
        explanation: lines(
            format!(
                "{} would carry {level} data to the MCP server {server}, which may be sent at most {clearance}",
                shown(call.tool)
            ),
            [format!(
                "possible: ask in a new session, or give the server a higher level in [mcp.{server}]"
            )],
        ),
        told: format!(
            "This conversation holds {level} data, and {server} may be sent at most {clearance} data."
        ),
    })
}
