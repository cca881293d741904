//! What a model hub says about a model.

use super::download::Sum;
use crate::{EmbedError, ManifestKind, Pooling};
use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tidegate_http::{below, is_transient, printable, read_up_to, root_cause, shown};
use url::Url;

/// The hub, unless another is configured. A mirror with the same addresses below its own will do.
pub const DEFAULT_HUB: &str = "https://huggingface.co";

/// A list of files is not longer.
const MOST_LISTING_BYTES: usize = 8 << 20;

/// A model that is fetched from a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubModel {
    /// The name of its folder.
    pub name: String,
    /// What it is.
    pub kind: ManifestKind,
    /// The model's own name.
    pub model: String,
    /// The repository, as in `owner/model`.
    pub repository: String,
    /// The branch, tag or commit. It is resolved to a commit once, and all files are of that commit.
    pub revision: String,
    /// The files.
    pub files: Vec<HubFile>,
    /// How its vectors are pooled, where its files do not say it.
    pub pooling: Option<Pooling>,
}

/// A file of a model on a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// Its path, in the repository and in the folder.
    pub path: String,
    /// Whether the model can do without.
    pub is_optional: bool,
    /// Its SHA-256, if one is known beforehand. It counts more than what the hub says.
    pub sha256: Option<String>,
}

impl HubFile {
    /// A file without which there is no model.
    pub fn needed(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            is_optional: false,
            sha256: None,
        }
    }

    /// A file that is fetched if it is there.
    pub fn optional(path: &str) -> Self {
        Self {
            is_optional: true,
            ..Self::needed(path)
        }
    }
}

/// A file that will be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) url: Url,
    pub(super) bytes: u64,
    pub(super) sum: Sum,
}

/// A model's files at one commit.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) commit: String,
    pub(super) files: Vec<Listed>,
}

#[derive(Deserialize)]
struct Revision {
    sha: String,
}

#[derive(Deserialize)]
struct Entry {
    path: String,
    size: u64,
    /// Git's hash of the content; of a large file, of a pointer to it.
    oid: String,
    lfs: Option<Large>,
}

/// What is stored beside the repository.
#[derive(Deserialize)]
struct Large {
    /// SHA-256.
    oid: String,
    size: u64,
}

impl HubModel {
    /// Asks the hub for the commit and its files.
    pub(super) async fn list(&self, client: &Client, hub: &Url) -> Result<Listing, EmbedError> {
        let model = &self.repository;
        let revision = below(hub, &format!("api/models/{model}/revision/{}", self.revision));
        let Revision { sha: commit } = self.ask(client, revision).await?;
        let tree = below(hub, &format!("api/models/{model}/tree/{commit}"));
        let mut with_folders = tree.clone();
        with_folders.set_query(Some("recursive=true"));
        let entries: Vec<serde_json::Value> = self.ask(client, with_folders).await?;
        // Folders have no size; whatever else is no file is none of ours.
        let entries: Vec<Entry> = entries
            .into_iter()
            .filter_map(|entry| serde_json::from_value(entry).ok())
            .collect();
        let mut files = Vec::new();
        for file in &self.files {
            let Some(entry) = entries.iter().find(|entry| entry.path == file.path) else {
                if file.is_optional {
                    continue;
                }
                let problem = format!("{model} has no {} at {commit}; has it been renamed?", file.path);
                return Err(self.failed(&tree, problem, None));
            };
            let (bytes, of_hub) = match &entry.lfs {
                Some(large) => (large.size, Sum::Sha256(large.oid.clone())),
                None => (entry.size, Sum::Git(entry.oid.clone())),
            };
            files.push(Listed {
                path: file.path.clone(),
                url: below(hub, &format!("{model}/resolve/{commit}/{}", file.path)),
                bytes,
                sum: file.sha256.clone().map_or(of_hub, Sum::Sha256),
            });
        }
        Ok(Listing { commit, files })
    }

    async fn ask<T: DeserializeOwned>(&self, client: &Client, url: Url) -> Result<T, EmbedError> {
        let response = client.get(url.clone()).send().await.map_err(|cause| {
            let problem = format!(
                "it cannot be reached ({}); is there a network, and is it the hub's address? Another one: --hub URL or \
                 [memory] model_hub",
                root_cause(&cause)
            );
            self.failed(&url, problem, Some(Box::new(cause.without_url())))
        })?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.failed(&url, refusal(status), None));
        }
        let body = read_up_to(response, MOST_LISTING_BYTES).await.map_err(|cause| {
            let problem = format!("the connection broke ({}); try again", root_cause(&cause));
            self.failed(&url, problem, Some(Box::new(cause.without_url())))
        })?;
        serde_json::from_slice(&body).map_err(|cause| {
            let begins = printable(&String::from_utf8_lossy(&body), 80);
            let problem = format!(
                "what it answers is no list of files, and begins with {begins:?}; is it a model hub?"
            );
            self.failed(&url, problem, Some(Box::new(cause)))
        })
    }

    fn failed(&self, url: &Url, problem: String, cause: Option<crate::Cause>) -> EmbedError {
        EmbedError::Hub {
            what: self.name.clone(),
            url: shown(url),
            problem,
            cause,
        }
    }
}

/// What a status means here, as a clause.
pub(super) fn refusal(status: reqwest::StatusCode) -> String {
    let advice = match status.as_u16() {
        401 | 403 => {
            "it wants somebody to be signed in, which is not done here; fetch the files otherwise and name \
                      their folder as model_dir"
        }
        404 => "there is no such thing there; check the hub's address",
        _ if is_transient(status) => "try again later",
        _ => "check the hub's address",
    };
    format!("it answers with HTTP {}; {advice}", status.as_u16())
}
