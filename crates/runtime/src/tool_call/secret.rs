//! Putting the values of secrets into a call, after everything about it was judged.

use super::Calls;
use super::resolve::Unresolved;
use serde_json::Value;
use tidegate_message::{EventKind, ToolCall};
use tidegate_policy::{Flow, Resource, ResourceKind, SecretFlow, placeholders};
use tidegate_store::NewEvent;
use tidegate_tools::{CallContext, PreparedCall, ToolDefinition, ToolError};

/// A call that was judged and may run.
pub(super) struct SecretCall<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) definition: &'a ToolDefinition,
    pub(super) arguments: &'a Value,
    pub(super) resources: &'a [Resource],
    pub(super) granted: bool,
}

/// Why a call cannot have its secrets.
pub(super) enum WithoutSecrets {
    /// It may not; the model is told this.
    Denied(String),
    /// Its tool failed with them.
    Failed(ToolError),
    /// The turn was cancelled. Nothing has happened yet.
    Cancelled,
}

impl Calls<'_> {
    /// The call prepared anew with the values of the secrets it names; none if it names none.
    pub(super) async fn with_secrets(
        &self,
        subject: &SecretCall<'_>,
        context: &CallContext,
        events: &mut Vec<NewEvent>,
    ) -> Result<Option<Box<dyn PreparedCall>>, WithoutSecrets> {
        let SecretCall {
            call,
            definition,
            arguments,
            resources,
            granted,
        } = *subject;
        // Nearly no call has one.
        if !call.arguments.contains("secret:") {
            return Ok(None);
        }
        let found = placeholders(arguments);
        if found.is_empty() {
            return Ok(None);
        }
        let gate = &self.shared.gate;
        let hosts: Vec<String> = resources
            .iter()
            .map(Resource::what)
            .filter(|what| what.kind == ResourceKind::Url)
            .map(|what| what.name.to_ascii_lowercase())
            .collect();
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        for placeholder in &found {
            let flow = SecretFlow {
                secret: placeholder.secret.as_str(),
                tool: call.name.as_str(),
                argument: &placeholder.argument,
                hosts: &hosts,
                granted,
            };
            let evaluation = gate.judge(Flow::SecretAccess(&flow), self.facts(&call.id));
            let refused = (!evaluation.is_allowed()).then(|| evaluation.for_model());
            let kind = EventKind::FlowJudged {
                call: Some(call.id.clone()),
                tool: Some(call.name.clone()),
                evaluation,
            };
            events.push(self.event(self.produced_by, kind));
            if let Some(told) = refused {
                return Err(WithoutSecrets::Denied(told));
            }
        }
        let values = &self.shared.secrets.values;
        let substituted = gate
            .secrets()
            .substitute(arguments, &definition.policy, resources, values)
            .map_err(|error| WithoutSecrets::Denied(format!("The call was not run: {error}")))?;
        let (Some(tool), Value::Object(with_values)) = (self.offered(&call.name), substituted.into_exposed())
        else {
            let told = "The call was not run: its tool is not offered any more.";
            return Err(WithoutSecrets::Denied(told.into()));
        };
        let prepared = match self.prepare(&**tool, with_values, context).await {
            Ok(prepared) => prepared,
            Err(Unresolved::Failed { error, .. }) => return Err(WithoutSecrets::Failed(error)),
            Err(Unresolved::Refused { told, .. }) => return Err(WithoutSecrets::Denied(told)),
            Err(Unresolved::Cancelled) => return Err(WithoutSecrets::Cancelled),
        };
        // What was judged and granted is what runs: a value decides nothing about what is touched.
        if prepared.resources() != resources {
            let told = "The call was not run: with its secrets in place it would touch something else.";
            return Err(WithoutSecrets::Denied(told.into()));
        }
        Ok(Some(prepared))
    }
}
