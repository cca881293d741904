//! What stands for a file that is not in the context whole.

use crate::PromptError;
use crate::templates::{SmartContextBlock, TemplateName, Templates};
use tidegate_policy::{Label, SourceId};

/// A file, as a block in the place of its content: what it is, what it says in short, and how to ask for more.
///
/// ```
/// use tidegate_policy::Label;
/// use tidegate_prompt::{SmartContext, Templates};
///
/// let file = SmartContext {
///     filename: "tides.pdf".to_owned(),
///     mime_type: "application/pdf".to_owned(),
///     mode: "VECTORIZED_SUM_UP".to_owned(),
///     source_id: "U_abc123_C_xyz789_T_1748246400".into(),
///     label: Label::BOTTOM,
///     summary: Some("Tables of high water.".to_owned()),
///     why: None,
/// };
/// let block = file.render(&Templates::builtin()?)?;
/// assert!(block.starts_with("<smart_context filename=\"tides.pdf\""));
/// # Ok::<(), tidegate_prompt::PromptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmartContext {
    /// The name of the file, as it was given.
    pub filename: String,
    /// Its media type.
    pub mime_type: String,
    /// What became of it: the name of its state.
    pub mode: String,
    /// Under which source it is searched.
    pub source_id: SourceId,
    /// Its label. The message that carries the block has to carry it too.
    pub label: Label,
    /// What it says in short, where that is known.
    pub summary: Option<String>,
    /// Why it cannot be used, if so.
    pub why: Option<String>,
}

impl SmartContext {
    /// The block. Nothing in the file's name or summary can close it.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn render(&self, templates: &Templates) -> Result<String, PromptError> {
        templates.render(TemplateName::SmartContext, SmartContextBlock::new(self))
    }
}
