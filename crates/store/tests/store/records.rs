//! Both implementations of the records of memories, and the file between two starts.

use tidegate_policy::{Classification, Label};
use tidegate_store::{
    Durability, Expected, MemoryQuery, MemoryRecord, MemoryRecords, MemoryState, PointId, Provenance, RecordWrite,
    Records, RecordsCommit, SqliteStore,
};
use tidegate_testing::conformance;

#[tokio::test]
async fn records_in_memory_keep_the_contract() {
    conformance::records(async || MemoryRecords::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_in_a_file_keep_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::sync::atomic::AtomicU32::new(0);
    conformance::records(async || {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        SqliteStore::open(folder.path().join(format!("{number}.sqlite")), Durability::Process).unwrap()
    })
    .await;
}

fn memory(number: u128) -> MemoryRecord {
    MemoryRecord {
        id: PointId::from_u128(number),
        user: "ada".into(),
        chat: "c1".into(),
        memory_id: format!("m{number}").as_str().into(),
        artifact_name: "likes".to_owned(),
        fact: "likes tea".to_owned(),
        importance: 3,
        tags: Vec::new(),
        language: "eng".to_owned(),
        created_ms: 1,
        updated_ms: 1,
        expires_ms: 2,
        label: Label::trusted(Classification::Internal),
        provenance: Provenance::User,
        supersedes: Vec::new(),
        state: MemoryState::Active,
        version: 1,
        vectors: None,
        sequence: 0,
    }
}

#[tokio::test]
async fn what_was_committed_is_there_at_the_next_start_and_numbers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut last = 0;
    for number in 1..=3_u128 {
        let store = SqliteStore::open(&path, Durability::Power).unwrap();
        let put = RecordWrite::PutMemory {
            record: Box::new(memory(number)),
            expected: Expected::Absent,
        };
        let delete = RecordWrite::DeleteMemory {
            id: PointId::from_u128(number - 1),
            expected: Expected::Anything,
        };
        let done = Records::write(&store, vec![put, delete]).await.unwrap();
        let RecordsCommit::Done { sequence, .. } = done else {
            panic!("{done:?}")
        };
        assert!(sequence > last, "a number is never given twice, whatever was deleted");
        last = sequence;
        let found = store.memories(MemoryQuery::default()).await.unwrap();
        assert_eq!(found.len(), 1);
        store.close().await;
    }
}
