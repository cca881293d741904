//! A small program over the runtime, for the tests that kill it: one session, the file tools, a tool whose every
//! run leaves a mark, and a store that ends the process at a given commit.

mod killing_store;

use anyhow::Context as _;
use killing_store::Killing;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_message::{ModelId, ProviderId, Tier};
use tidegate_policy::Classification;
use tidegate_prompt::{Note, NoteKind};
use tidegate_providers::{OpenAi, OpenAiConfig};
use tidegate_runtime::config::{Configuration, IntegrityTest, ModelSettings, ToolSettings};
use tidegate_runtime::{
    ApprovalAnswer, ApprovalRequest, Approver, DataFolder, Runtime, SessionRequest, TurnOptions, Which,
};
use tidegate_store::{Durability, SqliteStore, Store};
use tidegate_testing::MeddledStore;
use tidegate_tests::crash::{Errand, Finished, SESSION, Work};
use tidegate_tools::{BoxFuture, CallContext, ToolError, TypedTool};

/// Results longer than this are cut: short enough for a test file to be longer.
const MAX_OUTPUT_CHARS: usize = 500;

#[derive(Deserialize, JsonSchema)]
struct Append {
    /// What is written beside the call's id.
    text: String,
}

fn main() -> anyhow::Result<()> {
    let argument = std::env::args().nth(1).context("the errand is missing")?;
    let errand: Errand = serde_json::from_str(&argument).context("the errand cannot be read")?;
    // As the command line does it.
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let finished = executor.block_on(run(errand))?;
    println!("{}", serde_json::to_string(&finished)?);
    Ok(())
}

async fn run(errand: Errand) -> anyhow::Result<Finished> {
    let data = DataFolder::new(&errand.data);
    // What a killed process wrote is safe with the system; only loss of power asks for more.
    let store = SqliteStore::open(data.database(), Durability::Process)?;
    let store = Arc::new(MeddledStore::new(Arc::new(store), Killing(errand.kill)));

    let provider = ProviderId::new("fake");
    let config = OpenAiConfig::new(provider.clone(), errand.base_url.parse()?);
    let model = |name: &str| vec![ModelId::new(provider.clone(), name)];
    let mut configuration = Configuration::default();
    configuration.agent.max_output_chars = MAX_OUTPUT_CHARS;
    let append_settings = ToolSettings {
        approval: errand.approve,
        ..ToolSettings::default()
    };
    configuration
        .policy
        .tools
        .insert("append".into(), append_settings);
    // Levels are what the other tests are about.
    configuration.policy.bumpers = false;
    // So is whose words a call comes from: what these calls return is UNTRUSTED.
    configuration.policy.integrity = IntegrityTest::Off;
    if let Some(window) = errand.window {
        for name in ["small", "large", "summary"] {
            let settings = ModelSettings {
                context_window: Some(window),
                ..ModelSettings::default()
            };
            let id = ModelId::new(provider.clone(), name);
            configuration.models.insert(id.to_string(), settings);
        }
        configuration.prompt.protect_last = 4;
    }
    let shared: Arc<dyn Store> = store.clone();
    let runtime = Runtime::builder()
        .store(shared)
        .provider(Arc::new(OpenAi::new(config)), Classification::Restricted, 8)
        .tier(Tier::Lite, model("small"))
        .tier(Tier::Flash, model("large"))
        .auxiliary(model("summary"))
        .tool(Arc::new(append(errand.ledger)))
        .configuration(configuration)
        .lock_folder(data.locks())
        .build()?;

    let request = SessionRequest::new(Which::Named(SESSION.parse()?)).workspace(errand.workspace);
    let mut session = runtime.session(request).await?;
    let options = TurnOptions {
        approver: errand.approve.then_some(&Always as &dyn Approver),
        ..TurnOptions::default()
    };
    let done = |commits| Finished {
        answer: String::new(),
        status: "success".to_owned(),
        error: None,
        commits,
    };
    match errand.work {
        Work::Task => {}
        Work::LeaveNote(text) => {
            session.leave_note(Note::plain(NoteKind::Nudge { text })).await?;
            return Ok(done(store.commits()));
        }
        Work::Compact => {
            let compacted = session.compact(options).await?;
            return Ok(Finished {
                error: compacted.error,
                ..done(store.commits())
            });
        }
    }
    let report = if errand.resume && !session.transcript().entries().is_empty() {
        session.resume(options).await?
    } else {
        session.run(errand.task, options).await?
    };
    Ok(Finished {
        answer: report.answer,
        status: format!("{:?}", report.status).to_lowercase(),
        error: report.error,
        commits: store.commits(),
    })
}

/// An owner who approves of everything.
struct Always;

impl Approver for Always {
    fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalAnswer> {
        Box::pin(std::future::ready(ApprovalAnswer::Grant))
    }
}

/// A consequential tool: it adds its call's id to the ledger, and the line is on the disk when it returns.
fn append(ledger: PathBuf) -> TypedTool<Append> {
    TypedTool::new(
        "append",
        "Adds a line to the ledger.",
        move |line: Append, context: CallContext| {
            let written = write_line(&ledger, &format!("{} {}\n", context.call, line.text));
            async move {
                written
                    .map(|()| "appended")
                    .map_err(|error| ToolError::new(format!("the ledger cannot be written: {error}")))
            }
        },
    )
    .consequential(["text"])
}

fn write_line(ledger: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(ledger)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}
