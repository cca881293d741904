//! What the embedded index costs beside the engine it stands on: searching, recalling through it, opening, writing.
//!
//! The engine is asked the same questions with the same filter, over the same vectors and the same graph. Memories are
//! over SQLite that waits for the disk. Set `TIDEGATE_BENCH_COUNTS`, as in `10000,100000`, for other numbers of memories.
#![expect(clippy::unwrap_used, reason = "a benchmark ends by panicking")]

use qdrant_edge as edge;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_memory::{EmbedWork, IndexFilter, IndexSearch, Leg, Memory, MemorySearch, VectorIndex};
use tidegate_qdrant::{EmbeddedIndex, EmbeddedSettings};
use tidegate_store::{Collection, Durability, RecordWrite, Records, SqliteStore};
use tidegate_testing::memories::{
    DIMENSION, NOW_MS, Prepared, Sample, label, model, question, record, scope, user, vector, writes,
    writes_a_second,
};

/// How often a question is asked.
const QUESTIONS: u64 = 200;
/// How many times the bare engine a recall may take.
const RATIO_LIMIT: f64 = 2.0;
/// Points that are asked for: as many as a recall takes.
const CANDIDATES: usize = 60;

#[tokio::main]
async fn main() {
    let counts = std::env::var("TIDEGATE_BENCH_COUNTS").unwrap_or("10000,100000".to_owned());
    println!("embedded index, release build, {DIMENSION} values a vector\n");
    for count in counts.split(',').map(|count| count.parse().unwrap()) {
        println!("{count} memories");
        measure(count).await;
        println!();
    }
}

fn filter() -> IndexFilter {
    IndexFilter {
        alive_at_ms: Some(NOW_MS),
        ..IndexFilter::of(user(), vec![label()])
    }
}

async fn measure(count: u64) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("memories.sqlite"), Durability::Power).unwrap();
    store.write(vec![RecordWrite::SetModel(model())]).await.unwrap();
    for from in (0..count).step_by(1_000) {
        store
            .write(writes(from, (from + 1_000).min(count)))
            .await
            .unwrap();
    }
    let records: Arc<dyn Records> = Arc::new(store.clone());
    let path = folder.path().join("index");

    let (index, memory, took) = opened(&records, &path).await;
    tell("filling it from the records, and opening", took);
    let start = Instant::now();
    memory.flush().await.unwrap();
    tell("flushing", start.elapsed());
    println!("  {:<44} {:>9}", "bytes on the disk", size(&path));

    searches(&index, &memory, &bare(folder.path(), count), "without a graph").await;
    let start = Instant::now();
    let built = index.optimise().await.unwrap();
    tell(
        if built {
            "building the graph"
        } else {
            "no graph is worth building"
        },
        start.elapsed(),
    );
    if built {
        let engine = bare(folder.path(), count);
        engine.optimize().unwrap();
        searches(&index, &memory, &engine, "with the graph").await;
    }
    writing(&memory).await;
    drop((index, memory));

    let alone = EmbeddedIndex::open(&path).unwrap();
    let start = Instant::now();
    alone.open(&model()).await.unwrap();
    tell("opening the index alone", start.elapsed());
    drop(alone);
    let (_, _, took) = opened(&records, &path).await;
    tell("opening the memory with it", took);
    store.close().await;
}

async fn opened(records: &Arc<dyn Records>, path: &Path) -> (Arc<EmbeddedIndex>, Memory, Duration) {
    let settings = EmbeddedSettings {
        rest: None,
        ..EmbeddedSettings::new(path)
    };
    let index = Arc::new(EmbeddedIndex::with(settings).unwrap());
    let start = Instant::now();
    let memory = Memory::builder(Arc::clone(records), Arc::new(Prepared::new()))
        .index(Arc::clone(&index) as Arc<dyn VectorIndex>)
        .clock(|| NOW_MS)
        .open()
        .await
        .unwrap();
    (index, memory, start.elapsed())
}

fn tell(what: &str, took: Duration) {
    println!("  {what:<44} {:>9.3} s", took.as_secs_f64());
}

fn size(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).unwrap().flatten();
    entries
        .map(|entry| match entry.metadata().unwrap() {
            metadata if metadata.is_dir() => size(&entry.path()),
            // What a sparse file holds, not how long it is.
            metadata => std::os::unix::fs::MetadataExt::blocks(&metadata) * 512,
        })
        .sum()
}

/// The engine by itself, with the fields that are filtered here.
fn bare(folder: &Path, count: u64) -> edge::EdgeShard {
    let path = folder.join(format!("bare-{}", fastrand::u64(..)));
    std::fs::create_dir(&path).unwrap();
    let params = edge::EdgeVectorParamsBuilder::new(DIMENSION, edge::Distance::Cosine).build();
    let shard = edge::EdgeShard::new(
        &path,
        edge::EdgeConfigBuilder::new().vector("dense", params).build(),
    )
    .unwrap();
    for (field, kind) in [
        ("user_id", edge::PayloadSchemaType::Keyword),
        ("label", edge::PayloadSchemaType::Keyword),
        ("expires_ms", edge::PayloadSchemaType::Integer),
    ] {
        let create = edge::CreateIndex {
            field_name: field.parse().unwrap(),
            field_schema: Some(edge::PayloadFieldSchema::FieldType(kind)),
        };
        let create = edge::FieldIndexOperations::CreateIndex(create);
        shard
            .update(edge::UpdateOperation::FieldIndexOperation(create))
            .unwrap();
    }
    for from in (0..count).step_by(1_000) {
        let points = (from..(from + 1_000).min(count)).map(|number| {
            let record = record(number);
            let dense = edge::Vector::new_dense(record.vectors.unwrap().dense.to_vec());
            let vectors = edge::NamedVectors::default().add_vector("dense", dense);
            let payload =
                serde_json::json!({"user_id": "ada", "label": "INTERNAL/TRUSTED", "expires_ms": 1_u64 << 53});
            edge::PointStruct::new(edge::PointId::Uuid(record.id), vectors, payload).into()
        });
        let points = edge::PointInsertOperations::PointsList(points.collect());
        let upsert = edge::PointOperations::UpsertPoints(points);
        shard
            .update(edge::UpdateOperation::PointOperation(upsert))
            .unwrap();
    }
    shard
}

fn ask_bare(shard: &edge::EdgeShard, query: &[f32]) -> Vec<edge::ScoredPoint> {
    let filter = serde_json::json!({"must": [
        {"key": "user_id", "match": {"value": "ada"}},
        {"key": "label", "match": {"any": ["INTERNAL/TRUSTED"]}},
        {"key": "expires_ms", "range": {"gt": NOW_MS}},
    ]});
    let query = edge::Vector::new_dense(query.to_vec());
    let request = edge::SearchRequest {
        query: edge::QueryEnum::Nearest(edge::NamedQuery::new(query.into(), "dense")),
        filter: Some(serde_json::from_value(filter).unwrap()),
        params: None,
        limit: CANDIDATES,
        offset: 0,
        with_payload: None,
        with_vector: None,
        score_threshold: None,
    };
    shard.search(request).unwrap()
}

async fn searches(index: &EmbeddedIndex, memory: &Memory, engine: &edge::EdgeShard, how: &str) {
    let (mut bare_times, mut index_times, mut recall_times) = (Vec::new(), Vec::new(), Vec::new());
    let scope = scope();
    for number in 0..QUESTIONS {
        let text = question(number);
        let query = vector(&text);
        memory
            .embedder()
            .embed_query(text.clone(), EmbedWork::default())
            .await
            .unwrap();
        let start = Instant::now();
        black_box(ask_bare(engine, &query));
        bare_times.push(start.elapsed());

        let search = IndexSearch {
            collection: Collection::MetaArtifacts,
            leg: Leg::Dense(query.into()),
            filter: filter(),
            limit: CANDIDATES,
            least: None,
        };
        let start = Instant::now();
        black_box(index.search(search).await.unwrap());
        index_times.push(start.elapsed());

        let start = Instant::now();
        black_box(memory.recall(&scope, MemorySearch::new(text)).await.unwrap());
        recall_times.push(start.elapsed());
    }
    let bare = Sample::of(bare_times);
    println!("  {:<44} {bare}", format!("the bare engine, {how}"));
    for (what, times) in [
        ("the index", index_times),
        ("a recall, vectors and words", recall_times),
    ] {
        let times = Sample::of(times);
        let ratio = times.median() / bare.median();
        let verdict = if ratio < RATIO_LIMIT { "within" } else { "OVER" };
        println!("  {what:<44} {times}   ratio {ratio:.2} x  {verdict} {RATIO_LIMIT} x");
    }
}

/// Writes that are durable in the records and found by the index when they return.
async fn writing(memory: &Memory) {
    for writers in [1, 16] {
        let a_second = writes_a_second(memory, writers, writers, true, Duration::from_secs(3))
            .await
            .unwrap();
        println!(
            "  {:<44} {a_second:>9.0} a second",
            format!("acknowledged writes, {writers} writers")
        );
    }
}
