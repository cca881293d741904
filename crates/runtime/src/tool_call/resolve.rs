//! Checks 1 to 3: whether a call is offered and fits, and what it touches.

use super::judge::unknown_tool;
use super::{Calls, Consent, guarded};
use serde_json::{Map, Value};
use std::sync::Arc;
use tidegate_message::ToolCall;
use tidegate_policy::{Admission, ArgumentCheck, Evaluation};
use tidegate_tools::{
    ArgumentsError, CallContext, Cancel as _, PreparedCall, Tool, ToolDefinition, ToolError,
};

/// A call that can be judged as a whole.
pub(super) struct Resolved<'a> {
    pub(super) definition: &'a ToolDefinition,
    /// The arguments, checked against the schema.
    pub(super) arguments: Value,
    pub(super) prepared: Box<dyn PreparedCall>,
}

/// Why a call came no further.
pub(super) enum Unresolved<'a> {
    /// The gate refuses it as it stands.
    Refused {
        /// For the record; it holds no content.
        evaluation: Box<Evaluation>,
        /// For the model.
        told: String,
    },
    /// What it names cannot be found or opened.
    Failed {
        definition: &'a ToolDefinition,
        error: ToolError,
    },
    /// The turn was cancelled. Nothing has happened yet.
    Cancelled,
}

impl Calls<'_> {
    /// Resolves a call. Nothing outside is changed by it.
    pub(super) async fn resolve(
        &self,
        call: &ToolCall,
        context: &CallContext,
    ) -> Result<Resolved<'_>, Unresolved<'_>> {
        let Some(tool) = self.offered(&call.name) else {
            let policy = unknown_tool(&call.name);
            let admission = Admission::NotOffered {
                available: self.registry.names(self.role),
            };
            let flow = self.flow_of(&policy, &admission, &ArgumentCheck::Valid, &[]);
            let evaluation = self.judge(call, &flow);
            return Err(Unresolved::Refused {
                told: evaluation.for_model(),
                evaluation: Box::new(evaluation),
            });
        };
        let definition = tool.definition();
        let arguments = self
            .registry
            .check(&call.name, &call.arguments)
            .map_err(|error| self.unfit(call, definition, &error))?;
        let kept = Value::Object(arguments.clone());
        let prepared = self.prepare(&**tool, arguments, context).await?;
        Ok(Resolved {
            definition,
            arguments: kept,
            prepared,
        })
    }

    /// Lets a tool resolve arguments that fit, within the time a call may take.
    pub(super) async fn prepare<'t>(
        &self,
        tool: &'t dyn Tool,
        arguments: Map<String, Value>,
        context: &CallContext,
    ) -> Result<Box<dyn PreparedCall>, Unresolved<'t>> {
        let definition = tool.definition();
        let limit = self.limit(definition);
        let preparing = tokio::select! {
            biased;
            ended = guarded(tool.prepare(arguments, context)) => ended,
            // Nothing has happened yet, so it can be dropped where it is.
            () = self.cancel.cancelled() => return Err(Unresolved::Cancelled),
            () = tokio::time::sleep(limit) => Err(ToolError::new(format!(
                "The call was not ready to run after {} s and was not run.",
                limit.as_secs()
            ))),
        };
        preparing.map_err(|error| Unresolved::Failed { definition, error })
    }

    /// A call that could be judged as a whole; none if it is not offered, does not fit or names nothing.
    pub(crate) async fn prepared(
        &self,
        call: &ToolCall,
    ) -> Option<(&ToolDefinition, Value, Box<dyn PreparedCall>)> {
        let resolved = self.resolve(call, &self.context(call)).await.ok()?;
        Some((resolved.definition, resolved.arguments, resolved.prepared))
    }

    fn context(&self, call: &ToolCall) -> CallContext {
        CallContext {
            session: self.session,
            turn: self.turn,
            call: call.id.clone(),
            label: self.produced_by,
            clearance: self.clearance,
            cancel: Arc::new(self.cancel.child()),
        }
    }

    /// Judges a call as if it were about to run: the answer, what a model would be told, and why what the call touches
    /// is not known, if it is not.
    pub(crate) async fn simulated(&self, call: &ToolCall) -> (Evaluation, String, Option<String>) {
        let (evaluation, problem) = match self.resolve(call, &self.context(call)).await {
            Ok(resolved) => {
                let Resolved {
                    definition,
                    arguments,
                    prepared,
                } = resolved;
                let resources = prepared.resources();
                (
                    self.judge_resolved(call, definition, &arguments, resources, Consent::None),
                    None,
                )
            }
            Err(Unresolved::Refused { evaluation, told }) => return (*evaluation, told, None),
            Err(Unresolved::Failed { definition, error }) => {
                let arguments = self
                    .registry
                    .check(&call.name, &call.arguments)
                    .unwrap_or_default();
                let arguments = Value::Object(arguments);
                let evaluation = self.judge_resolved(call, definition, &arguments, &[], Consent::None);
                (evaluation, Some(error.message))
            }
            Err(Unresolved::Cancelled) => {
                let policy = unknown_tool(&call.name);
                let flow = self.flow_of(&policy, &Admission::Offered, &ArgumentCheck::Valid, &[]);
                (self.judge(call, &flow), Some("it was cancelled".into()))
            }
        };
        let told = evaluation.for_model();
        (evaluation, told, problem)
    }

    /// The model is told its own words; the record, which holds no content, what kind of mistake it is.
    fn unfit(&self, call: &ToolCall, definition: &ToolDefinition, error: &ArgumentsError) -> Unresolved<'_> {
        let judged = |problem: String| {
            let check = ArgumentCheck::Invalid { problem };
            let flow = self.flow_of(&definition.policy, &Admission::Offered, &check, &[]);
            self.judge(call, &flow)
        };
        Unresolved::Refused {
            told: judged(error.to_string()).for_model(),
            evaluation: Box::new(judged(without_content(error).to_owned())),
        }
    }
}

/// The kind of mistake, without a word of the arguments.
fn without_content(error: &ArgumentsError) -> &'static str {
    match error {
        ArgumentsError::UnknownTool { .. } => "there is no such tool",
        ArgumentsError::Unparsable { .. } => "they are not one JSON object",
        ArgumentsError::Unfit { .. } => "an argument is missing, not known, or not of the form asked for",
    }
}
