//! Putting the values of secrets into a call, after everything about it was judged.

use super::{Calls, guarded};
use serde_json::Value;
use tidegate_message::{EventKind, ToolCall};
use tidegate_policy::{Flow, Resource, ResourceKind, SecretFlow, placeholders};
use tidegate_store::NewEvent;
use tidegate_tools::{CallContext, PreparedCall, ToolDefinition};

/// A call that was judged and may run.
pub(super) struct SecretCall<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) definition: &'a ToolDefinition,
    pub(super) arguments: &'a Value,
    pub(super) resources: &'a [Resource],
    pub(super) granted: bool,
}

impl Calls<'_> {
    /// The call prepared anew with the values of the secrets it names; none if it names none. Else what the model is
    /// told.
    pub(super) async fn with_secrets(
        &self,
        subject: &SecretCall<'_>,
        context: &CallContext,
        events: &mut Vec<NewEvent>,
    ) -> Result<Option<Box<dyn PreparedCall>>, String> {
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
                return Err(told);
            }
        }
        let values = &self.shared.secrets.values;
        let substituted = gate
            .secrets()
            .substitute(arguments, &definition.policy, resources, values)
            .map_err(|error| format!("The call was not run: {error}"))?;
        let Some(tool) = self.offered(&call.name) else {
            return Err("The call was not run: its tool is not offered any more.".into());
        };
        let Value::Object(with_values) = substituted.into_exposed() else {
            return Err("The call was not run: its arguments are no object.".into());
        };
        let prepared = guarded(tool.prepare(with_values, context))
            .await
            .map_err(|error| {
                let mut told = error.message;
                self.shared.secrets.scrub(&mut told);
                told
            })?;
        // What was judged and granted is what runs: a value decides nothing about what is touched.
        if prepared.resources() != resources {
            return Err(
                "The call was not run: with its secrets in place it would touch something else.".into(),
            );
        }
        Ok(Some(prepared))
    }
}
