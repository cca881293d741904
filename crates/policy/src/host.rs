//! Placeholder for host classification.
use crate::{Classification, Label};

/// What a URL is as a source and as a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlLabel {
    /// As a source.
    pub source: Label,
    /// As a sink: the whole URL is the payload, so a GET is a sink too.
    pub sink: Classification,
    /// The pattern that matched, as written; none for the default.
    pub pattern: Option<String>,
}

/// Classifies URLs by `[policy.hosts]`.
#[derive(Clone, Debug, Default)]
pub struct HostRules {}

/// A pattern that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("placeholder")]
pub struct HostRulesError {}
