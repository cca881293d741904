//! What can be asked of an open session besides its turns.

use crate::Session;
use std::path::Path;
use tidegate_message::ModelPolicy;
use tidegate_policy::ToolPolicy;

impl Session {
    /// How its model is chosen.
    pub fn model_policy(&self) -> &ModelPolicy {
        self.policy()
    }

    /// The folder its tools may reach, canonical.
    pub fn workspace(&self) -> &Path {
        &self.record.session.workspace
    }

    /// What its tools are to the policy, by name: those its user's role may use. The tool that changes the tier is
    /// not among them; it is the loop's own.
    pub fn tools(&self) -> Vec<ToolPolicy> {
        let names = self.registry.names(self.role);
        names
            .iter()
            .filter_map(|name| self.registry.get(name))
            .map(|tool| tool.definition().policy.clone())
            .collect()
    }
}
