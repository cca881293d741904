//! Asking a server which models it has.

use super::Endpoint;
use crate::{ErrorClass, ProviderError};
use reqwest::Response;
use reqwest::header::{ACCEPT, AUTHORIZATION};
use serde::Deserialize;
use tidegate_http::shown;

/// The longest list that is read, in bytes.
const LONGEST_LIST: usize = 8 * 1024 * 1024;

/// What `GET /models` answers, as far as it is needed.
#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

impl Endpoint {
    /// The names of the models, in the server's order; none if it answers but lists no models there.
    pub(in crate::openai) async fn models(&self) -> Result<Option<Vec<String>>, ProviderError> {
        let mut url = self.config.base_url.clone();
        url.set_path(&format!("{}/models", url.path().trim_end_matches('/')));
        url.set_fragment(None);
        let mut request = self.client()?.get(url).header(ACCEPT, "application/json");
        if let Some(key) = &self.config.api_key {
            request = request.header(AUTHORIZATION, self.bearer(key)?);
        }
        let response = request.send().await.map_err(|error| self.not_sent(error))?;
        let status = response.status();
        match status.as_u16() {
            200..300 => {}
            401 | 403 => return Err(self.key_refused(status.as_u16())),
            500.. => {
                let message = format!(
                    "{} answers, and fails (HTTP {status})",
                    shown(&self.config.base_url)
                );
                return Err(self.error(ErrorClass::Server, message));
            }
            // Not every server has this list.
            _ => return Ok(None),
        }
        let body = self.whole(response).await?;
        let Ok(List { data }) = serde_json::from_slice(&body) else {
            return Ok(None);
        };
        Ok(Some(data.into_iter().map(|listed| listed.id).collect()))
    }

    fn key_refused(&self, status: u16) -> ProviderError {
        let advice = if self.config.api_key.is_none() {
            "wants a key, and none was sent; set api_key_env or api_key_file"
        } else {
            "does not accept the key; check api_key_env or api_key_file"
        };
        let message = format!(
            "{} {advice} of [providers.{}] (HTTP {status})",
            shown(&self.config.base_url),
            self.id()
        );
        self.error(ErrorClass::Auth, message)
    }

    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, ProviderError> {
        let mut body = Vec::new();
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| self.broken(error, "in the middle of the list of models"))?;
            let Some(chunk) = chunk else {
                return Ok(body);
            };
            if body.len() + chunk.len() > LONGEST_LIST {
                return Err(self.malformed("its list of models is longer than 8 MiB"));
            }
            body.extend_from_slice(&chunk);
        }
    }
}
