//! Asking a configured provider whether it is there.

use crate::config::{Loaded, ProviderKind};
use crate::wiring::Setup;
use crate::{DataFolder, Runtime, RuntimeError};
use std::time::Duration;
use tidegate_message::ProviderId;
use tidegate_providers::OpenAi;

impl Runtime {
    /// Asks the configured provider `name` which models it has, within `timeout`, with its key and without any data.
    /// None if it answers and has no such list, and for kinds that are not asked over the network.
    ///
    /// # Errors
    /// [`RuntimeError::Provider`] if it is not configured, cannot be set up or reached, or does not accept the key.
    pub async fn models_of(
        loaded: &Loaded,
        data: &DataFolder,
        name: &str,
        variables: &[(String, String)],
        timeout: Duration,
    ) -> Result<Option<Vec<String>>, RuntimeError> {
        let Some(settings) = loaded.configuration.providers.get(name) else {
            return Err(RuntimeError::Provider {
                provider: ProviderId::new(name),
                message: "it is not configured".into(),
                cause: None,
            });
        };
        let setup = Setup::new(loaded, data, name, settings, variables);
        if settings.kind != ProviderKind::Openai {
            return setup.provider().map(|_| None);
        }
        let provider = OpenAi::new(setup.openai_config(timeout)?);
        provider.models().await.map_err(|error| RuntimeError::Provider {
            provider: ProviderId::new(name),
            message: error.message.clone(),
            cause: None,
        })
    }
}
