//! Configuration: `tidegate.toml`, variables and flags over built-in defaults, with the origin of each value.

mod check;
mod error;
mod layers;
mod load;
mod memory;
mod model;
mod trust;
mod variables;
mod wording;

pub(crate) use check::default_clearance;
pub use check::notes;
pub use error::{ConfigError, Location};
pub use layers::Override;
pub use load::{ConfigFile, FilePlace, LoadOptions, Loaded, ShownValue, load, schema};
pub use memory::{
    EmbedderChoice, MemoryIndexKind, MemoryIndexSettings, MemoryRemoteSettings, MemorySettings,
};
pub use model::{
    AgentSettings, CompactionThreshold, Configuration, DurabilitySetting, IntegrityAction, IntegrityTest,
    LOCAL_USER, ModelSettings, PolicySettings, PromptSettings, ProviderKind, ProviderSettings, Reserved,
    SecretSettings, SourceSettings, StoreSettings, TierSettings, ToolSettings, Unattended, UserSettings,
    Users,
};
pub use trust::{TrustError, TrustedFiles};
