//! Memories that an observer may not see have no influence on what it may: not on what is recalled at the beginning of
//! a turn, not on searches, indexes, counts, scores, merges, errors, nor on what a remote embedder is sent.
//!
//! Which memories there are, how many, what they say, and what the sessions above the observer do with theirs is
//! chance above the observer's level. The session texts of the sessions that take turns are left out here: their search
//! tells ids of sessions, which are random. Beside them, contexts of all labels save, search, list and delete sources of
//! the same few names in one conversation.
//!
//! With `recall = "escalate"` a session rises to the highest label that was looked at, and whoever sees that it rose
//! learns that something of that level is there: that is what was asked for. So at the beginning of each of these turns
//! there is a memory of each level, and what it says is chance.

use crate::inputs::Inputs;
use crate::projection::Projection;
use crate::run::{StoreKind, labelled, users};
use crate::watched::{CancelPlan, Watched};
use std::sync::{Arc, Mutex};
use tidegate_memory::{
    EmbedWork, Embedder, EmbedderError, Embedding, HashedEmbedder, Memory, NewMemory, Passages, Recall,
    Scope, SessionSearch,
};
use tidegate_message::{ModelId, ProviderId, Tier};
use tidegate_policy::Classification::{self, Confidential, Internal, Public, Restricted};
use tidegate_policy::{Integrity, Label, SourceId, UserId};
use tidegate_runtime::config::Configuration;
use tidegate_runtime::{Runtime, SessionRequest, TurnOptions, Which};
use tidegate_store::{
    BoxFuture, Change, ChunkQuery, Durability, Item, MemoryQuery, MemoryRecord, MemoryRecords, MemoryStore,
    ModelRecord, RecordWrite, Records, RecordsCommit, SourceKey, SourceQuery, SqliteStore, Store, StoreError,
};
use tidegate_testing::HashingModel;
use tidegate_tools::{Cancel, NeverCancelled};

/// Seeds whose pairs are compared.
const SEEDS: u64 = 16;

/// How many seeds a mutant has to survive to be called missed.
const TRIES: u64 = 40;

/// Who takes a turn, in which session, with a task of which level.
const TURNS: [(&str, &str, Classification); 8] = [
    ("vera-1", "vera", Public),
    ("carl-1", "carl", Confidential),
    ("ines-1", "ines", Public),
    ("paul-1", "paul", Public),
    ("vera-2", "vera", Internal),
    ("vera-3", "vera", Public),
    ("ines-2", "ines", Internal),
    ("paul-1", "paul", Public),
];

/// A protection that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    /// Everything that is read from the records is PUBLIC and TRUSTED.
    LabelsForgotten,
    /// The remote embedder is believed to be cleared for everything.
    EmbedderNotJudged,
    /// A source replaces those of its name, whatever their labels.
    LabelNotInKey,
}

/// Records in which there is one source of a name.
struct OneOfAName(Arc<dyn Records>);

impl OneOfAName {
    /// Before a source is written, those of its name at other labels go.
    fn replacing(writes: Vec<RecordWrite>) -> Vec<RecordWrite> {
        let others = |key: SourceKey| {
            let labels = Classification::ALL
                .into_iter()
                .flat_map(|level| [Label::trusted(level), Label::untrusted(level)]);
            labels
                .filter(move |label| *label != key.label)
                .map(move |label| RecordWrite::DeleteSource(SourceKey { label, ..key.clone() }))
        };
        let replaced: Vec<RecordWrite> = writes
            .iter()
            .filter_map(|write| match write {
                RecordWrite::ReplaceSource { source, .. } => Some(source.key.clone()),
                _ => None,
            })
            .flat_map(others)
            .collect();
        writes.into_iter().chain(replaced).collect()
    }
}

impl Records for OneOfAName {
    tidegate_testing::delegate_records!(0: memories, history, chunks, memory_sources, resources, model, unstaged, mark, changes, statistics);

    fn write(&self, writes: Vec<RecordWrite>) -> BoxFuture<'_, Result<RecordsCommit, StoreError>> {
        self.0.write(Self::replacing(writes))
    }
}

/// An embedder at a place of level INTERNAL, and what it was sent.
struct WatchedEmbedder {
    inner: HashedEmbedder,
    believed: Classification,
    received: Arc<Mutex<Vec<String>>>,
}

impl Embedder for WatchedEmbedder {
    fn model(&self) -> &ModelRecord {
        self.inner.model()
    }

    fn clearance(&self) -> Classification {
        self.believed
    }

    fn most_tokens(&self) -> usize {
        self.inner.most_tokens()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.inner.count_tokens(text)
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        self.received.lock().unwrap().extend(texts.iter().cloned());
        self.inner.embed_documents(texts, work)
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        self.received.lock().unwrap().push(text.clone());
        self.inner.embed_query(text, work)
    }
}

/// Records that have forgotten their labels.
struct Unlabelled(Arc<dyn Records>);

fn public(mut memory: MemoryRecord) -> MemoryRecord {
    memory.label = Label::BOTTOM;
    memory
}

impl Records for Unlabelled {
    tidegate_testing::delegate_records!(0: write, history, chunks, memory_sources, resources, model, unstaged, mark, statistics);

    fn memories(&self, query: MemoryQuery) -> BoxFuture<'_, Result<Vec<MemoryRecord>, StoreError>> {
        Box::pin(async move {
            let found = self.0.memories(query).await?;
            Ok(found.into_iter().map(public).collect())
        })
    }

    fn changes(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        Box::pin(async move {
            let mut changes = self.0.changes(after, limit).await?;
            for change in &mut changes {
                if let Some(Item::Memory(memory)) = &mut change.item {
                    memory.label = Label::BOTTOM;
                }
            }
            Ok(changes)
        })
    }
}

fn configuration(recall: Recall) -> Configuration {
    let mut configuration = Configuration::default();
    configuration.agent.max_rounds = 4;
    configuration.policy.clearance = Restricted;
    configuration.policy.bumpers = false;
    configuration.memory.recall = recall;
    configuration.memory.recall_limit = 3;
    // On a busy machine it is not to depend on how fast it is.
    configuration.memory.recall_timeout_ms = 600_000;
    users(&mut configuration);
    configuration
}

/// Who wrote what was there before a turn.
fn before(user: &str, label: Label) -> Scope {
    Scope {
        user: UserId::new(user),
        chat: "before".into(),
        label,
        clearance: Restricted,
    }
}

/// Sees to it that of each level there is a memory of the user, also if a model forgot it.
async fn keep(memory: &Memory, inputs: Inputs, user: &str) {
    let cancel: Arc<dyn Cancel> = Arc::new(NeverCancelled);
    for level in [Public, Internal, Confidential, Restricted] {
        let scope = before(user, Label::trusted(level));
        let mut new = NewMemory::new("kept", inputs.text(level, &format!("kept {user}")));
        new.memory_id = Some("kept".into());
        memory.remember(&scope, new, &cancel).await.unwrap();
    }
}

/// What was there before the first turn: of each user and label some memories, above the observer by chance.
async fn fill(memory: &Memory, inputs: Inputs) {
    let cancel: Arc<dyn Cancel> = Arc::new(NeverCancelled);
    for user in ["vera", "carl", "ines", "paul"] {
        for level in [Public, Internal, Confidential, Restricted] {
            for integrity in [Integrity::Trusted, Integrity::Untrusted] {
                let name = format!("memories {user} {level} {integrity}");
                let scope = before(user, Label::new(level, integrity));
                for number in 0..inputs.chance(level, &name).usize(..3) {
                    let what = format!("{name} {number}");
                    let mut chance = inputs.chance(level, &format!("{what} form"));
                    let group = ["alignment profile", "learned hypotheses"][chance.usize(..2)];
                    let mut new = NewMemory::new(group, inputs.text(level, &what));
                    new.importance = chance.u8(1..=5);
                    // The same names at all levels: nobody is to learn of the others.
                    new.memory_id = Some(["main", "a note", "ann"][chance.usize(..3)].into());
                    memory.remember(&scope, new, &cancel).await.unwrap();
                }
            }
        }
    }
}

/// What contexts of all labels do with sources of the same names in one conversation. Those above the observer do what
/// chance has them do; those up to it do the same, and are to be told the same.
async fn save_and_search(memory: &Memory, inputs: Inputs, seen: &mut Projection) {
    for round in 0..4 {
        for level in [Restricted, Public, Confidential, Internal] {
            for integrity in [Integrity::Trusted, Integrity::Untrusted] {
                let label = Label::new(level, integrity);
                let scope = Scope {
                    chat: "shared".into(),
                    clearance: level,
                    ..before("vera", label)
                };
                let name = format!("sources {round} {label}");
                let mut chance = inputs.chance(level, &name);
                let source = SourceId::from(["notes", "plan"][chance.usize(..2)]);
                let told = match chance.u8(..8) {
                    0..4 => {
                        let text = Passages::Text(inputs.text(level, &name));
                        let saved = memory.save_session_context(&scope, &source, text, EmbedWork::default());
                        format!("{:?}", saved.await.unwrap())
                    }
                    4 => format!("{:?}", memory.delete_session_source(&scope, &source).await),
                    5 => format!("{:?}", memory.delete_session_sources(&scope).await.unwrap()),
                    6 => format!(
                        "{:?}",
                        memory.session_sources(&scope, chance.bool()).await.unwrap()
                    ),
                    _ => {
                        let mut search = SessionSearch::new("main a note ann");
                        search.source = chance.bool().then_some(source);
                        format!("{:?}", memory.search_session_context(&scope, search).await)
                    }
                };
                if level.can_flow_to(inputs.observer) {
                    seen.add("sources", [format!("{name}: {told}")]);
                }
            }
        }
    }
}

async fn run(inputs: Inputs, kind: StoreKind, mutant: Option<Mutant>) -> Projection {
    let folder = tempfile::tempdir().unwrap();
    let (store, records): (Arc<dyn Store>, Arc<dyn Records>) = match kind {
        StoreKind::Memory => (Arc::new(MemoryStore::new()), Arc::new(MemoryRecords::new())),
        StoreKind::Sqlite => {
            let file = folder.path().join("tidegate.db");
            let store = Arc::new(SqliteStore::open(file, Durability::Process).unwrap());
            (Arc::clone(&store) as _, store)
        }
    };
    let used: Arc<dyn Records> = match mutant {
        Some(Mutant::LabelsForgotten) => Arc::new(Unlabelled(Arc::clone(&records))),
        Some(Mutant::LabelNotInKey) => Arc::new(OneOfAName(Arc::clone(&records))),
        _ => Arc::clone(&records),
    };
    let embedded = Arc::new(Mutex::new(Vec::new()));
    let embedder = WatchedEmbedder {
        inner: HashedEmbedder::new(),
        believed: match mutant {
            Some(Mutant::EmbedderNotJudged) => Restricted,
            _ => Internal,
        },
        received: Arc::clone(&embedded),
    };
    let recall = if inputs.seed.is_multiple_of(2) {
        Recall::AtOrBelow
    } else {
        Recall::Escalate
    };
    let configuration = configuration(recall);
    let memory = Memory::builder(used, Arc::new(embedder))
        .settings(configuration.memory.for_library())
        .clock(|| 1_790_000_000_000)
        .open()
        .await
        .unwrap();
    fill(&memory, inputs).await;
    let mut seen = Projection::default();
    save_and_search(&memory, inputs, &mut seen).await;
    let received = Arc::new(Mutex::new(Vec::new()));
    let runtime = build(inputs, store.clone(), memory, configuration, &received);

    for (number, (session, user, level)) in TURNS.into_iter().enumerate() {
        if recall == Recall::Escalate {
            keep(runtime.memory().unwrap(), inputs, user).await;
        }
        let mut request =
            SessionRequest::new(Which::Named(session.parse().unwrap())).workspace(folder.path());
        request.user = UserId::new(user);
        let mut session = runtime.session(request).await.unwrap();
        let task = format!(
            "Remember what there is, and search for main. {}",
            inputs.text(level, &format!("task {number}"))
        );
        let options = TurnOptions {
            level,
            ..TurnOptions::default()
        };
        let report = session.run(task, options).await.unwrap();
        if report.label.can_flow_to(inputs.observer) {
            let line = format!(
                "{:?} {:?} {:?} {}",
                report.status, report.answer, report.error, report.label
            );
            seen.add(format!("answer {number:02}"), [line]);
        }
    }
    seen.add_rows(&*store, inputs.observer).await;
    add_memories(&mut seen, &*records, inputs.observer).await;
    if Internal.can_flow_to(inputs.observer) {
        seen.add("embedded", embedded.lock().unwrap().drain(..));
    }
    let received = received.lock().unwrap();
    let wire = received
        .iter()
        .filter(|(level, _): &&(Classification, String)| level.can_flow_to(inputs.observer));
    seen.add("requests", wire.map(|(_, bytes)| bytes.clone()));
    seen
}

/// The rows up to `level`, without the ids of sessions.
async fn add_memories(seen: &mut Projection, records: &dyn Records, level: Classification) {
    let memories = records.memories(MemoryQuery::default()).await.unwrap();
    for memory in memories
        .into_iter()
        .filter(|memory| memory.label.can_flow_to(level))
    {
        let row = format!(
            "{} {} {} {} {:?} {} {:?} {:?} {} {} {} {:?}",
            memory.id,
            memory.user,
            memory.memory_id,
            memory.artifact_name,
            memory.fact,
            memory.importance,
            memory.tags,
            memory.state,
            memory.version,
            memory.created_ms,
            memory.expires_ms,
            memory.vectors.is_some(),
        );
        let history = records.history(memory.id).await.unwrap();
        let history: Vec<String> = history.into_iter().map(|version| version.fact).collect();
        seen.add("memories", [format!("{row} {history:?}")]);
    }
    let query = SourceQuery {
        chat: Some("shared".into()),
        ..SourceQuery::default()
    };
    let sources = records.memory_sources(query).await.unwrap();
    let seen_sources = sources
        .into_iter()
        .filter(|source| source.key.label.can_flow_to(level));
    seen.add("sources", seen_sources.map(|source| format!("{source:?}")));
    let query = ChunkQuery {
        chat: Some("shared".into()),
        ..ChunkQuery::default()
    };
    let chunks = records.chunks(query).await.unwrap();
    let seen_chunks = chunks
        .into_iter()
        .filter(|chunk| chunk.key.label.can_flow_to(level));
    let rows =
        seen_chunks.map(|chunk| format!("{} {:?} {} {:?}", chunk.id, chunk.key, chunk.ordinal, chunk.text));
    seen.add("sources", rows);
}

fn build(
    inputs: Inputs,
    store: Arc<dyn Store>,
    memory: Memory,
    configuration: Configuration,
    received: &Arc<Mutex<Vec<(Classification, String)>>>,
) -> Runtime {
    let mut builder = Runtime::builder()
        .store(store)
        .configuration(configuration)
        .without_file_tools()
        .memory(Arc::new(memory));
    for (name, label) in [
        ("feed", Label::untrusted(Public)),
        ("ledger", Label::trusted(Internal)),
        ("vault", Label::untrusted(Confidential)),
    ] {
        builder = builder.tool(labelled(inputs, name, label).shared());
    }
    for (name, level) in [("remote", Internal), ("local", Restricted)] {
        let model = HashingModel::new(name, inputs.seed)
            .values(["main", "a note", "ann", "alignment profile", "learned hypotheses"])
            .without(["current_time", "search_sessions_context"])
            // What runs at once may be embedded in any order.
            .most_calls(1)
            .rounds(6);
        let provider = Watched {
            model,
            level,
            observer: inputs.observer,
            plan: Arc::new(Mutex::new(CancelPlan::default())),
            received: Arc::clone(received),
        };
        builder = builder.provider(Arc::new(provider), level, 8);
    }
    let model = |provider: &str| ModelId::new(ProviderId::new(provider), "m");
    builder
        .tier(Tier::Lite, vec![model("remote"), model("local")])
        .tier(Tier::Flash, vec![model("local")])
        .build()
        .unwrap()
}

fn observe(inputs: Inputs, kind: StoreKind, mutant: Option<Mutant>) -> Projection {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run(inputs, kind, mutant))
}

fn difference(
    seed: u64,
    observer: Classification,
    kind: StoreKind,
    mutant: Option<Mutant>,
) -> Option<String> {
    let [one, other] = [1, 2].map(|variant| {
        let inputs = Inputs {
            seed,
            observer,
            variant,
        };
        observe(inputs, kind, mutant)
    });
    one.difference(&other)
}

#[test]
fn the_same_memories_make_the_same_run_in_which_they_are_written_recalled_and_found() {
    let mut kinds = std::collections::BTreeSet::new();
    let mut recalled = 0;
    for seed in 0..6 {
        let inputs = Inputs {
            seed,
            observer: Restricted,
            variant: 1,
        };
        let [one, again] = [(); 2].map(|()| observe(inputs, StoreKind::Memory, None));
        assert_eq!(one.difference(&again), None, "seed {seed}");
        kinds.extend(one.kinds().map(str::to_owned));
        recalled += one.count("memory.recalled");
    }
    for kind in [
        "answer", "embedded", "entries", "events", "memories", "requests", "session", "sources",
    ] {
        assert!(kinds.contains(kind), "{kind} {kinds:?}");
    }
    assert!(recalled > 10, "{recalled}");
}

#[test]
fn memories_above_an_observer_have_no_influence_on_what_it_sees() {
    for kind in [StoreKind::Memory, StoreKind::Sqlite] {
        let seeds = match kind {
            StoreKind::Memory => SEEDS,
            StoreKind::Sqlite => SEEDS / 4,
        };
        for seed in 0..seeds {
            for observer in [Public, Internal, Confidential] {
                let found = difference(seed, observer, kind, None);
                assert_eq!(found, None, "{kind:?}, seed {seed}, seen from {observer}");
            }
        }
    }
}

#[test]
fn each_missing_protection_of_the_memories_is_noticed() {
    for mutant in [
        Mutant::LabelsForgotten,
        Mutant::EmbedderNotJudged,
        Mutant::LabelNotInKey,
    ] {
        let found = (0..TRIES).find_map(|seed| {
            [Public, Internal, Confidential]
                .into_iter()
                .find_map(|observer| difference(seed, observer, StoreKind::Memory, Some(mutant)))
        });
        assert!(found.is_some(), "no run showed that {mutant:?} is missing");
    }
}
