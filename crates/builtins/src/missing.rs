//! What to say of a file that is not there.

use crate::error::Failure;
use crate::stop::Stop;
use crate::{FileError, Workspace};
use std::path::Path;
use tidegate_policy::{Classification, Label};
use tidegate_tools::nearest_name;

impl Workspace {
    /// The failure for `path`, of which `parent` is the innermost folder there is: with the most similar name there,
    /// if the session may know of it. What is above the clearance does not change the answer.
    pub(crate) fn missing(
        &self,
        path: &Path,
        parent: &Path,
        links: Label,
        clearance: Classification,
        stop: &Stop,
    ) -> Failure {
        let label = self.level(path).join(links);
        let missing = |nearest| FileError::Missing {
            path: path.to_owned(),
            nearest,
        };
        if !self.level(parent).can_flow_to(clearance) {
            return missing(None).labelled(label);
        }
        let entries = match self.entries(parent, clearance, stop) {
            Ok(entries) => entries,
            Err(failure) => return missing(None).labelled(label.join(failure.label)),
        };
        let wanted = path
            .strip_prefix(parent)
            .ok()
            .and_then(|rest| rest.iter().next())
            .unwrap_or_default();
        let names = entries.entries.iter().filter_map(|entry| entry.name().to_str());
        let nearest = nearest_name(&wanted.to_string_lossy(), names).map(|name| parent.join(name));
        missing(nearest).labelled(label.join(entries.label))
    }
}
