//! The owner's view of the memories: opened when a command needs them, and not before.

use crate::args::{Global, PeriodArgs};
use crate::environment;
use crate::output;
use anyhow::Context as _;
use std::sync::Arc;
use tidegate_memory::{Embedder, HashedEmbedder, Memory, MemorySettings, Period, Recall, Scope};
use tidegate_policy::{Classification, Label, SessionId, UserId};
use tidegate_runtime::Runtime;
use tidegate_runtime::config::{DurabilitySetting, LOCAL_USER, Loaded};
use tidegate_store::{Durability, Records, SqliteStore, Store};

/// The memories with the owner before them.
pub(crate) struct OwnerMemory {
    /// Both memories.
    pub(crate) memory: Memory,
    /// The store they are in.
    pub(crate) store: Arc<dyn Store>,
    /// The owner.
    pub(crate) user: UserId,
    /// What the owner may read: nothing above it is shown.
    pub(crate) clearance: Classification,
}

impl OwnerMemory {
    /// Reads everything up to the clearance, and writes at `level`.
    pub(crate) fn scope(&self, level: Classification) -> Scope {
        Scope {
            user: self.user.clone(),
            chat: "".into(),
            label: Label::trusted(level),
            clearance: self.clearance,
        }
    }

    /// The same in a session.
    pub(crate) fn scope_in(&self, session: SessionId, label: Label) -> Scope {
        Scope {
            chat: session.to_string().into(),
            label,
            ..self.scope(Classification::Public)
        }
    }

    /// Refuses to write what the owner could not read afterwards.
    pub(crate) fn check_level(&self, level: Classification) -> anyhow::Result<()> {
        anyhow::ensure!(
            level.can_flow_to(self.clearance),
            "{level} is above your clearance, which is {} ([policy] clearance, [users.{}] clearance)",
            self.clearance,
            self.user
        );
        Ok(())
    }
}

/// The records, before there is an embedder for them.
pub(crate) struct Opened {
    /// The records of the memories.
    pub(crate) records: Arc<dyn Records>,
    store: Arc<dyn Store>,
    loaded: Loaded,
}

/// Opens the memories as configured.
pub(crate) async fn open(global: &Global) -> anyhow::Result<OwnerMemory> {
    let opened = records(global)?;
    let embedder = embedder_named(global, &opened.loaded, None).await?;
    open_with(opened, embedder).await
}

/// Opens the records alone.
pub(crate) fn records(global: &Global) -> anyhow::Result<Opened> {
    let loaded = environment::configuration(global, Vec::new())?;
    let configuration = &loaded.configuration;
    let data = environment::data_folder(global)?;
    let durability = match configuration.store.durability {
        DurabilitySetting::Power => Durability::Power,
        DurabilitySetting::Process => Durability::Process,
    };
    let store = Arc::new(SqliteStore::open(
        Runtime::store_file(configuration, &data),
        durability,
    )?);
    Ok(Opened {
        records: Arc::clone(&store) as Arc<dyn Records>,
        store,
        loaded,
    })
}

/// Opens the memories over these records with this embedder.
pub(crate) async fn open_with(opened: Opened, embedder: Arc<dyn Embedder>) -> anyhow::Result<OwnerMemory> {
    let configuration = &opened.loaded.configuration;
    // The owner sees up to the clearance, whatever the level of what is asked.
    let settings = MemorySettings {
        recall: Recall::Escalate,
        ..MemorySettings::default()
    };
    let memory = Memory::builder(opened.records, embedder)
        .settings(settings)
        .open()
        .await?;
    let clearance = configuration.users.clearance(LOCAL_USER);
    let clearance = clearance.context("the configuration knows no user local")?;
    Ok(OwnerMemory {
        memory,
        store: opened.store,
        user: UserId::new(LOCAL_USER),
        clearance: clearance.min(configuration.policy.clearance),
    })
}

/// The embedder that new vectors should be of: the one that is named, else the configured one.
pub(crate) async fn wanted_embedder(
    global: &Global,
    opened: &Opened,
    name: Option<&str>,
) -> anyhow::Result<Arc<dyn Embedder>> {
    embedder_named(global, &opened.loaded, name).await
}

/// The embedder of this name, or the configured one.
pub(crate) async fn embedder_named(
    _global: &Global,
    _loaded: &Loaded,
    _name: Option<&str>,
) -> anyhow::Result<Arc<dyn Embedder>> {
    Ok(Arc::new(HashedEmbedder::new()))
}

/// Says that no model is in use, and how to get one.
pub(crate) fn tell_of_hashed(owner: &OwnerMemory) {
    if owner.memory.embedder().model().id == HashedEmbedder::MODEL {
        output::aside(
            "searched by words and their parts alone (embedder hashed); a model finds by meaning: tidegate models fetch \
             minilm, then tidegate memory reembed",
        );
    }
}

/// The period that was asked for.
pub(crate) fn period(args: &PeriodArgs) -> anyhow::Result<Period> {
    Ok(Period::parse(args.from.as_deref(), args.to.as_deref())?)
}
