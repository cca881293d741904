//! Placeholder.
/// A tool made of an async function.
pub struct TypedTool {}
