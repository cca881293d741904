//! Files of earlier schemas.

use crate::common::*;
use tidegate_policy::{Classification, Label};
use tidegate_store::*;

/// A file as the first version made it: the session `old`, with a turn, entries and a journal.
fn version_1(path: &std::path::PathBuf) {
    let taint = r#"{"label":{"classification":"INTERNAL","integrity":"UNTRUSTED"},"lineage":[]}"#;
    let usage = r#"{"uncached":1,"cache_read":2,"cache_write":3,"output":4}"#;
    let hello = r#"{"author":"person","content":[{"type":"text","text":"hello"}]}"#;
    let connection = sqlite(path);
    connection
        .execute_batch(include_str!("../../src/sqlite/migrations/0001_sessions.sql"))
        .unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA application_id = {}; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;
             INSERT INTO meta (name, value) VALUES ('program', '0.0.9');
             INSERT INTO sessions VALUES (1, '{}', 'old', 'local', 'in_turn', '{}', 3, 'auto', 'CONFIDENTIAL',
                 '{taint}', 'hello', '{usage}', 1, 1, 1000, 2000);
             INSERT INTO setups VALUES (1, '/home/owner', 'You keep secrets.', '[]');
             INSERT INTO entries VALUES (1, 1, '{}', 'PUBLIC', 'TRUSTED', 'user', '{hello}');
             INSERT INTO events VALUES (1, 1, 1, 1500, NULL, 'PUBLIC', 'TRUSTED', 'turn.started',
                 '{{\"kind\":\"turn.started\"}}');",
            0x5464_6774,
            session(1),
            turn(7),
            turn(7),
        ))
        .unwrap();
}

#[test]
fn a_file_of_schema_1_is_brought_up_with_all_that_is_in_it() {
    let (_folder, path) = place();
    version_1(&path);
    for _ in 0..2 {
        let store = open(&path);
        let summary = run(store.summary(session(1))).unwrap().unwrap();
        assert_eq!(summary.title, "hello");
        let record = summary.record;
        assert_eq!((record.turns, record.state), (3, SessionState::InTurn(turn(7))));
        assert_eq!(record.acknowledged, Classification::Public);
        assert_eq!((record.created_ms, record.changed_ms), (1_000, 2_000));
        assert_eq!(text_of(&run(store.entries(session(1))).unwrap()[0]), "hello");
        assert_eq!(run(store.events(EventFilter::default())).unwrap().len(), 1);
        assert_eq!(run(store.approvals(ApprovalFilter::default())).unwrap(), vec![]);
        run(store.close());
    }
    let version: i64 = sqlite(&path)
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 7);
}

#[test]
fn a_file_that_was_brought_up_takes_what_is_new() {
    let (_folder, path) = place();
    version_1(&path);
    let store = open(&path);
    let patch = SessionPatch {
        acknowledged: Some(Classification::Confidential),
        ..SessionPatch::default()
    };
    let ask = crate::approvals::ask(1, "call_2_0", 7);
    commit(&store, vec![Write::PatchSession(session(1), patch), ask]).unwrap();
    assert_eq!(run(store.approvals(ApprovalFilter::default())).unwrap().len(), 1);
    let record = run(store.session(session(1))).unwrap().unwrap();
    assert_eq!(record.acknowledged, Classification::Confidential);
}

/// A file of schema 6 with the source `notes` of a session, its chunk and its row in the registry.
fn version_6(path: &std::path::PathBuf) {
    let connection = sqlite(path);
    for step in [
        include_str!("../../src/sqlite/migrations/0001_sessions.sql"),
        include_str!("../../src/sqlite/migrations/0002_approvals.sql"),
        include_str!("../../src/sqlite/migrations/0003_pending_writes.sql"),
        include_str!("../../src/sqlite/migrations/0004_memories.sql"),
        include_str!("../../src/sqlite/migrations/0005_prompts.sql"),
        include_str!("../../src/sqlite/migrations/0006_memory_words.sql"),
    ] {
        connection.execute_batch(step).unwrap();
    }
    connection
        .execute_batch(&format!(
            "PRAGMA application_id = {}; PRAGMA user_version = 6; PRAGMA journal_mode = WAL;
             INSERT INTO meta (name, value) VALUES ('program', '0.0.9');
             INSERT INTO memory_sources VALUES (5, 'ada', 'c1', 'notes', 'CONFIDENTIAL', 'TRUSTED', 1, 4, 1, '[]', 'tide');
             INSERT INTO memory_chunks VALUES (x'000102030405060708090a0b0c0d0e0f', 5, 0, 'tide', '', 'eng', 1, 1, 0, 4, 1,
                 1, x'0100000000000080');
             INSERT INTO memory_journal (collection, id) VALUES (1, x'000102030405060708090a0b0c0d0e0f');
             INSERT INTO memory_resources VALUES ('ada', 'c1', 'notes', 'tide.md', 'text/markdown', 4, 'CONFIDENTIAL',
                 'TRUSTED', '{{\"state\":\"INDEXED\"}}', NULL, 1, 1);",
            0x5464_6774,
        ))
        .unwrap();
}

#[test]
fn sources_of_schema_6_stay_as_they_are_and_take_others_of_their_name_beside_them() {
    let (_folder, path) = place();
    version_6(&path);
    let store = open(&path);
    let secret = SourceKey {
        user: "ada".into(),
        chat: "c1".into(),
        source: "notes".into(),
        label: Label::trusted(Classification::Confidential),
    };
    let public = SourceKey {
        label: Label::BOTTOM,
        ..secret.clone()
    };
    let keys = || -> Vec<SourceKey> {
        let found = run(store.memory_sources(SourceQuery::default())).unwrap();
        found.into_iter().map(|source| source.key).collect()
    };
    let old = run(store.memory_sources(SourceQuery::default())).unwrap();
    let resources = run(store.resources(SourceQuery::default())).unwrap();
    assert_eq!(
        (&old[0].key, old[0].chunks, &resources[0].key),
        (&secret, 1, &secret)
    );

    let second = SourceRecord {
        key: public.clone(),
        ..old[0].clone()
    };
    let write = RecordWrite::ReplaceSource {
        source: Box::new(second),
        chunks: Vec::new(),
    };
    run(store.write(vec![write])).unwrap();
    assert_eq!(keys(), [public.clone(), secret.clone()]);
    let chunks = run(store.chunks(ChunkQuery::default())).unwrap();
    assert_eq!(
        (chunks.len(), &chunks[0].key, chunks[0].text.as_str()),
        (1, &secret, "tide")
    );
    run(store.write(vec![RecordWrite::DeleteSource(secret)])).unwrap();
    assert_eq!(keys(), [public]);
    assert_eq!(run(store.chunks(ChunkQuery::default())).unwrap(), []);
    assert_eq!(run(store.resources(SourceQuery::default())).unwrap(), []);
}
