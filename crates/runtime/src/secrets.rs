//! Secrets: their values come from variables and private files, go into the arguments of calls that may have them, and
//! are taken out of everything that comes back.

use crate::config::{Configuration, SecretSettings};
use crate::private_file::{self, Unusable};
use secrecy::SecretString;
use std::path::Path;
use tidegate_policy::{Scrubbed, Scrubber, SecretName, SecretScope, SecretScopes, SecretValues};

/// What all sessions share of secrets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) values: SecretValues,
    scrubber: Option<Scrubber>,
}

impl Secrets {
    pub(crate) fn new(values: SecretValues) -> Self {
        let scrubber = values.names().next().is_some().then(|| values.scrubber());
        Self { values, scrubber }
    }

    /// The text without the value of any secret, and which ones were in it.
    pub(crate) fn scrubbed(&self, text: String) -> Scrubbed {
        match &self.scrubber {
            Some(scrubber) => scrubber.text(&text),
            None => Scrubbed {
                text,
                names: Vec::new(),
            },
        }
    }

    /// The text without the value of any secret, in whatever form.
    pub(crate) fn scrub(&self, text: &mut String) {
        if let Some(scrubber) = &self.scrubber {
            let scrubbed = scrubber.text(text);
            if !scrubbed.names.is_empty() {
                *text = scrubbed.text;
            }
        }
    }
}

/// A secret of the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("secrets{}: {problem}", name.as_ref().map_or_else(String::new, |name| format!(".{name}")))]
pub struct SecretsError {
    /// Its name in the configuration; none where `problem` says it.
    pub name: Option<String>,
    /// What is wrong and what to do.
    pub problem: String,
    /// Why, if something else failed.
    #[source]
    pub cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl SecretsError {
    fn new(name: &str, problem: impl Into<String>) -> Self {
        Self {
            name: Some(name.to_owned()),
            problem: problem.into(),
            cause: None,
        }
    }
}

/// Where the configured secrets may go.
pub(crate) fn scopes(configuration: &Configuration) -> Result<SecretScopes, SecretsError> {
    let mut scopes = Vec::new();
    for (name, settings) in &configuration.secrets {
        let scope = SecretScope {
            tools: settings.tools.clone(),
            arguments: settings.arguments.clone(),
            hosts: settings.hosts.clone(),
        };
        scopes.push((parsed(name)?, scope));
    }
    SecretScopes::new(scopes).map_err(|error| SecretsError {
        name: None,
        problem: error.to_string(),
        cause: None,
    })
}

/// The values of the configured secrets, as far as they are there. One that is not set is told of when a call needs it.
pub(crate) fn values(
    configuration: &Configuration,
    base: Option<&Path>,
    variables: &[(String, String)],
) -> Result<SecretValues, SecretsError> {
    let mut values = SecretValues::default();
    for (name, settings) in &configuration.secrets {
        let Some(value) = value(name, settings, base, variables)? else {
            continue;
        };
        let secret = parsed(name)?;
        values
            .insert(secret, value)
            .map_err(|error| SecretsError::new(name, error.to_string()))?;
    }
    Ok(values)
}

fn parsed(name: &str) -> Result<SecretName, SecretsError> {
    name.parse()
        .map_err(|error: tidegate_policy::IdError| SecretsError::new(name, error.to_string()))
}

fn value(
    name: &str,
    settings: &SecretSettings,
    base: Option<&Path>,
    variables: &[(String, String)],
) -> Result<Option<SecretString>, SecretsError> {
    match (&settings.env, &settings.file) {
        (Some(_), Some(_)) => Err(SecretsError::new(
            name,
            "both env and file are set; keep the one that holds the value",
        )),
        (None, None) => Err(SecretsError::new(
            name,
            "neither env nor file is set; name the variable or the private file that holds the value",
        )),
        (Some(variable), None) => {
            let found = variables.iter().find(|(known, _)| known == variable);
            Ok(found.map(|(_, value)| SecretString::from(value.as_str())))
        }
        (None, Some(file)) => {
            let path = base.map_or_else(|| Path::new(file).to_path_buf(), |base| base.join(file));
            let shown = path.display();
            let text = private_file::read(&path).map_err(|unusable| match unusable {
                Unusable::Unreadable(cause) => SecretsError {
                    name: Some(name.to_owned()),
                    problem: format!("the file {shown} cannot be read; put the secret there, or change file"),
                    cause: Some(cause.into()),
                },
                Unusable::NoFile => {
                    SecretsError::new(name, format!("{shown} is no file; name one that holds it"))
                }
                Unusable::Shared => SecretsError::new(
                    name,
                    format!("the file {shown} can be read by others; run: chmod 600 {shown}"),
                ),
            })?;
            Ok(Some(SecretString::from(text.trim_end_matches(['\r', '\n']))))
        }
    }
}
