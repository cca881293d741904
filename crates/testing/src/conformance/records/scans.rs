//! All items at once.

use super::super::in_time;
use super::{chunk, counts, got, id, key, memory, model, put, replace, vectors};
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_store::{
    Collection, Expected, ItemVisitor, MemoryRecord, MemoryState, PointId, RecordWrite, Records, ScannedItem,
    ScannedVectors, SparseVector, Vectors, VectorsVisitor,
};

/// An item or vectors, as a scan told them.
type Told = Arc<Mutex<Vec<(Collection, PointId, String)>>>;

/// What a scan tells, in order; none if the records do not scan.
async fn scanned(records: &dyn Records, form: u32, model: &str) -> Option<(Vec<String>, Vec<String>)> {
    let (items, vectors) = (Told::default(), Told::default());
    let tell = |told: &Told| {
        let told = Arc::clone(told);
        move |collection, id, text| {
            told.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((collection, id, text));
        }
    };
    let (tell_item, tell_vectors) = (tell(&items), tell(&vectors));
    let visit: ItemVisitor = Box::new(move |item| tell_item(item.collection, item.id, format!("{item:?}")));
    let number = got(in_time("items are scanned", records.scan_items(form, visit)).await)?;
    assert_eq!(number, got(records.statistics().await).sequence);
    let visit: VectorsVisitor =
        Box::new(move |found| tell_vectors(found.collection, found.id, format!("{found:?}")));
    let number = got(in_time("vectors are scanned", records.scan_vectors(model, visit)).await)?;
    assert_eq!(number, got(records.statistics().await).sequence);
    let sorted = |told: Told| {
        let mut told = std::mem::take(&mut *told.lock().unwrap_or_else(PoisonError::into_inner));
        told.sort();
        told.into_iter().map(|(_, _, text)| text).collect()
    };
    Some((sorted(items), sorted(vectors)))
}

pub(super) async fn scans(records: &dyn Records) {
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    let of = key("c1", "s");
    let chunk = chunk(2, of.clone(), 0, "x");
    let kept = Arc::new(SparseVector {
        indices: vec![3, u32::MAX],
        values: vec![1.0, 2.5],
    });
    let keep = |collection, number| RecordWrite::KeepWords {
        collection,
        id: id(number),
        sequence: None,
        form: 7,
        words: Arc::clone(&kept),
    };
    let superseded = MemoryRecord {
        state: MemoryState::Superseded { by: id(1) },
        ..memory(3, "old")
    };
    counts(
        records,
        vec![
            put(memory(1, "a"), Expected::Anything),
            put(superseded, Expected::Anything),
            put(memory(4, "gone"), Expected::Anything),
            replace(&of, vec![chunk.clone()]),
            keep(Collection::MetaArtifacts, 1),
            keep(Collection::SessionRag, 2),
            RecordWrite::DeleteMemory {
                id: id(4),
                expected: Expected::Anything,
            },
        ],
    )
    .await;
    let ids = [1, 2, 4, 9].map(id).to_vec();
    let told = got(in_time(
        "vectors are read",
        records.vectors(Collection::MetaArtifacts, ids),
    )
    .await);
    assert_eq!(
        told,
        [(id(1), vectors("one", 0.5))],
        "of those that are there, of the collection"
    );
    let told = got(in_time(
        "vectors are read",
        records.vectors(Collection::SessionRag, vec![id(2)]),
    )
    .await);
    assert_eq!(told, [(id(2), vectors("one", 0.75))]);
    let Some((items, found)) = scanned(records, 7, "one").await else {
        return;
    };
    let memory = memory(1, "a");
    let expected = [
        ScannedItem {
            collection: Collection::MetaArtifacts,
            id: id(1),
            user: "ada",
            chat: "c1",
            label: memory.label,
            source: None,
            ordinal: None,
            memory_id: Some("m1"),
            artifact_name: Some(&memory.artifact_name),
            importance: Some(3),
            time_ms: 1_000,
            expires_ms: Some(9_000),
            language: "eng",
            words: &kept.indices,
            counts: &kept.values,
        },
        ScannedItem {
            collection: Collection::SessionRag,
            id: id(2),
            user: "ada",
            chat: "c1",
            label: chunk.key.label,
            source: Some("s"),
            ordinal: Some(0),
            memory_id: None,
            artifact_name: None,
            importance: None,
            time_ms: 1_500,
            expires_ms: None,
            language: "eng",
            words: &kept.indices,
            counts: &kept.values,
        },
    ];
    assert_eq!(
        items,
        expected.map(|item| format!("{item:?}")),
        "what counts is told once, without what was deleted or superseded"
    );
    let of = |collection, number, vectors: &Vectors| {
        let told = ScannedVectors {
            collection,
            id: id(number),
            dense: &vectors.dense,
            sparse: vectors.sparse.as_deref().cloned(),
        };
        format!("{told:?}")
    };
    let expected = [
        of(Collection::MetaArtifacts, 1, &vectors("one", 0.5)),
        of(Collection::MetaArtifacts, 3, &vectors("one", 0.5)),
        of(Collection::SessionRag, 2, &vectors("one", 0.75)),
    ];
    assert_eq!(found, expected, "vectors bit for bit");
    assert_eq!(
        scanned(records, 7, "two").await.map(|(_, found)| found),
        Some(Vec::new()),
        "no vectors of another model"
    );
    assert_eq!(scanned(records, 8, "one").await, None, "words of another form");
}
