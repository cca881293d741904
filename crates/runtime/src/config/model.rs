//! What can be configured: one struct a section, each key with its default, unit and whether it is hot.
//!
//! "Hot" keys may take effect for the next turn without a restart; the others need one. The mark is in the
//! schema (`x-hot`), where `tidegate config schema` and the documentation read it.

use super::memory::MemorySettings;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidegate_policy::{ActionClass, ActionWords, Classification, Integrity, Role, TrustedFields};

/// Everything in `tidegate.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// Where models are, by name.
    pub providers: IndexMap<String, ProviderSettings>,
    /// Which models each tier uses.
    pub tiers: TierSettings,
    /// Optional facts about models, by `provider:model`.
    pub models: BTreeMap<String, ModelSettings>,
    /// The agent loop.
    pub agent: AgentSettings,
    /// Delegates. No effect in this version.
    pub delegate: Reserved,
    /// Session tools. No effect in this version.
    pub sessions: Reserved,
    /// Light sub-agents. No effect in this version.
    pub subagent: Reserved,
    /// The council. No effect in this version.
    pub council: Reserved,
    /// Prompts, and when long conversations are compacted.
    pub prompt: PromptSettings,
    /// Labels, sources and sinks.
    pub policy: PolicySettings,
    /// Secrets for tools, by name; a call uses one as `{{secret:NAME}}` in an argument.
    pub secrets: IndexMap<String, SecretSettings>,
    /// Channels. No effect in this version.
    pub channels: Reserved,
    /// The memories.
    pub memory: MemorySettings,
    /// The store.
    pub store: StoreSettings,
    /// Users, by name. The command line is user `local`.
    pub users: Users,
    /// The server. No effect in this version.
    pub server: Reserved,
    /// MCP servers. No effect in this version.
    pub mcp: Reserved,
}

/// A section that is known by name and read by a later version: anything in it is accepted, nothing has an
/// effect, and `tidegate config check` says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Reserved(#[schemars(with = "BTreeMap<String, serde_json::Value>")] pub toml::Table);

/// What speaks to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Chat Completions: OpenAI, Ollama, llama.cpp, vLLM, OpenRouter and others, by `base_url`.
    Openai,
    /// Google's Gemini. Not in this version.
    Gemini,
    /// Anthropic's Messages. Not in this version.
    Anthropic,
    /// Plays a scenario file.
    Scripted,
}

/// One provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    /// What it speaks.
    #[schemars(extend("x-hot" = false))]
    pub kind: ProviderKind,
    /// `openai`: the address up to and including `/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub base_url: Option<String>,
    /// The name of the variable that holds the key; never the key itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub api_key_env: Option<String>,
    /// A file that holds the key and that its owner alone can read, relative to the configuration file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub api_key_file: Option<String>,
    /// `scripted`: the scenario file, relative to the configuration file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(extend("x-hot" = false))]
    pub scenario: String,
    /// The highest level that may be sent there. Default: RESTRICTED for `scripted` and loopback addresses,
    /// INTERNAL for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LevelName>", extend("x-hot" = true))]
    pub clearance: Option<Classification>,
    /// Seconds one model call may take. Default 240.
    #[serde(default = "default_timeout_s")]
    #[schemars(range(min = 1, max = 86_400), extend("x-hot" = false))]
    pub timeout_s: u64,
    /// Model calls at once, over all sessions of the process. Default 8.
    #[serde(default = "default_max_concurrent")]
    #[schemars(range(min = 1, max = 1_024), extend("x-hot" = false))]
    pub max_concurrent: usize,
}

fn default_timeout_s() -> u64 {
    240
}

fn default_max_concurrent() -> usize {
    8
}

/// The models of each tier as `provider:model`: the first is used, the rest are its fallbacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TierSettings {
    /// Small and fast: where a session starts.
    #[schemars(extend("x-hot" = true))]
    pub lite: Vec<String>,
    /// The middle.
    #[schemars(extend("x-hot" = true))]
    pub flash: Vec<String>,
    /// The strongest.
    #[schemars(extend("x-hot" = true))]
    pub pro: Vec<String>,
    /// For summaries of long conversations. Without one, summaries are put together without a model.
    #[schemars(extend("x-hot" = true))]
    pub auxiliary: Vec<String>,
}

/// Facts about a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Tokens that fit into a request and its answer. Default 128000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = true))]
    pub context_window: Option<u64>,
    /// Money for a million tokens of input. No effect in this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = true))]
    pub price_input_per_mtok: Option<f64>,
    /// Money for a million tokens of output. No effect in this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = true))]
    pub price_output_per_mtok: Option<f64>,
}

/// The agent loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// How a new session's model is chosen: `auto`, `auto_pro`, a tier or `provider:model`. Default `auto`.
    #[schemars(extend("x-hot" = true))]
    pub model_policy: String,
    /// Rounds of a turn whose tool calls are run. Default 30.
    #[schemars(range(min = 1, max = 1_000), extend("x-hot" = true))]
    pub max_rounds: u32,
    /// Seconds one tool call may take. Default 120.
    #[schemars(range(min = 1, max = 86_400), extend("x-hot" = true))]
    pub tool_timeout_s: u64,
    /// Characters of one tool result in the context; the full text is kept in the store. Default 30000.
    #[schemars(range(min = 200), extend("x-hot" = true))]
    pub max_output_chars: usize,
    /// Whether the model may run commands (`run_command`, for users of the role ADMIN). Default true.
    #[schemars(extend("x-hot" = true))]
    pub commands: bool,
    /// Seconds a turn may take, with its tools and the time people take to approve; then it is stopped with an
    /// error. A turn that is resumed has the whole time again. Default 1800.
    #[schemars(range(min = 1, max = 604_800), extend("x-hot" = true))]
    pub turn_timeout_s: u64,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            model_policy: "auto".into(),
            max_rounds: 30,
            tool_timeout_s: 120,
            max_output_chars: 30_000,
            commands: true,
            turn_timeout_s: 1_800,
        }
    }
}

/// Prompts, and when long conversations are compacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptSettings {
    /// A folder of templates that stand in for the built-in ones of the same name, relative to the configuration file.
    /// Default: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("x-hot" = true))]
    pub templates_dir: String,
    /// From which share of the model's window on a conversation is compacted: `auto` or a number from 0.1 to 0.95.
    /// `auto` is 0.75, and 0.5 for windows from 512,000 tokens on; never more than 256,000 tokens. Default `auto`.
    #[schemars(extend("x-hot" = true))]
    pub compaction_threshold: CompactionThreshold,
    /// Messages at the beginning that compaction leaves as they are. Default 3.
    #[schemars(range(max = 1_000), extend("x-hot" = true))]
    pub protect_first: usize,
    /// About how many messages at the end compaction leaves as they are. Default 20.
    #[schemars(range(min = 1, max = 10_000), extend("x-hot" = true))]
    pub protect_last: usize,
    /// Tokens that an image counts for. Default 1500.
    #[schemars(range(max = 1_000_000), extend("x-hot" = true))]
    pub image_tokens: u64,
}

impl Default for PromptSettings {
    fn default() -> Self {
        Self {
            templates_dir: String::new(),
            compaction_threshold: CompactionThreshold::default(),
            protect_first: 3,
            protect_last: 20,
            image_tokens: 1_500,
        }
    }
}

/// From where on a conversation is compacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CompactionThreshold {
    /// `auto`: by the size of the window.
    #[default]
    #[serde(with = "auto")]
    #[schemars(with = "String")]
    Auto,
    /// At this share of the window.
    Share(f64),
}

/// The word for a threshold that is not set.
mod auto {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("auto")
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "auto" => Ok(()),
            other => Err(D::Error::custom(format!(
                "{other:?} is neither \"auto\" nor a number"
            ))),
        }
    }
}

/// How integrity is tested (check 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntegrityTest {
    /// Control values and decisions must be the owner's.
    #[default]
    Values,
    /// No consequential call once the session is UNTRUSTED.
    Session,
    /// Not at all.
    Off,
}

/// What a failed integrity test leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntegrityAction {
    /// The owner is asked.
    #[default]
    Approve,
    /// The call is refused.
    Block,
}

/// What happens to an approval with nobody there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unattended {
    /// The model gets a refusal.
    #[default]
    Refuse,
    /// The run stops and waits.
    Wait,
}

/// Labels, sources and sinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySettings {
    /// The highest level a session may read. Default CONFIDENTIAL.
    #[schemars(with = "LevelName", extend("x-hot" = true))]
    pub clearance: Classification,
    /// The level of workspace files that no pattern names. Default INTERNAL.
    #[schemars(with = "LevelName", extend("x-hot" = true))]
    pub workspace: Classification,
    /// The sink level of a recipient the owner named. Default CONFIDENTIAL. No effect in this version: no tool sends to recipients yet.
    #[schemars(with = "LevelName", extend("x-hot" = true))]
    pub owner_named: Classification,
    /// How integrity is tested: `values` by the values of a call and the owner's words for it, `session` not at all
    /// once the session is UNTRUSTED, `off` never. Default `values`.
    #[schemars(extend("x-hot" = true))]
    pub integrity: IntegrityTest,
    /// What a failed integrity test leads to: `approve` asks the owner, `block` refuses the call. Default `approve`.
    #[schemars(extend("x-hot" = true))]
    pub integrity_action: IntegrityAction,
    /// What happens to an approval with nobody there: `refuse` tells the model so, `wait` stops the run with exit
    /// code 5 until `tidegate approvals grant` or `refuse`. Default `refuse`.
    #[schemars(extend("x-hot" = true))]
    pub unattended: Unattended,
    /// Seconds until a request for approval expires, answered or not; that counts as a refusal. Default 3600.
    #[schemars(range(min = 1, max = 604_800), extend("x-hot" = true))]
    pub approval_timeout_s: u64,
    /// Whether the owner is asked before a call that would raise the taint above `workspace`: once per level and
    /// session, and only where somebody is there to ask. Default true.
    #[schemars(extend("x-hot" = true))]
    pub bumpers: bool,
    /// Languages in which the owner's text is read for what it licenses: `en`, `fr`, `de`, `es`, `zh`, and those that
    /// `words` adds. Default `["en"]`.
    #[schemars(extend("x-hot" = true))]
    pub languages: Vec<String>,
    /// More words for what the owner's text licenses, by class and language; see `docs/policy.md`.
    #[schemars(with = "BTreeMap<String, serde_json::Value>", extend("x-hot" = true))]
    pub words: ActionWords,
    /// Levels of paths, by pattern relative to the workspace; the first match wins.
    #[schemars(with = "IndexMap<String, LevelName>", extend("x-hot" = true))]
    pub paths: IndexMap<String, Classification>,
    /// Folders (relative to the workspace, or absolute) whose unknown files are TRUSTED.
    #[schemars(extend("x-hot" = true))]
    pub trusted_folders: Vec<String>,
    /// Levels of hosts, by pattern; the first match wins. Others are PUBLIC. Only hosts listed here may have private addresses.
    #[schemars(with = "IndexMap<String, LevelName>", extend("x-hot" = true))]
    pub hosts: IndexMap<String, Classification>,
    /// What differs from a tool's own declaration, by tool.
    #[schemars(extend("x-hot" = true))]
    pub tools: BTreeMap<String, ToolSettings>,
    /// Custom rules, in order: `id`, `hook`, `priority`, `when`, `action`, `pattern`, `message`; see `docs/policy.md`.
    #[schemars(with = "Vec<BTreeMap<String, serde_json::Value>>", extend("x-hot" = true))]
    pub rules: Vec<toml::Table>,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            clearance: Classification::Confidential,
            workspace: Classification::Internal,
            owner_named: Classification::Confidential,
            integrity: IntegrityTest::default(),
            integrity_action: IntegrityAction::default(),
            unattended: Unattended::default(),
            approval_timeout_s: 3_600,
            bumpers: true,
            languages: vec!["en".into()],
            words: ActionWords::default(),
            paths: IndexMap::new(),
            trusted_folders: Vec::new(),
            hosts: IndexMap::new(),
            tools: BTreeMap::new(),
            rules: Vec::new(),
        }
    }
}

/// One tool's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// The label of what it returns. Default: what the tool declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = true))]
    pub source: Option<SourceSettings>,
    /// The least session taint to use it. Default PUBLIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LevelName>", extend("x-hot" = true))]
    pub floor: Option<Classification>,
    /// Whether a call changes something outside the conversation. Default: what the tool declares. It can only be made
    /// true: nothing makes a tool harmless.
    #[schemars(extend("x-hot" = true))]
    pub consequential: bool,
    /// The class of its effect, for integrity by value: `egress`, `destructive`, `financial` or `local_write`.
    /// Default: what the tool declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("x-hot" = true))]
    pub action: Option<ActionClass>,
    /// Arguments that decide what a call does: ids, addresses, amounts. Default: what the tool declares; those that
    /// nothing declares count as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = true))]
    pub control: Option<Vec<String>>,
    /// Arguments that name who receives. Default: what the tool declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = true))]
    pub recipients: Option<Vec<String>>,
    /// Arguments that are payload only. Default: what the tool declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = true))]
    pub content: Option<Vec<String>>,
    /// Fields of its result that are trusted: `none`, `all` or their names. Default: what the tool declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>", extend("x-hot" = true))]
    pub trusted_fields: Option<TrustedFields>,
    /// Always ask a person. Default false, which leaves it at what the tool itself declares.
    #[schemars(extend("x-hot" = true))]
    pub approval: bool,
}

/// The label of what a tool returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceSettings {
    /// Its classification.
    #[schemars(with = "LevelName", extend("x-hot" = true))]
    pub level: Classification,
    /// Its integrity. Default UNTRUSTED.
    #[serde(default = "untrusted")]
    #[schemars(with = "IntegrityName", extend("x-hot" = true))]
    pub integrity: Integrity,
}

fn untrusted() -> Integrity {
    Integrity::Untrusted
}

/// One secret: where its value is, and where it may go. Elsewhere it is refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecretSettings {
    /// The name of the variable that holds the value; never the value itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub env: Option<String>,
    /// A file that holds the value and that its owner alone can read, relative to the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-hot" = false))]
    pub file: Option<String>,
    /// The tools that may get it.
    #[schemars(extend("x-hot" = true))]
    pub tools: Vec<String>,
    /// The arguments it may stand in; one that holds others stands for all of them: `headers`.
    #[schemars(extend("x-hot" = true))]
    pub arguments: Vec<String>,
    /// The hosts a call with it may talk to, as patterns of `policy.hosts`. Default none.
    #[schemars(extend("x-hot" = true))]
    pub hosts: Vec<String>,
}

/// What a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DurabilitySetting {
    /// Loss of power.
    #[default]
    Power,
    /// The end of the process.
    Process,
}

/// The store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// What a commit survives. Default `power`.
    #[schemars(extend("x-hot" = false))]
    pub durability: DurabilitySetting,
    /// The SQLite file, relative to the data folder. Default: `tidegate.db`.
    #[schemars(extend("x-hot" = false))]
    pub path: String,
    /// Days after which what a session saved with `save_session_context` is erased, if nobody used the session; 0: as soon as nobody has it open. Default 30.
    #[schemars(extend("x-hot" = true))]
    pub session_idle_days: u32,
    /// Days that content is kept; 0 keeps it. Default 0. No effect in this version.
    #[schemars(extend("x-hot" = true))]
    pub retain_days: u32,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            durability: DurabilitySetting::Power,
            path: String::new(),
            session_idle_days: 30,
            retain_days: 0,
        }
    }
}

/// Users by name; `local` is always there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Users(pub BTreeMap<String, UserSettings>);

/// A user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UserSettings {
    /// What the user may do. Default ADMIN for `local`, the owner at this machine, and USER for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RoleName>", extend("x-hot" = true))]
    pub role: Option<Role>,
    /// What the user may read. Default RESTRICTED for `local`, INTERNAL for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LevelName>", extend("x-hot" = true))]
    pub clearance: Option<Classification>,
}

/// The user of the command line: the owner at this machine.
pub const LOCAL_USER: &str = "local";

impl Users {
    /// The role of `name`; none for a user nobody configured.
    pub fn role(&self, name: &str) -> Option<Role> {
        let default = if name == LOCAL_USER {
            Role::Admin
        } else {
            Role::User
        };
        self.0
            .get(name)
            .map(|user| user.role.unwrap_or(default))
            .or((name == LOCAL_USER).then_some(default))
    }

    /// The clearance of `name`; none for a user nobody configured.
    pub fn clearance(&self, name: &str) -> Option<Classification> {
        let default = if name == LOCAL_USER {
            Classification::Restricted
        } else {
            Classification::Internal
        };
        self.0
            .get(name)
            .map(|user| user.clearance.unwrap_or(default))
            .or((name == LOCAL_USER).then_some(default))
    }
}

/// The four levels, for the schema alone.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its variants stand for the names in the schema")]
pub(super) enum LevelName {
    #[serde(rename = "PUBLIC")]
    Public,
    #[serde(rename = "INTERNAL")]
    Internal,
    #[serde(rename = "CONFIDENTIAL")]
    Confidential,
    #[serde(rename = "RESTRICTED")]
    Restricted,
}

/// The two integrities, for the schema alone.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its variants stand for the names in the schema")]
enum IntegrityName {
    #[serde(rename = "TRUSTED")]
    Trusted,
    #[serde(rename = "UNTRUSTED")]
    Untrusted,
}

/// The roles, for the schema alone.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its variants stand for the names in the schema")]
enum RoleName {
    #[serde(rename = "GUEST")]
    Guest,
    #[serde(rename = "USER")]
    User,
    #[serde(rename = "ADMIN")]
    Admin,
}
