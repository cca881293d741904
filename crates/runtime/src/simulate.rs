//! Trying a call without running it.

use crate::open::{clearance_without_models, registry, role};
use crate::provenance::Provenance;
use crate::trial::Trial;
use crate::{Runtime, RuntimeError, ids};
use std::path::PathBuf;
use tidegate_message::{ToolCall, Transcript, UserMessage};
use tidegate_policy::{CallId, Evaluation, IntegrityVerdict, Label, Taint, ToolName, UserId};

/// A call to be tried.
#[derive(Clone, Debug)]
pub struct SimulatedCall {
    /// The tool.
    pub tool: ToolName,
    /// Its arguments as JSON, as a model would write them.
    pub arguments: String,
    /// The label of the session and of the context that wrote the arguments.
    pub taint: Label,
    /// In whose name.
    pub user: UserId,
    /// The workspace folder.
    pub workspace: PathBuf,
    /// What the owner would have written before, if anything: what integrity by value reads for licences.
    pub task: Option<String>,
    /// Whether somebody would be there to be asked.
    pub attended: bool,
}

/// What the gate would say.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Simulation {
    /// Its answer.
    pub evaluation: Evaluation,
    /// What the model would be told, unless it is allowed.
    pub told: String,
    /// Why what the call touches is not known; it was judged as touching nothing then.
    pub problem: Option<String>,
    /// How the values of a consequential call were judged.
    pub integrity: Option<IntegrityVerdict>,
}

impl Runtime {
    /// Judges a call (checks 1 to 10) with the code that judges real ones. Nothing is run, changed or recorded;
    /// files may be opened to see what they are.
    ///
    /// # Errors
    /// If the user is not configured or the workspace cannot be used.
    pub async fn simulate(&self, call: &SimulatedCall) -> Result<Simulation, RuntimeError> {
        let shared = &self.shared;
        let role = role(shared, &call.user)?;
        let registry = registry(shared, &call.workspace, role)?;
        let (session, turn) = (ids::new_session_id(), ids::new_turn_id());
        let tool_call = ToolCall {
            id: CallId::new("call_1_0"),
            provider_id: String::new(),
            name: call.tool.clone(),
            arguments: call.arguments.clone(),
        };
        let mut transcript = Transcript::default();
        if let Some(task) = &call.task {
            transcript
                .push_user(turn, Label::BOTTOM, UserMessage::person(task.clone()))
                .map_err(|cause| RuntimeError::Transcript { session, cause })?;
        }
        let mut provenance = Provenance::default();
        provenance.read(&shared.integrity, &transcript, &registry);
        let known = provenance.before_each(&shared.integrity, [&tool_call], &registry);
        let trial = Trial {
            shared,
            registry,
            session,
            user: call.user.clone(),
            role,
            taint: Taint::new(call.taint),
            clearance: clearance_without_models(shared, &call.user)?,
            attended: call.attended,
            known,
        };
        let trial = trial.ready();
        let (evaluation, told, problem) = trial.calls().simulated(&tool_call).await;
        let integrity = trial.known(&tool_call.id).and_then(|known| {
            let policy = &trial.registry().get(&tool_call.name)?.definition().policy;
            Some(known.ledger.judge(policy, &known.arguments))
        });
        Ok(Simulation {
            evaluation,
            told,
            problem,
            integrity,
        })
    }
}
