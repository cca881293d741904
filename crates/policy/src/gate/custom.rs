//! Custom rules in the gate (check 9, and the other hooks): what they may know of each flow, and what becomes of
//! what they say.

use super::wording::lines;
use super::{Refusal, Ruling, tool_call};
use crate::rules::{CustomOutcome, CustomVerdict, Fact, Facts, Rule, RuleSet, text_of_arguments};
use crate::{
    AgentFlow, AnswerFlow, ContextFlow, Evaluation, FieldName, Hook, Label, McpFlow, ResetFlow, Resource,
    ResourceKind, ResponseFlow, ResponseStatus, RuleOutcome, SecretFlow, SessionFacts, SinkLevel,
    ToolCallFlow, escaped,
};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::Write as _;

/// What a flow is to the rules of a hook.
pub(super) struct Subject<'s> {
    pub(super) hook: Hook,
    /// What it is, for people: names in it are escaped.
    pub(super) what: &'s dyn Fn() -> String,
    /// What a model is told it is: `This call`.
    pub(super) told: &'static str,
    pub(super) granted: bool,
    pub(super) facts: &'s dyn Facts,
}

/// Looks at the custom rules of a hook; whether the flow may go on to the checks after them.
pub(super) fn apply(evaluation: &mut Evaluation, rules: &RuleSet, subject: &Subject<'_>) -> bool {
    if rules.at(subject.hook).is_empty() {
        return true;
    }
    let mut outcome = CustomOutcome {
        verdict: CustomVerdict::NoMatch,
        traces: std::mem::take(&mut evaluation.rules),
        redactions: Vec::new(),
    };
    rules.evaluate_into(subject.hook, subject.facts, &mut outcome);
    evaluation.rules = outcome.traces;
    evaluation.redactions = outcome.redactions;
    match outcome.verdict {
        CustomVerdict::NoMatch | CustomVerdict::Allow(_) => true,
        CustomVerdict::Block(rule) => {
            let refusal = refusal(rule, subject, false);
            evaluation.settle(rule.id().clone(), Ruling::Refused, refusal);
            false
        }
        CustomVerdict::RequireApproval(rule) => {
            if subject.granted {
                if let Some(trace) = evaluation.rules.last_mut() {
                    trace.outcome = RuleOutcome::Passed;
                    trace.why = format!("{}; the owner granted this", trace.why).into();
                }
            } else {
                let refusal = refusal(rule, subject, true);
                evaluation.settle(rule.id().clone(), Ruling::Asked, refusal);
            }
            true
        }
    }
}

fn refusal(rule: &Rule, subject: &Subject<'_>, asks: bool) -> Refusal {
    let id = rule.id();
    let message = rule.message().map(escaped);
    let what = (subject.what)();
    let verb = if asks {
        "has to be approved, says the rule"
    } else {
        "is refused by the rule"
    };
    let mut first = format!("{what} {verb} `{id}`");
    if let Some(message) = &message {
        // What is written does not fail.
        write!(first, ": {message}").unwrap_or_default();
    }
    let conditions: Vec<&str> = rule.conditions().collect();
    let why = if conditions.is_empty() {
        "the rule always matches".to_owned()
    } else {
        format!("the rule matches where {}", conditions.join(" and "))
    };
    let possible = if asks {
        "possible: grant this once, or refuse it; the model is told".to_owned()
    } else {
        format!("possible: change the rule `{id}` in [[policy.rules]], or do it without what it forbids")
    };
    let does = if asks {
        "has to be approved by the owner"
    } else {
        "is refused by a rule of the owner"
    };
    let told = match &message {
        Some(message) => format!("{} {does}: {message}", subject.told),
        None => format!("{} {does} (`{id}`).", subject.told),
    };
    Refusal {
        why: match &message {
            Some(message) => format!("the rule `{id}` matches: {message}"),
            None => format!("the rule `{id}` matches"),
        },
        explanation: lines(first, [why, possible]),
        told,
    }
}

/// What every hook knows.
fn common<'a>(field: FieldName, session: &SessionFacts<'a>) -> Fact<'a> {
    let caller = &session.caller;
    match field {
        FieldName::Taint => Fact::Level(session.taint.label().classification),
        FieldName::Integrity => Fact::Text(session.taint.label().integrity.as_str()),
        FieldName::Clearance => Fact::Level(session.clearance),
        FieldName::User => caller.user.map_or(Fact::Unknown, Fact::Text),
        FieldName::Role => caller.role.map_or(Fact::Unknown, Fact::Role),
        FieldName::SessionName => caller.session_name.map_or(Fact::Absent, Fact::Text),
        FieldName::Channel => caller.channel.map_or(Fact::Absent, Fact::Text),
        FieldName::Attended => Fact::Boolean(caller.attended),
        _ => Fact::Absent,
    }
}

type Texts<'a> = OnceCell<Vec<Cow<'a, str>>>;

fn texts<'f, 'a: 'f>(cell: &'f Texts<'a>, make: impl FnOnce() -> Vec<Cow<'a, str>>) -> Fact<'f> {
    Fact::Texts(cell.get_or_init(make))
}

fn arguments(value: Option<&serde_json::Value>) -> Fact<'_> {
    value.map_or(Fact::Unknown, Fact::Arguments)
}

fn arguments_text<'f>(value: Option<&serde_json::Value>, cell: &'f OnceCell<String>) -> Fact<'f> {
    match value {
        None => Fact::Unknown,
        Some(value) => Fact::Text(cell.get_or_init(|| text_of_arguments(value))),
    }
}

/// A text in parts: it reads as one, and each part for itself.
struct Parts<'a> {
    parts: Option<&'a [&'a str]>,
    readings: Texts<'a>,
}

impl<'a> Parts<'a> {
    fn new(parts: Option<&'a [&'a str]>) -> Self {
        Self {
            parts,
            readings: OnceCell::new(),
        }
    }

    fn text(&self) -> Fact<'_> {
        match self.parts {
            None => Fact::Unknown,
            Some([]) => Fact::Absent,
            Some([text]) => Fact::Text(text),
            Some(parts) => texts(&self.readings, || {
                let whole = std::iter::once(Cow::Owned(parts.concat()));
                whole
                    .chain(parts.iter().map(|part| Cow::Borrowed(*part)))
                    .collect()
            }),
        }
    }

    fn length(&self) -> Fact<'_> {
        match self.parts {
            None => Fact::Unknown,
            Some(parts) => {
                let length: usize = parts.iter().map(|part| part.chars().count()).sum();
                Fact::Number(length.try_into().unwrap_or(u64::MAX))
            }
        }
    }
}

fn label(field: FieldName, label: Label) -> Fact<'static> {
    match field {
        FieldName::Level => Fact::Level(label.classification),
        FieldName::TextIntegrity => Fact::Text(label.integrity.as_str()),
        _ => Fact::Absent,
    }
}

/// PRE_TOOL_CALL.
pub(super) struct CallSubject<'a> {
    call: &'a ToolCallFlow<'a>,
    session: SessionFacts<'a>,
    arguments_text: OnceCell<String>,
    sinks: Texts<'a>,
    sources: Texts<'a>,
    paths: Texts<'a>,
    hosts: Texts<'a>,
    recipients: Texts<'a>,
}

impl<'a> CallSubject<'a> {
    pub(super) fn new(call: &'a ToolCallFlow<'a>, session: SessionFacts<'a>) -> Self {
        Self {
            call,
            session,
            arguments_text: OnceCell::new(),
            sinks: OnceCell::new(),
            sources: OnceCell::new(),
            paths: OnceCell::new(),
            hosts: OnceCell::new(),
            recipients: OnceCell::new(),
        }
    }

    fn named(&self, wanted: impl Fn(&Resource) -> bool) -> Vec<Cow<'a, str>> {
        let matching = self.call.resources.iter().filter(|resource| wanted(resource));
        matching
            .map(|resource| Cow::Borrowed(resource.what().name.as_str()))
            .collect()
    }

    fn of_kind(&self, kind: ResourceKind) -> Vec<Cow<'a, str>> {
        self.named(|resource| resource.what().kind == kind)
    }

    fn sink_level(&self) -> Fact<'a> {
        let levels = self.call.resources.iter().filter_map(|resource| match resource {
            Resource::Sink {
                level: SinkLevel::Level(level),
                ..
            } => Some(*level),
            // Refused before, and the least that can be.
            Resource::Sink {
                level: SinkLevel::OwnFile,
                ..
            } => Some(crate::Classification::Public),
            Resource::Source { .. } | Resource::Payload { .. } => None,
        });
        levels.min().map_or(Fact::Absent, Fact::Level)
    }
}

impl Facts for CallSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        let call = self.call;
        match field {
            FieldName::Tool => Fact::Text(call.tool.name.as_str()),
            FieldName::Argument => arguments(call.facts.arguments),
            FieldName::ArgumentsText => arguments_text(call.facts.arguments, &self.arguments_text),
            FieldName::Action => Fact::Text(call.tool.integrity.action.as_str()),
            FieldName::Consequential => Fact::Boolean(call.tool.consequential),
            FieldName::Parallel => call.facts.parallel.map_or(Fact::Unknown, Fact::Number),
            FieldName::Sinks => texts(&self.sinks, || {
                self.named(|resource| matches!(resource, Resource::Sink { .. }))
            }),
            FieldName::SinkLevel => self.sink_level(),
            FieldName::Sources => texts(&self.sources, || {
                self.named(|resource| matches!(resource, Resource::Source { .. } | Resource::Payload { .. }))
            }),
            FieldName::SourceLevel => Fact::Level(call.brings()),
            FieldName::Carries => Fact::Level(tool_call::moving(call).classification),
            FieldName::Paths => texts(&self.paths, || self.of_kind(ResourceKind::Path)),
            FieldName::UrlHost => texts(&self.hosts, || {
                let hosts = self.of_kind(ResourceKind::Url).into_iter();
                hosts.map(|host| Cow::Owned(host.to_lowercase())).collect()
            }),
            FieldName::Recipients => texts(&self.recipients, || self.of_kind(ResourceKind::Recipient)),
            other => common(other, &self.session),
        }
    }
}

/// POST_TOOL_RESPONSE.
pub(super) struct ResponseSubject<'a> {
    response: &'a ResponseFlow<'a>,
    session: SessionFacts<'a>,
    label: Label,
    text: Parts<'a>,
}

impl<'a> ResponseSubject<'a> {
    pub(super) fn new(response: &'a ResponseFlow<'a>, label: Label, session: SessionFacts<'a>) -> Self {
        Self {
            response,
            session,
            label,
            text: Parts::new(response.texts),
        }
    }
}

impl Facts for ResponseSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        let [ok, error] = crate::hook::RESPONSE_STATUSES;
        match field {
            FieldName::Tool => Fact::Text(self.response.tool.name.as_str()),
            FieldName::Consequential => Fact::Boolean(self.response.tool.consequential),
            FieldName::Status => Fact::Text(match self.response.status {
                ResponseStatus::Ok => ok,
                ResponseStatus::Error => error,
            }),
            FieldName::Text => self.text.text(),
            FieldName::TextLength => self.text.length(),
            FieldName::Level | FieldName::TextIntegrity => label(field, self.label),
            other => common(other, &self.session),
        }
    }
}

/// PRE_CONTEXT_INJECTION.
pub(super) struct ContextSubject<'a> {
    context: &'a ContextFlow<'a>,
    session: SessionFacts<'a>,
    text: Parts<'a>,
}

impl<'a> ContextSubject<'a> {
    pub(super) fn new(context: &'a ContextFlow<'a>, session: SessionFacts<'a>) -> Self {
        Self {
            context,
            session,
            text: Parts::new(context.texts),
        }
    }
}

impl Facts for ContextSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        match field {
            FieldName::What => Fact::Text(self.context.what),
            FieldName::Text => self.text.text(),
            FieldName::TextLength => self.text.length(),
            FieldName::Level | FieldName::TextIntegrity => label(field, self.context.label),
            other => common(other, &self.session),
        }
    }
}

/// PRE_OUTPUT.
pub(super) struct OutputSubject<'a> {
    answer: &'a AnswerFlow<'a>,
    session: SessionFacts<'a>,
    text: Parts<'a>,
    recipients: Texts<'a>,
}

impl<'a> OutputSubject<'a> {
    pub(super) fn new(answer: &'a AnswerFlow<'a>, session: SessionFacts<'a>) -> Self {
        Self {
            answer,
            session,
            text: Parts::new(answer.texts),
            recipients: OnceCell::new(),
        }
    }
}

impl Facts for OutputSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        match field {
            FieldName::Text => self.text.text(),
            FieldName::TextLength => self.text.length(),
            FieldName::Reader => Fact::Text(self.answer.reader),
            FieldName::ReaderLevel => Fact::Level(self.answer.clearance),
            FieldName::Recipients => texts(&self.recipients, || {
                self.answer
                    .recipients
                    .iter()
                    .map(|name| Cow::Borrowed(*name))
                    .collect()
            }),
            other => common(other, &self.session),
        }
    }
}

/// SECRET_ACCESS.
pub(super) struct SecretSubject<'a> {
    secret: &'a SecretFlow<'a>,
    session: SessionFacts<'a>,
    hosts: Texts<'a>,
}

impl<'a> SecretSubject<'a> {
    pub(super) fn new(secret: &'a SecretFlow<'a>, session: SessionFacts<'a>) -> Self {
        Self {
            secret,
            session,
            hosts: OnceCell::new(),
        }
    }
}

impl Facts for SecretSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        match field {
            FieldName::Secret => Fact::Text(self.secret.secret),
            FieldName::Tool => Fact::Text(self.secret.tool),
            FieldName::SecretArgument => Fact::Text(self.secret.argument),
            FieldName::UrlHost => texts(&self.hosts, || {
                self.secret
                    .hosts
                    .iter()
                    .map(|host| Cow::Owned(host.to_lowercase()))
                    .collect()
            }),
            other => common(other, &self.session),
        }
    }
}

/// SESSION_RESET.
pub(super) struct ResetSubject<'a> {
    pub(super) reset: &'a ResetFlow,
    pub(super) session: SessionFacts<'a>,
}

impl Facts for ResetSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        match field {
            FieldName::CarriesDraft => Fact::Boolean(self.reset.carries_draft),
            other => common(other, &self.session),
        }
    }
}

/// AGENT_INVOCATION.
pub(super) struct AgentSubject<'a> {
    pub(super) agent: &'a AgentFlow<'a>,
    pub(super) session: SessionFacts<'a>,
}

impl Facts for AgentSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        match field {
            FieldName::Kind => Fact::Text(self.agent.kind.as_str()),
            FieldName::Text => self.agent.task.map_or(Fact::Unknown, Fact::Text),
            FieldName::TextLength => self.agent.task.map_or(Fact::Unknown, |task| {
                Fact::Number(task.chars().count().try_into().unwrap_or(u64::MAX))
            }),
            FieldName::RequestedLevel => Fact::Level(self.agent.level),
            FieldName::Depth => Fact::Number(self.agent.depth),
            other => common(other, &self.session),
        }
    }
}

/// MCP_TOOL_CALL.
pub(super) struct McpSubject<'a> {
    call: &'a McpFlow<'a>,
    session: SessionFacts<'a>,
    arguments_text: OnceCell<String>,
}

impl<'a> McpSubject<'a> {
    pub(super) fn new(call: &'a McpFlow<'a>, session: SessionFacts<'a>) -> Self {
        Self {
            call,
            session,
            arguments_text: OnceCell::new(),
        }
    }
}

impl Facts for McpSubject<'_> {
    fn fact(&self, field: FieldName) -> Fact<'_> {
        match field {
            FieldName::Server => Fact::Text(self.call.server),
            FieldName::Tool => Fact::Text(self.call.tool),
            FieldName::Status => Fact::Text(self.call.status.as_str()),
            FieldName::ServerLevel => Fact::Level(self.call.clearance),
            FieldName::Argument => arguments(self.call.arguments),
            FieldName::ArgumentsText => arguments_text(self.call.arguments, &self.arguments_text),
            other => common(other, &self.session),
        }
    }
}
