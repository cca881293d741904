//! Keys of services: in a variable or in a file that its owner alone can read; never in the configuration.

use crate::private_file::{self, Unusable};
use std::io;
use std::path::{Path, PathBuf};

/// Where a key is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPlace<'a> {
    /// `api_key_env`.
    pub(crate) variable: Option<&'a str>,
    /// `api_key_file`.
    pub(crate) file: Option<&'a str>,
    /// The folder of the configuration file, beside which relative ones stand.
    pub(crate) base: Option<&'a Path>,
}

/// There is no such key.
#[derive(Debug)]
pub(crate) struct NoKey {
    /// What is wrong and what to do.
    pub(crate) message: String,
    pub(crate) cause: Option<io::Error>,
}

impl KeyPlace<'_> {
    /// The file, if there is to be one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let file = self.file?;
        Some(
            self.base
                .map_or_else(|| PathBuf::from(file), |base| base.join(file)),
        )
    }

    /// The key; none if none is wanted.
    pub(crate) fn read(&self, variables: &[(String, String)]) -> Result<Option<String>, NoKey> {
        let refused = |message| NoKey { message, cause: None };
        let (place, key) = match (self.variable, self.path()) {
            (Some(name), _) => {
                let place = format!("variable {name} (api_key_env)");
                let Some((_, key)) = variables.iter().find(|(known, _)| known == name) else {
                    return Err(refused(format!(
                        "{place} is not set; set it to the provider's key, or remove api_key_env if it needs none"
                    )));
                };
                (place, key.clone())
            }
            (None, Some(path)) => (format!("the key file {}", path.display()), key_file(&path)?),
            (None, None) => return Ok(None),
        };
        let key = key.trim();
        if key.is_empty() {
            return Err(refused(format!("{place} is empty; put the provider's key there")));
        }
        if !key.chars().all(|character| character.is_ascii_graphic()) {
            return Err(refused(format!(
                "{place} holds something that is no key: a key is one line of ASCII characters without spaces"
            )));
        }
        Ok(Some(key.to_owned()))
    }
}

fn key_file(path: &Path) -> Result<String, NoKey> {
    let shown = path.display();
    private_file::read(path).map_err(|unusable| match unusable {
        Unusable::Unreadable(error) => NoKey {
            message: format!(
                "the key file {shown} cannot be read; put the provider's key there, or change api_key_file"
            ),
            cause: Some(error),
        },
        Unusable::NoFile => NoKey {
            message: format!(
                "the key file {shown} is no file; name one that holds the provider's key in api_key_file"
            ),
            cause: None,
        },
        Unusable::Shared => NoKey {
            message: format!("the key file {shown} can be read by others; run: chmod 600 {shown}"),
            cause: None,
        },
    })
}
