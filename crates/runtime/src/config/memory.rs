//! What can be configured of the memories: `[memory]`, `[memory.remote]`, `[memory.index]`.

use super::model::LevelName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use tidegate_memory::Recall;
use tidegate_policy::{Classification, default_provider_clearance};
use url::Url;

/// The memories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemorySettings {
    /// Whether there are memories: their tools, recall at the beginning of a turn, and their jobs. Default true.
    #[schemars(extend("x-hot" = false))]
    pub enabled: bool,
    /// What makes vectors of texts: `auto`, `bge-m3`, `minilm`, `hashed` (no model), `openai:MODEL` (the endpoint of
    /// `[memory.remote]`), or the name of another local model. `auto` is the model the memories were embedded with, else
    /// that of `model_dir`, else a fetched bge-m3, else a fetched minilm, else `hashed`; it never downloads and is never
    /// remote. Default `auto`.
    #[schemars(with = "String", extend("x-hot" = false))]
    pub embedder: EmbedderChoice,
    /// A folder with a model, relative to the configuration file. Default: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("x-hot" = false))]
    pub model_dir: String,
    /// From where `tidegate models fetch` gets models that are not in a package registry. Default: the public hub of the
    /// model.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("x-hot" = false))]
    pub model_hub: String,
    /// Up to which level is recalled: `at_or_below` what can flow to the session's taint; `escalate` what can flow to its
    /// clearance, which raises the taint. Default `at_or_below`.
    #[schemars(with = "RecallName", extend("x-hot" = false))]
    pub recall: Recall,
    /// Memories recalled at the beginning of a turn, at most; 0 recalls none by itself. Default 8.
    #[schemars(range(max = 100), extend("x-hot" = true))]
    pub recall_limit: usize,
    /// Characters of all memories recalled at the beginning of a turn, at most: those that fit least are left out.
    /// Default 4000.
    #[schemars(range(min = 100, max = 1_000_000), extend("x-hot" = true))]
    pub recall_max_chars: usize,
    /// Milliseconds that recall at the beginning of a turn may take; then the turn goes on without it. Default 2000.
    #[schemars(range(min = 1, max = 600_000), extend("x-hot" = true))]
    pub recall_timeout_ms: u64,
    /// The groups of memories that are suggested to models. Default "alignment profile" and "learned hypotheses".
    #[schemars(extend("x-hot" = false))]
    pub artifact_names: Vec<String>,
    /// Days a memory of importance 1 to 5 lives unless it is renewed. Default 30, 60, 180, 365, 540.
    #[schemars(extend("x-hot" = false))]
    pub lifetime_days: [u32; 5],
    /// Whether a memory lives on from the day it was recalled and the turn came to an answer. Default true.
    #[schemars(extend("x-hot" = true))]
    pub renew: bool,
    /// Whether small memories that belong together are made one, once a day while the program runs. `tidegate memory
    /// consolidate` does it by hand. Default true.
    #[schemars(extend("x-hot" = true))]
    pub consolidate: bool,
    /// Whether the auxiliary model proposes memories of what was said, without anybody asking: that fills a store easily.
    /// Default false.
    #[schemars(extend("x-hot" = true))]
    pub extract: bool,
    /// After how many messages of persons and models it does; they are what it looks at. The turn that makes the number
    /// full ends when it is done. Default 20.
    #[schemars(range(min = 2, max = 1_000), extend("x-hot" = true))]
    pub extract_every: usize,
    /// Tokens of a chunk of a large text, at most; fewer where the embedder sees fewer. Default 256.
    #[schemars(range(min = 16, max = 8_192), extend("x-hot" = false))]
    pub chunk_tokens: usize,
    /// Characters from which on a tool result is put aside where it can be searched, once the conversation takes about
    /// 30 % of the model's window; 0 puts none aside. Default 4000.
    #[schemars(range(max = 100_000_000), extend("x-hot" = true))]
    pub put_aside_chars: usize,
    /// The endpoint of `openai:MODEL`.
    pub remote: MemoryRemoteSettings,
    /// The index of vectors.
    pub index: MemoryIndexSettings,
}

impl Default for MemorySettings {
    fn default() -> Self {
        let usual = tidegate_memory::MemorySettings::default();
        Self {
            enabled: true,
            embedder: EmbedderChoice::Auto,
            model_dir: String::new(),
            model_hub: String::new(),
            recall: usual.recall,
            recall_limit: 8,
            recall_max_chars: 4_000,
            recall_timeout_ms: 2_000,
            artifact_names: usual.artifact_names,
            lifetime_days: usual.lifetime_days,
            renew: true,
            consolidate: true,
            extract: false,
            extract_every: tidegate_memory::Extraction::default().every,
            chunk_tokens: usual.chunk_tokens,
            put_aside_chars: 4_000,
            remote: MemoryRemoteSettings::default(),
            index: MemoryIndexSettings::default(),
        }
    }
}

impl MemorySettings {
    /// What the library is told of it.
    pub fn for_library(&self) -> tidegate_memory::MemorySettings {
        tidegate_memory::MemorySettings {
            recall: self.recall,
            artifact_names: self.artifact_names.clone(),
            lifetime_days: self.lifetime_days,
            chunk_tokens: self.chunk_tokens,
            ..tidegate_memory::MemorySettings::default()
        }
    }
}

/// Which embedder is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum EmbedderChoice {
    /// The best that is there: see [`MemorySettings::embedder`].
    #[default]
    Auto,
    /// bge-m3, in the process.
    BgeM3,
    /// all-MiniLM-L6-v2, in the process.
    Minilm,
    /// No model: hashed words.
    Hashed,
    /// This model of an OpenAI-compatible endpoint.
    Openai(String),
    /// Another model in the process, by its name.
    Named(String),
}

impl From<String> for EmbedderChoice {
    fn from(text: String) -> Self {
        match text.as_str() {
            "auto" => Self::Auto,
            "bge-m3" => Self::BgeM3,
            "minilm" => Self::Minilm,
            "hashed" => Self::Hashed,
            _ => match text.strip_prefix("openai:") {
                Some(model) => Self::Openai(model.to_owned()),
                None => Self::Named(text),
            },
        }
    }
}

impl FromStr for EmbedderChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.to_owned().into())
    }
}

impl From<EmbedderChoice> for String {
    fn from(choice: EmbedderChoice) -> Self {
        choice.to_string()
    }
}

impl fmt::Display for EmbedderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::BgeM3 => f.write_str("bge-m3"),
            Self::Minilm => f.write_str("minilm"),
            Self::Hashed => f.write_str("hashed"),
            Self::Openai(model) => write!(f, "openai:{model}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// The endpoint of a remote embedder. It is a sink: texts above its clearance are not sent there, and are found by their
/// words alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryRemoteSettings {
    /// The address up to and including `/v1`. Needed for `openai:MODEL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub base_url: Option<String>,
    /// The name of the variable that holds the key; never the key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub api_key_env: Option<String>,
    /// A file that holds the key and that its owner alone can read, relative to the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub api_key_file: Option<String>,
    /// The highest level that may be sent there. Default: RESTRICTED for loopback addresses, INTERNAL for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LevelName>", extend("x-hot" = false))]
    pub clearance: Option<Classification>,
    /// Values of a vector, where the model can be asked for fewer. Default: what the model gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536), extend("x-hot" = false))]
    pub dimensions: Option<usize>,
}

impl MemoryRemoteSettings {
    /// The clearance in effect.
    pub fn effective_clearance(&self) -> Classification {
        self.clearance
            .unwrap_or_else(|| clearance_of(self.base_url.as_deref()))
    }
}

/// Which index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryIndexKind {
    /// Embedded if it is built in, else exact.
    #[default]
    Auto,
    /// None: everything is searched exactly.
    Exact,
    /// Qdrant's engine in the process.
    Embedded,
    /// A Qdrant server or cluster.
    Server,
}

/// The index of vectors. It is derived from the records and can be rebuilt: `tidegate memory reindex`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryIndexSettings {
    /// Which: `auto` (embedded if it is built in, else exact), `exact`, `embedded` or `server`. Default `auto`.
    #[schemars(extend("x-hot" = false))]
    pub kind: MemoryIndexKind,
    /// `server`: its gRPC address. Default "http://127.0.0.1:6334".
    #[schemars(extend("x-hot" = false))]
    pub url: String,
    /// `server`: the name of the variable that holds the key; never the key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub api_key_env: Option<String>,
    /// `server`: a file that holds the key and that its owner alone can read, relative to the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub api_key_file: Option<String>,
    /// `server`: the highest level that may be sent there; what is above it is searched in the process. Default:
    /// RESTRICTED for loopback addresses, INTERNAL for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LevelName>", extend("x-hot" = false))]
    pub clearance: Option<Classification>,
    /// `server`: copies of each shard, for new collections. Default 1.
    #[schemars(range(min = 1, max = 64), extend("x-hot" = false))]
    pub replication: u32,
    /// `server`: shards, for new collections. Default 1.
    #[schemars(range(min = 1, max = 1_024), extend("x-hot" = false))]
    pub shards: u32,
}

impl Default for MemoryIndexSettings {
    fn default() -> Self {
        Self {
            kind: MemoryIndexKind::default(),
            url: "http://127.0.0.1:6334".to_owned(),
            api_key_env: None,
            api_key_file: None,
            clearance: None,
            replication: 1,
            shards: 1,
        }
    }
}

impl MemoryIndexSettings {
    /// The clearance in effect, of a server.
    pub fn effective_clearance(&self) -> Classification {
        self.clearance
            .unwrap_or_else(|| clearance_of(Some(self.url.as_str())))
    }
}

fn clearance_of(address: Option<&str>) -> Classification {
    address
        .and_then(|url| Url::parse(url).ok())
        .map_or(Classification::Internal, |url| default_provider_clearance(&url))
}

/// What is wrong with the section: the key in it, and what is valid.
pub(super) fn check(memory: &MemorySettings) -> Result<(), (&'static str, String)> {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    for (key, value, range) in [
        ("recall_limit", count(memory.recall_limit), 0..=100),
        (
            "recall_max_chars",
            count(memory.recall_max_chars),
            100..=1_000_000,
        ),
        ("recall_timeout_ms", memory.recall_timeout_ms, 1..=600_000),
        ("chunk_tokens", count(memory.chunk_tokens), 16..=8_192),
        ("extract_every", count(memory.extract_every), 2..=1_000),
        ("put_aside_chars", count(memory.put_aside_chars), 0..=100_000_000),
        ("index.replication", u64::from(memory.index.replication), 1..=64),
        ("index.shards", u64::from(memory.index.shards), 1..=1_024),
        (
            "remote.dimensions",
            count(memory.remote.dimensions.unwrap_or(1)),
            1..=65_536,
        ),
    ] {
        if !range.contains(&value) {
            let message = format!(
                "{value} is out of range; write {} to {}",
                range.start(),
                range.end()
            );
            return Err((key, message));
        }
    }
    if memory.lifetime_days.contains(&0) {
        return Err(("lifetime_days", "a memory lives for 1 day at least".into()));
    }
    if memory.artifact_names.iter().any(|name| name.trim().is_empty()) {
        return Err(("artifact_names", "a group has a name that is not blank".into()));
    }
    match &memory.embedder {
        EmbedderChoice::Openai(model) if model.trim().is_empty() => {
            return Err((
                "embedder",
                "name the model, as in openai:text-embedding-3-small".into(),
            ));
        }
        EmbedderChoice::Openai(_) if memory.remote.base_url.is_none() => {
            let message =
                "an openai embedder needs base_url in [memory.remote], as in http://127.0.0.1:8080/v1";
            return Err(("embedder", message.into()));
        }
        EmbedderChoice::Named(name) if name.trim().is_empty() => {
            return Err((
                "embedder",
                "write auto, bge-m3, minilm, hashed, openai:MODEL or the name of a model".into(),
            ));
        }
        EmbedderChoice::Auto
        | EmbedderChoice::BgeM3
        | EmbedderChoice::Minilm
        | EmbedderChoice::Hashed
        | EmbedderChoice::Openai(_)
        | EmbedderChoice::Named(_) => {}
    }
    if let Some(url) = &memory.remote.base_url {
        address(url).map_err(|message| ("remote.base_url", message))?;
    }
    address(&memory.index.url).map_err(|message| ("index.url", message))
}

fn address(text: &str) -> Result<(), String> {
    match Url::parse(text) {
        // It would be shown wherever the address is.
        Ok(url) if !url.username().is_empty() || url.password().is_some() => Err(
            "an address here has no user name or password in it; name the key with api_key_env or api_key_file"
                .into(),
        ),
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(()),
        Ok(url) => Err(format!("{} is no http or https address", url.scheme())),
        Err(error) => Err(format!("{text:?} is no address: {error}")),
    }
}

/// How far is recalled, for the schema alone.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "its variants stand for the names in the schema")]
enum RecallName {
    AtOrBelow,
    Escalate,
}
