//! The owner's view of the memories: opened when a command needs them, and not before.

mod embedder;
mod index;

pub(crate) use embedder::Circumstances;
#[cfg(feature = "embed")]
pub(crate) use embedder::{models_folder, off_thread};
pub(crate) use index::pick as pick_index;

use crate::args::{Global, PeriodArgs};
use crate::commands::usage::usage;
use crate::environment;
use crate::output;
use std::sync::Arc;
use tidegate_memory::{Embedder, HashedEmbedder, IndexTrouble, Memory, MemoryError, Period, Recall, Scope};
use tidegate_policy::{Classification, Label, SessionId, UserId};
use tidegate_runtime::config::{EmbedderChoice, Loaded};
use tidegate_runtime::{DataFolder, MemoryJobs, Reader, Runtime, RuntimeBuilder};
use tidegate_store::{ModelRecord, Records, Store};

/// The index is made anew after each deletion while there are no more items of a kind: that takes a second or two.
const MOST_MADE_ANEW: u64 = 5_000;

/// The memories with the owner before them.
pub(crate) struct OwnerMemory {
    /// Both memories.
    pub(crate) memory: Arc<Memory>,
    /// The store they are in.
    pub(crate) store: Arc<dyn Store>,
    /// The same, as the owner may read it.
    pub(crate) reader: Reader,
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

    /// Takes what was deleted out of the files of the embedded index, which keeps names and vectors until it is made anew.
    /// Of a large one that is left to the owner, who is told.
    pub(crate) async fn erase_from_index(&self) -> anyhow::Result<()> {
        let (index, in_step) = self.memory.index();
        if index != "embedded" {
            return Ok(self.memory.flush().await?);
        }
        let statistics = self.memory.statistics().await?;
        if in_step && statistics.memories.max(statistics.chunks) <= MOST_MADE_ANEW {
            return Ok(self.memory.reindex().await?);
        }
        output::aside(
            "its name and vector stay in the files of the index, where nobody finds them, until tidegate memory reindex",
        );
        Ok(self.memory.flush().await?)
    }

    /// Refuses to write what the owner could not read afterwards.
    pub(crate) fn check_level(&self, level: Classification) -> anyhow::Result<()> {
        anyhow::ensure!(
            level.can_flow_to(self.clearance),
            "{level} is above your clearance, which is {} ([users.{}] clearance)",
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
    data: DataFolder,
}

/// Opens the memories as configured.
pub(crate) async fn open(global: &Global) -> anyhow::Result<OwnerMemory> {
    let opened = records(global)?;
    let circumstances = Circumstances {
        loaded: &opened.loaded,
        data: &opened.data,
        recorded: opened.records.model().await?,
    };
    let choice = &opened.loaded.configuration.memory.embedder;
    let picked = circumstances.pick(choice).await?;
    open_with(opened, picked.embedder).await
}

/// Opens the records alone.
pub(crate) fn records(global: &Global) -> anyhow::Result<Opened> {
    let loaded = environment::configuration(global, Vec::new())?;
    anyhow::ensure!(
        loaded.configuration.memory.enabled,
        "the memories are switched off ([memory] enabled = false); switch them on to use them"
    );
    let data = environment::data_folder(global)?;
    let store = Runtime::open_records(&loaded.configuration, &data)?;
    Ok(Opened {
        records: Arc::clone(&store) as Arc<dyn Records>,
        store,
        loaded,
        data,
    })
}

/// The model that the records were embedded with; none before the first memory. Makes no store where there is none.
pub(crate) async fn recorded_model(
    loaded: &Loaded,
    data: &DataFolder,
) -> anyhow::Result<Option<ModelRecord>> {
    let configuration = &loaded.configuration;
    if !Runtime::store_file(configuration, data).exists() {
        return Ok(None);
    }
    Ok(Runtime::open_records(configuration, data)?.model().await?)
}

/// Opens the memories over these records with this embedder.
pub(crate) async fn open_with(opened: Opened, embedder: Arc<dyn Embedder>) -> anyhow::Result<OwnerMemory> {
    let mut configuration = opened.loaded.configuration.clone();
    // The owner sees up to the clearance, whatever the level of what is asked.
    configuration.memory.recall = Recall::Escalate;
    let index = index::pick(&opened.loaded, &opened.data)?;
    let memory = Runtime::open_memory(&configuration, opened.records, embedder, index).await?;
    let user = environment::local();
    let reader = Reader::new(Arc::clone(&opened.store), &configuration.users, user.clone())?;
    let owner = OwnerMemory {
        memory,
        store: opened.store,
        clearance: reader.clearance(),
        reader,
        user,
    };
    tell_of_index(&owner.memory);
    Ok(owner)
}

/// For how long a runtime wants the memories.
pub(crate) enum Wanted {
    /// For one task. While nothing is remembered no index is opened for it: the next program that needs one fills it.
    Briefly,
    /// As long as the program runs.
    Lasting,
}

/// Adds the memories as configured to a runtime that is being built.
pub(crate) async fn added_to(
    builder: RuntimeBuilder,
    loaded: &Loaded,
    data: &DataFolder,
    wanted: Wanted,
) -> anyhow::Result<RuntimeBuilder> {
    if !loaded.configuration.memory.enabled {
        return Ok(builder);
    }
    let is_brief = match wanted {
        Wanted::Briefly => true,
        Wanted::Lasting => false,
    };
    let (recorded, is_empty) = match builder.recorded() {
        Some(records) => {
            let statistics = records.statistics().await?;
            let is_empty = statistics.memories == 0 && statistics.chunks == 0;
            (records.model().await?, is_empty)
        }
        None => (None, true),
    };
    let circumstances = Circumstances {
        loaded,
        data,
        recorded,
    };
    let mut picked = circumstances.pick(&loaded.configuration.memory.embedder).await?;
    // An endpoint that is away now may be there when it is needed; until then words find.
    let is_remote = matches!(loaded.configuration.memory.embedder, EmbedderChoice::Openai(_));
    if !is_empty && !is_remote {
        picked = picked.loaded().await?;
    }
    let index = if is_brief && is_empty {
        None
    } else {
        index::pick(loaded, data)?
    };
    Ok(builder.with_memory(picked.embedder, index).await?)
}

/// The embedder that new vectors should be of: the one that is named, else the configured one, where `auto` is the best
/// there is.
pub(crate) async fn wanted_embedder(
    opened: &Opened,
    name: Option<&str>,
) -> anyhow::Result<Arc<dyn Embedder>> {
    embedder_named(&opened.loaded, &opened.data, name).await
}

/// The embedder of this name, or the configured one.
pub(crate) async fn embedder_named(
    loaded: &Loaded,
    data: &DataFolder,
    name: Option<&str>,
) -> anyhow::Result<Arc<dyn Embedder>> {
    let named = name.map(|name| EmbedderChoice::from(name.to_owned()));
    let choice = named.as_ref().unwrap_or(&loaded.configuration.memory.embedder);
    let circumstances = Circumstances {
        loaded,
        data,
        recorded: None,
    };
    Ok(circumstances.pick(choice).await?.embedder)
}

/// Ends the jobs of the memories, if they run. What the index could not make durable is caught up by the next program.
pub(crate) async fn stopped(jobs: Option<MemoryJobs>) {
    if let Some(jobs) = jobs
        && let Err(error) = jobs.stop().await
    {
        tracing::warn!(
            error = output::with_causes(&error.into()),
            "the index could not be flushed"
        );
    }
}

/// Says that the index is not used, where one is configured.
fn tell_of_index(memory: &Memory) {
    let (index, in_step) = memory.index();
    if in_step {
        return;
    }
    let meanwhile = "searched exactly from the records meanwhile";
    output::aside(&match memory.index_trouble() {
        Some(IndexTrouble::Damaged) => format!(
            "the index {index} is damaged: {meanwhile}; nothing is lost, and `tidegate memory reindex` makes it anew"
        ),
        Some(IndexTrouble::InUse) => {
            format!("the index {index} is in use by another process: {meanwhile}, and caught up later")
        }
        Some(IndexTrouble::Away) | None => format!(
            "the index {index} is away or behind: {meanwhile}, and caught up later (tidegate doctor says more)"
        ),
    });
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

/// The period that was asked for. What is none is a usage error of `command`.
pub(crate) fn period(command: &str, args: &PeriodArgs) -> Period {
    let (from, to) = (args.from.as_deref(), args.to.as_deref());
    match Period::parse(from, to) {
        Ok(period) => period,
        Err(MemoryError::Date { what, given, problem }) => {
            let what = if what == "start_date" { "--from" } else { "--to" };
            usage(command, &MemoryError::Date { what, given, problem }.to_string())
        }
        Err(MemoryError::EmptyPeriod { start, end }) => usage(
            command,
            &format!("--to {end} lies before --from {start}; swap them"),
        ),
        Err(error) => usage(command, &error.to_string()),
    }
}
