//! Rendering.

use super::{TemplateName, check};
use crate::PromptError;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a rendering may cost: about as many instructions, and 64 bytes of text for each. The built-in templates
/// need 10 to 20 for each item they list and otherwise what their text costs; a loop over 10^9 numbers does not end in
/// it.
const FUEL: u64 = 1_000_000;

/// The templates, built in or overridden, compiled and checked. Cheap to clone.
///
/// Undefined values are errors, rendering is bounded, and no template can load another one, read a file or ask the time.
#[derive(Clone)]
pub struct Templates {
    environment: Arc<Environment<'static>>,
    overridden: Arc<[TemplateName]>,
}

impl Templates {
    /// The built-in templates.
    ///
    /// # Errors
    /// None that a test has not seen; they are checked like those of others.
    pub fn builtin() -> Result<Self, PromptError> {
        Self::with_overrides(&BTreeMap::new())
    }

    /// The built-in templates, except those in `overrides`: file name (`memory.j2`) to text. Each is compiled and tried
    /// with sample values.
    ///
    /// # Errors
    /// The first mistake in order of file names: a name that overrides nothing, a syntax error, a variable or an
    /// attribute that does not exist, work without end, or that it does not show what it is there for. Each error says the
    /// file and, where it has one, the line.
    pub fn with_overrides(overrides: &BTreeMap<String, String>) -> Result<Self, PromptError> {
        let mut overridden = Vec::new();
        for file in overrides.keys() {
            let name = TemplateName::of_file(file).ok_or_else(|| PromptError::UnknownTemplate {
                file: file.clone(),
                valid: TemplateName::ALL
                    .iter()
                    .map(|name| name.file())
                    .collect::<Vec<_>>()
                    .join(", "),
            })?;
            overridden.push(name);
        }
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Escaping is done to the values, by what they are, not by what a file is called.
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_fuel(Some(FUEL));
        for &name in TemplateName::ALL {
            let added = match overrides.get(name.file()) {
                Some(text) => environment.add_template_owned(name.file(), text.clone()),
                None => environment.add_template(name.file(), name.builtin()),
            };
            added.map_err(|cause| PromptError::TemplateSyntax {
                file: name.file().into(),
                line: cause.line().unwrap_or(1),
                what: described(&cause),
                cause: Box::new(cause),
            })?;
        }
        let templates = Self {
            environment: Arc::new(environment),
            overridden: overridden.into(),
        };
        for &name in TemplateName::ALL {
            check::check(
                &templates,
                name,
                overrides.get(name.file()).map_or(name.builtin(), String::as_str),
            )?;
        }
        Ok(templates)
    }

    /// Which ones are overridden, in the order of their file names.
    pub fn overridden(&self) -> &[TemplateName] {
        &self.overridden
    }

    /// The variables of a template, in alphabetical order.
    pub fn variables(name: TemplateName) -> Vec<String> {
        check::variables(name)
    }

    pub(super) fn environment(&self) -> &Environment<'static> {
        &self.environment
    }

    /// Renders `name`; without white space at the ends, which an editor may add or take.
    pub(crate) fn render(
        &self,
        name: TemplateName,
        variables: impl Serialize,
    ) -> Result<String, PromptError> {
        self.render_value(name, Value::from(Serde(variables)))
    }

    pub(super) fn render_value(&self, name: TemplateName, variables: Value) -> Result<String, PromptError> {
        let rendered = self
            .environment
            .get_template(name.file())
            .and_then(|template| template.render(variables));
        match rendered {
            Ok(text) => Ok(trimmed(text)),
            Err(cause) => Err(PromptError::TemplateRender {
                file: name.file().into(),
                line: cause.line().unwrap_or(1),
                what: described(&cause),
                valid: check::variables(name).join(", "),
                cause: Box::new(cause),
            }),
        }
    }
}

impl fmt::Debug for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Templates")
            .field("overridden", &self.overridden)
            .finish_non_exhaustive()
    }
}

/// The text without white space at its ends, and without a copy if there is none.
fn trimmed(text: String) -> String {
    let wanted = text.trim();
    if wanted.len() == text.len() {
        text
    } else {
        wanted.to_owned()
    }
}

fn described(error: &minijinja::Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => {
            "the template does not end, or makes far more text than a prompt can hold".into()
        }
        (ErrorKind::UndefinedError, None) => "a value that is not there is used".into(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    }
}
