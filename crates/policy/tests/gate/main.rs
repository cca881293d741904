//! The gate: which rule decides, that nothing slips through, and what is said about it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod order;
mod properties;
mod refusals;
mod releases;

use tidegate_policy::{
    Admission, ArgumentCheck, Bumper, CallFacts, Caller, Classification, Evaluation, Flow, Gate, Label,
    Origin, Resource, ResourceKind, ResourceRef, Role, SessionFacts, SinkLevel, Taint, ToolCallFlow,
    ToolName, ToolPolicy,
};

/// A call that every rule lets pass until a test changes something. Its arguments are produced by the
/// session as it is, unless `produced_by` says otherwise.
#[derive(Clone, Debug)]
struct Call {
    tool: ToolPolicy,
    admission: Admission,
    role: Role,
    arguments: ArgumentCheck,
    produced_by: Option<Label>,
    resources: Vec<Resource>,
    taint: Taint,
    clearance: Classification,
    bumper: Option<Bumper>,
    granted: bool,
    released: bool,
}

impl Call {
    fn of(tool: &str) -> Self {
        Self {
            tool: tool_policy(tool),
            admission: Admission::Offered,
            role: Role::User,
            arguments: ArgumentCheck::Valid,
            produced_by: None,
            resources: Vec::new(),
            taint: Taint::default(),
            clearance: Classification::Restricted,
            bumper: None,
            granted: false,
            released: false,
        }
    }

    fn judge(&self) -> Evaluation {
        let flow = ToolCallFlow {
            tool: &self.tool,
            admission: &self.admission,
            role: self.role,
            arguments: &self.arguments,
            produced_by: self.produced_by.unwrap_or(self.taint.label()),
            resources: &self.resources,
            granted: self.granted,
            released: self.released,
            integrity: None,
            facts: CallFacts::default(),
        };
        let session = SessionFacts {
            taint: &self.taint,
            clearance: self.clearance,
            bumper: self.bumper,
            caller: Caller::default(),
        };
        Gate::default().judge(Flow::ToolCall(&flow), session)
    }

    fn with(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    fn not_offered(mut self, available: &[&str]) -> Self {
        self.admission = Admission::NotOffered {
            available: available.iter().map(|name| ToolName::from(*name)).collect(),
        };
        self
    }

    fn invalid(mut self, problem: &str) -> Self {
        self.arguments = ArgumentCheck::Invalid {
            problem: problem.into(),
        };
        self
    }

    fn needs(mut self, role: Role) -> Self {
        self.tool.role = role;
        self
    }

    fn floor(mut self, floor: Classification) -> Self {
        self.tool.floor = floor;
        self
    }

    fn returns(mut self, source: Label) -> Self {
        self.tool.source = source;
        self
    }

    fn produced_by(mut self, label: Label) -> Self {
        self.produced_by = Some(label);
        self
    }

    fn clearance(mut self, clearance: Classification) -> Self {
        self.clearance = clearance;
        self
    }

    /// The owner is asked before each call of the tool.
    fn approval(mut self) -> Self {
        self.tool.approval = true;
        self
    }

    /// The owner is asked before the session rises above `above`, and has let it rise to `acknowledged`.
    fn bumper(mut self, above: Classification, acknowledged: Classification) -> Self {
        self.bumper = Some(Bumper { above, acknowledged });
        self
    }

    fn granted(self) -> Self {
        Self {
            granted: true,
            ..self
        }
    }

    /// Raises the session's taint by reading `resource` with `read_file`.
    fn after_reading(mut self, resource: &str, level: Classification, turn: u32) -> Self {
        let origin = Origin::Tool {
            tool: "read_file".into(),
            resources: vec![resource.into()],
            source: None,
        };
        self.taint.raise(Label::untrusted(level), origin, turn);
        self
    }
}

fn tool_policy(name: &str) -> ToolPolicy {
    ToolPolicy {
        name: name.into(),
        role: Role::Guest,
        consequential: false,
        source: Label::BOTTOM,
        floor: Classification::Public,
        control_arguments: Vec::new(),
        approval: false,
        integrity: tidegate_policy::ToolIntegrity::default(),
    }
}

fn named(kind: ResourceKind, name: &str) -> ResourceRef {
    ResourceRef {
        kind,
        name: name.into(),
    }
}

fn reads(name: &str, level: Classification) -> Resource {
    Resource::Source {
        what: named(ResourceKind::Path, name),
        label: Label::untrusted(level),
    }
}

fn writes(name: &str, level: Classification) -> Resource {
    sink(ResourceKind::Path, name, level)
}

fn sink(kind: ResourceKind, name: &str, level: Classification) -> Resource {
    Resource::Sink {
        what: named(kind, name),
        level: SinkLevel::Level(level),
    }
}

fn writes_own_file(name: &str) -> Resource {
    Resource::Sink {
        what: named(ResourceKind::Path, name),
        level: SinkLevel::OwnFile,
    }
}

fn attaches(name: &str, level: Classification) -> Resource {
    Resource::Payload {
        what: named(ResourceKind::Path, name),
        label: Label::untrusted(level),
    }
}
