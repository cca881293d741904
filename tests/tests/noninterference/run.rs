//! One run: several sessions that share a store and a workspace take turns, in a fixed order.

use crate::inputs::Inputs;
use crate::mutant::{Forgetful, Mutant};
use crate::owner::Owner;
use crate::projection::Projection;
use crate::tools::{Sends, TestTool, sink, source};
use crate::watched::{CancelPlan, Watched};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tidegate_builtins::Workspace;
use tidegate_message::{ModelId, ProviderId, Tier, TurnStatus};
use tidegate_policy::{ActionClass, Classification, Label, PathRules, UserId};
use tidegate_runtime::config::{Configuration, Unattended, UserSettings};
use tidegate_runtime::{
    ApprovalAnswer, ApprovalRequest, Approver, CancelToken, Runtime, SessionRequest, TurnOptions, TurnReport,
    Which, decide_approval,
};
use tidegate_store::{Durability, MemoryStore, SqliteStore, Store};
use tidegate_testing::{HashingModel, MeddledStore};
use tidegate_tools::{MemoryLabels, Tool, ToolError, ToolOutput};

use Classification::{Confidential, Internal, Public, Restricted};

/// Who takes a turn, in which session, with a task of which level. Who may read more comes first, so that what leaks
/// down is there to be found.
const TURNS: [(&str, &str, Classification); 11] = [
    ("vera-1", "vera", Public),
    ("carl-1", "carl", Public),
    ("ines-1", "ines", Public),
    ("paul-1", "paul", Public),
    ("vera-2", "vera", Internal),
    ("carl-1", "carl", Confidential),
    ("paul-1", "paul", Public),
    ("ines-1", "ines", Internal),
    ("carl-2", "carl", Public),
    ("ines-1", "ines", Public),
    ("paul-2", "paul", Public),
];

/// What each user may read.
const USERS: [(&str, Classification); 4] = [
    ("vera", Restricted),
    ("carl", Confidential),
    ("ines", Internal),
    ("paul", Public),
];

/// Which store a run has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreKind {
    Memory,
    Sqlite,
}

/// Runs all turns in `folder`, which is made anew, and gives what the observer of `inputs` may see.
pub(crate) fn observe(folder: &Path, inputs: Inputs, kind: StoreKind, mutant: Option<Mutant>) -> Projection {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run(folder, inputs, kind, mutant))
}

async fn run(folder: &Path, inputs: Inputs, kind: StoreKind, mutant: Option<Mutant>) -> Projection {
    let _ = fs::remove_dir_all(folder);
    let workspace = folder.join("workspace");
    fs::create_dir_all(&workspace).unwrap();
    let workspace = workspace.canonicalize().unwrap();
    inputs.make_files(&workspace);

    // Of its own: the database of the run before may not be closed yet.
    let database = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = match kind {
        StoreKind::Memory => Arc::new(MemoryStore::new()),
        StoreKind::Sqlite => {
            let file = database.path().join("tidegate.db");
            Arc::new(SqliteStore::open(file, Durability::Process).unwrap())
        }
    };
    let used: Arc<dyn Store> = match mutant {
        Some(mutant) => Arc::new(MeddledStore::new(Arc::clone(&store), Forgetful(mutant))),
        None => Arc::clone(&store),
    };
    let sends = Sends::default();
    let plan = Arc::new(Mutex::new(CancelPlan::default()));
    let received = Arc::new(Mutex::new(Vec::new()));
    let runtime = build(&workspace, inputs, used, &sends, &plan, &received, mutant);

    let mut seen = Projection::default();
    let owner = Owner::default();
    for (number, (session, user, level)) in TURNS.into_iter().enumerate() {
        let mut request =
            SessionRequest::new(Which::Named(session.parse().unwrap())).workspace(workspace.clone());
        request.user = UserId::new(user);
        let mut session = runtime.session(request).await.unwrap();
        let token = CancelToken::new();
        // What is cancelled above the observer is chance there; what is cancelled below is the same in both runs.
        let (mut above, mut below) = (
            inputs.chance(Restricted, &format!("cancel {number}")),
            inputs.chance(Public, &format!("cancel {number}")),
        );
        *plan.lock().unwrap() = CancelPlan {
            token: token.clone(),
            above: (above.u8(..3) == 0).then(|| above.usize(..3)),
            below: (below.u8(..6) == 0).then(|| below.usize(..3)),
        };
        let options = |cancel| TurnOptions {
            level,
            cancel,
            observer: None,
            approver: (number % 3 > 0).then_some(&owner as &dyn Approver),
            steering: None,
        };
        let task = format!(
            "Read what there is, send a note to ann@example.com and save it. {}",
            inputs.text(level, &format!("task {number}"))
        );
        let report = session.run(task, options(token.clone())).await.unwrap();
        see(&mut seen, number, &report, inputs.observer);
        if report.status == TurnStatus::AwaitingApproval {
            for id in &report.approvals {
                let record = store.approval(*id).await.unwrap().unwrap();
                match Owner::answer(&ApprovalRequest::read(&record).unwrap()) {
                    ApprovalAnswer::Later => {}
                    answer => {
                        decide_approval(&*store, *id, answer == ApprovalAnswer::Grant)
                            .await
                            .unwrap();
                    }
                }
            }
            let report = session.resume(options(token)).await.unwrap();
            see(&mut seen, number, &report, inputs.observer);
        }
    }
    seen.add_rows(&*store, inputs.observer).await;
    seen.add_files(&workspace, inputs.observer);
    seen.add("sends", sends.up_to(inputs.observer));
    let received = received.lock().unwrap();
    let wire = received
        .iter()
        .filter(|(level, _)| level.can_flow_to(inputs.observer));
    seen.add("requests", wire.map(|(_, bytes)| bytes.clone()));
    seen
}

/// What the observer sees of a turn's end: everything if its label lets it, else nothing.
fn see(seen: &mut Projection, number: usize, report: &TurnReport, observer: Classification) {
    if report.label.can_flow_to(observer) {
        let line = format!(
            "{:?} {:?} rounds {} calls {} {:?} {:?} {}",
            report.status,
            report.answer,
            report.rounds,
            report.calls_used,
            report.warning,
            report.error,
            report.label
        );
        seen.add(format!("answer {number:02}"), [line]);
    }
}

fn build(
    workspace: &Path,
    inputs: Inputs,
    store: Arc<dyn Store>,
    sends: &Sends,
    plan: &Arc<Mutex<CancelPlan>>,
    received: &Arc<Mutex<Vec<(Classification, String)>>>,
    mutant: Option<Mutant>,
) -> Runtime {
    let mut builder = Runtime::builder().store(store).configuration(configuration());
    let mut tools = tools(inputs, sends);
    if mutant.is_some_and(Mutant::is_about_files) {
        let rules = PathRules::builder(workspace).build().unwrap();
        let over = Workspace::open(workspace, rules, Arc::new(MemoryLabels::new())).unwrap();
        tools.extend(tidegate_builtins::file_tools(&over));
        builder = builder.without_file_tools();
    }
    for tool in tools {
        builder = builder.tool(match mutant {
            Some(mutant) => mutant.tool(tool),
            None => tool,
        });
    }
    let seed = match mutant {
        Some(Mutant::ModelSeesSecret) => inputs.seed.wrapping_add(inputs.variant),
        _ => inputs.seed,
    };
    for (name, level) in [("remote", Internal), ("local", Restricted)] {
        let model = HashingModel::new(name, seed)
            .values(["ann@example.com", "7741", "a note", "main"])
            .paths([
                "public/",
                "internal/",
                "confidential/",
                "restricted/",
                ".",
                "public/notes.txt",
                "confidential/key.txt",
                "restricted/plan.md",
                "confidential/deep",
                "confidential/made/",
                "notes.txt",
            ])
            .without(["current_time"])
            .rounds(6);
        let provider = Watched {
            model,
            level,
            observer: inputs.observer,
            plan: Arc::clone(plan),
            received: Arc::clone(received),
        };
        let believed = match mutant {
            Some(Mutant::ProviderNotJudged) => Restricted,
            _ => level,
        };
        builder = builder.provider(Arc::new(provider), believed, 8);
    }
    let model = |provider: &str| ModelId::new(ProviderId::new(provider), "m");
    builder
        .tier(Tier::Lite, vec![model("remote"), model("local")])
        .tier(Tier::Flash, vec![model("local")])
        .build()
        .unwrap()
}

fn configuration() -> Configuration {
    let mut configuration = Configuration::default();
    configuration.agent.max_output_chars = 500;
    configuration.agent.max_rounds = 4;
    configuration.policy.clearance = Restricted;
    configuration.policy.unattended = Unattended::Wait;
    configuration.policy.bumpers = true;
    configuration.policy.rules = toml::from_str::<toml::Table>(RULES).unwrap()["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule.as_table().unwrap().clone())
        .collect();
    users(&mut configuration);
    configuration
}

/// The users, with what each may read.
pub(crate) fn users(configuration: &mut Configuration) {
    for (name, clearance) in USERS {
        let settings = UserSettings {
            role: None,
            clearance: Some(clearance),
        };
        configuration.users.0.insert(name.to_owned(), settings);
    }
}

/// Rules that look at content wherever it passes.
const RULES: &str = r#"
[[rules]]
id = "no-granite"
hook = "PRE_CONTEXT_INJECTION"
priority = 2
when = [{ field = "text", op = "contains", value = "granite" }]
action = "BLOCK"
message = "not here"

[[rules]]
id = "hide"
hook = "PRE_CONTEXT_INJECTION"
priority = 1
when = [{ field = "text", op = "contains", value = "forbidden" }]
action = "REDACT"
pattern = "forbidden"

[[rules]]
id = "hide-results"
hook = "POST_TOOL_RESPONSE"
priority = 1
when = [{ field = "text", op = "contains", value = "forbidden" }]
action = "REDACT"
pattern = "forbidden"

[[rules]]
id = "no-quartz"
hook = "POST_TOOL_RESPONSE"
priority = 2
when = [{ field = "text", op = "contains", value = "quartz" }]
action = "BLOCK"
message = "not here"

[[rules]]
id = "hide-answers"
hook = "PRE_OUTPUT"
priority = 1
when = [{ field = "text", op = "contains", value = "violet" }]
action = "REDACT"
pattern = "violet"

[[rules]]
id = "no-salmon"
hook = "PRE_OUTPUT"
priority = 2
when = [{ field = "text", op = "contains", value = "salmon" }]
action = "BLOCK"
message = "not out"
"#;

/// Reads something of `level`: what comes of it is chance.
fn reads(
    inputs: Inputs,
    level: Classification,
    name: &'static str,
    arguments: &Value,
) -> Result<String, String> {
    let what = format!("{name} {arguments}");
    let text = inputs.text(level, &what);
    if inputs.chance(level, &format!("fails {what}")).u8(..4) == 0 {
        Err(text)
    } else {
        Ok(text)
    }
}

/// A tool with a declared label.
pub(crate) fn labelled(inputs: Inputs, name: &'static str, label: Label) -> TestTool {
    TestTool::new(name, &["about"], label, move |arguments, _| {
        match reads(inputs, label.classification, name, arguments) {
            Ok(text) => Ok(ToolOutput::text(text)),
            Err(text) => Err(ToolError::new(text)),
        }
    })
}

/// A tool that sends to a place of this level.
fn sends_to(sends: &Sends, name: &'static str, level: Classification) -> TestTool {
    let sends = sends.clone();
    let tool = TestTool::new(
        name,
        &["recipient", "text"],
        Label::BOTTOM,
        move |arguments, _| {
            sends.note(level, format!("{name} {arguments}"));
            Ok(ToolOutput::text("sent"))
        },
    );
    tool.consequential(ActionClass::Egress, &["text"], &["recipient"])
        .touches(move |_| vec![sink(name, level)])
}

fn tools(inputs: Inputs, sends: &Sends) -> Vec<Arc<dyn Tool>> {
    // Its level is found out when it runs: it follows from what is asked for, and not from what is there.
    let deep = TestTool::new("deep", &["about"], Label::BOTTOM, move |arguments, _| {
        let level = match arguments["about"].as_str().unwrap_or_default().len() % 3 {
            0 => Internal,
            1 => Confidential,
            _ => Restricted,
        };
        let label = Label::untrusted(level);
        match reads(inputs, level, "deep", arguments) {
            Ok(text) => Ok(ToolOutput::text(text).with_label(label)),
            Err(text) => Err(ToolError::new(text).with_label(label)),
        }
    });
    let declared = TestTool::new("declared", &["about"], Label::BOTTOM, move |arguments, _| {
        let text = reads(inputs, Confidential, "declared", arguments).unwrap_or_else(|text| text);
        Ok(ToolOutput::text(
            json!({ "_classification": "CONFIDENTIAL", "text": text }).to_string(),
        ))
    });
    // What it reads turns out to be something else between the judgement and the run.
    let moved = TestTool::new("crate", &["about"], Label::BOTTOM, move |arguments, _| {
        let text = reads(inputs, Confidential, "crate", arguments);
        text.map(ToolOutput::text).map_err(ToolError::new)
    });
    let moved = moved
        .touches(|_| vec![source("crate", Label::BOTTOM)])
        .touches_then(|_| vec![source("crate", Label::untrusted(Confidential))]);
    // And so does what it sends to.
    let relay = sends_to(sends, "relay", Public)
        .touches(|_| vec![sink("relay", Confidential)])
        .touches_then(|_| vec![sink("relay", Public)]);
    vec![
        labelled(inputs, "feed", Label::untrusted(Public)).shared(),
        labelled(inputs, "ledger", Label::trusted(Internal)).shared(),
        labelled(inputs, "vault", Label::untrusted(Confidential)).shared(),
        labelled(inputs, "safe", Label::trusted(Restricted)).shared(),
        deep.shared(),
        declared.shared(),
        moved.shared(),
        relay.shared(),
        sends_to(sends, "post", Public).shared(),
        sends_to(sends, "mail", Internal).shared(),
        sends_to(sends, "archive", Confidential).shared(),
    ]
}
