//! The folder of the embedded index: whose it is, what is wrong with it, what it grows to.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_memory::{IndexChange, IndexError, VectorIndex};
use tidegate_qdrant::{EmbeddedIndex, EmbeddedSettings};
use tidegate_store::{Collection, MemoryRecords, Records};

/// Without anything that happens by itself.
fn index(folder: &Path) -> EmbeddedIndex {
    EmbeddedIndex::with(EmbeddedSettings {
        rest: None,
        ..EmbeddedSettings::new(folder)
    })
    .unwrap()
}

async fn opened(folder: &Path) -> EmbeddedIndex {
    let index = index(folder);
    index.open(&model(4)).await.unwrap();
    index
}

#[tokio::test]
async fn a_folder_that_somebody_has_is_said_to_be_in_use_until_it_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).await;
    let second = index(folder.path());
    let error = second.open(&model(4)).await.unwrap_err();
    assert!(matches!(error, IndexError::InUse { .. }));
    let told = told(&error);
    assert!(
        told.contains("in use by another process") && told.contains(folder.path().to_str().unwrap()),
        "{told}"
    );
    drop(first);
    second.open(&model(4)).await.unwrap();
}

#[tokio::test]
async fn an_index_of_another_model_is_kept_until_it_is_reset() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).await;
    first.apply(upserts([point(1, 0.5)]), 1).await.unwrap();
    drop(first);

    let mut other = model(4);
    other.id = "another of the same size".to_owned();
    let second = index(folder.path());
    let error = second.open(&other).await.unwrap_err();
    assert!(matches!(error, IndexError::OtherModel { .. }), "{error}");
    drop(second);

    let third = opened(folder.path()).await;
    assert_eq!(
        (nearest(&third, 9).await.len(), third.position().await.unwrap()),
        (1, 1)
    );
    third.reset(&model(3)).await.unwrap();
    assert_eq!(third.position().await.unwrap(), 0);
    assert!(third.open(&model(4)).await.is_err());
}

#[tokio::test]
async fn of_equal_scores_the_smaller_ids_come_first_also_at_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let index = opened(folder.path()).await;
    let points = (1..=200)
        .rev()
        .map(|number| point(number, if number == 150 { 0.9 } else { 0.5 }));
    index.apply(upserts(points), 200).await.unwrap();
    let found: Vec<u128> = nearest(&index, 4)
        .await
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    assert_eq!(found, [150, 1, 2, 3]);
}

#[tokio::test]
async fn vectors_that_cannot_be_the_models_are_refused_and_the_index_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let index = opened(folder.path()).await;
    let mut long = point(1, 0.5);
    long.dense = Some([0.5; 5].into());
    let error = index.apply(upserts([long]), 1).await.unwrap_err();
    assert!(told(&error).contains("a vector of 5 values"), "{}", told(&error));
    index.apply(upserts([point(2, 0.5)]), 1).await.unwrap();
    assert_eq!(nearest(&index, 9).await.len(), 1);
}

#[tokio::test]
async fn before_it_is_opened_and_where_no_folder_can_be_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let closed = index(folder.path());
    assert!(told(&closed.flush().await.unwrap_err()).contains("not open"));
    assert!(closed.position().await.is_err());

    let file = folder.path().join("a file");
    std::fs::write(&file, "text").unwrap();
    let error = index(&file.join("below")).open(&model(4)).await.unwrap_err();
    assert!(told(&error).contains("cannot be made"), "{}", told(&error));
}

/// The parts of the log that are closed, and the bytes of all.
fn log(folder: &Path) -> (usize, u64) {
    let entries = std::fs::read_dir(folder.join(Collection::MetaArtifacts.as_str()).join("wal")).unwrap();
    let (mut closed, mut bytes) = (0, 0);
    for entry in entries.flatten() {
        closed += usize::from(entry.file_name().to_str().unwrap().starts_with("closed-"));
        bytes += entry.metadata().unwrap().len();
    }
    (closed, bytes)
}

#[tokio::test]
async fn its_log_stays_small_and_what_comes_after_it_was_cut_counts() {
    let folder = tempfile::tempdir().unwrap();
    let index_of = |dimension: usize| {
        let index = index(folder.path());
        async move {
            index.open(&model(dimension)).await.unwrap();
            index
        }
    };
    let wide = |number: u128, cosine: f32| {
        let mut wide = point(number, cosine);
        let mut values = wide.dense.unwrap().to_vec();
        values.resize(1_024, 0.0);
        wide.dense = Some(values.into());
        wide
    };
    let index = index_of(1_024).await;
    for round in 1..=8_u16 {
        let points = (1..=200).map(|number| wide(number, f32::from(round) / 10.0));
        index.apply(upserts(points), round.into()).await.unwrap();
        index.flush().await.unwrap();
        let (closed, bytes) = log(folder.path());
        assert!(
            closed <= 1 && bytes < 8_000_000,
            "{closed} closed parts, {bytes} bytes"
        );
    }
    drop(index);

    let index = index_of(1_024).await;
    assert_eq!(index.position().await.unwrap(), 8);
    // Had the numbers of the log begun again, the engine would leave these out as old ones.
    let changed = upserts((1..=100).map(|number| wide(number, 0.95)));
    index.apply(changed, 9).await.unwrap();
    let gone = (101..=200).map(|number| IndexChange::Delete {
        collection: Collection::MetaArtifacts,
        id: tidegate_store::PointId::from_u128(number),
    });
    index.apply(gone.collect(), 10).await.unwrap();
    assert_eq!(counts(&index).await, (100, 0));
    drop(index);
    let index = index_of(1_024).await;
    assert_eq!(
        (counts(&index).await, index.position().await.unwrap()),
        ((100, 0), 10)
    );
}

#[tokio::test]
async fn a_graph_is_built_while_writing_and_searching_go_on_and_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let index = EmbeddedIndex::with(EmbeddedSettings {
        rest: None,
        graph_from_kilobytes: 1,
        ..EmbeddedSettings::new(folder.path())
    })
    .unwrap();
    index.open(&model(4)).await.unwrap();
    let cosine = |number: u128| 1.0 - number as f32 / 1_000.0;
    index
        .apply(
            upserts((1..=500).map(|number| point(number, cosine(number)))),
            500,
        )
        .await
        .unwrap();
    let (built, changed, flushed) = tokio::join!(
        index.optimise(),
        index.apply(
            upserts((501..=600).map(|number| point(number, cosine(number)))),
            600
        ),
        index.flush(),
    );
    assert!(built.unwrap(), "a graph was built");
    (changed.unwrap(), flushed.unwrap());
    let gone = |number| IndexChange::Delete {
        collection: Collection::MetaArtifacts,
        id: tidegate_store::PointId::from_u128(number),
    };
    index.apply(vec![gone(1), gone(550)], 602).await.unwrap();
    let expected: Vec<u128> = (2..=21).collect();
    let numbers = |found: Vec<(u128, f32)>| found.into_iter().map(|(number, _)| number).collect::<Vec<_>>();
    assert_eq!(numbers(nearest(&index, 20).await), expected);
    drop(index);

    let index = opened(folder.path()).await;
    assert_eq!(index.position().await.unwrap(), 602);
    assert_eq!(counts(&index).await, (598, 0));
    assert_eq!(numbers(nearest(&index, 20).await), expected);
}

/// A way to damage a folder, by what is done to it.
type Damage = (&'static str, fn(&Path));

fn segment_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.join(Collection::MetaArtifacts.as_str()).join("segments")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files
}

#[tokio::test]
async fn a_damaged_folder_is_told_reads_go_on_and_a_rebuild_mends_it() {
    let damages: [Damage; 5] = [
        ("a position that is none", |folder| {
            std::fs::write(folder.join("position.json"), "{").unwrap();
        }),
        ("a position of another version", |folder| {
            let text = std::fs::read_to_string(folder.join("position.json")).unwrap();
            let other = text.replace("\"format\":1", "\"format\":99");
            assert_ne!(text, other);
            std::fs::write(folder.join("position.json"), other).unwrap();
        }),
        ("a collection that is gone", |folder| {
            std::fs::remove_dir_all(folder.join(Collection::MetaArtifacts.as_str())).unwrap();
        }),
        ("segments without their description", |folder| {
            let described = segment_files(folder);
            let mut described = described
                .iter()
                .filter(|path| path.ends_with("segment.json"))
                .peekable();
            assert!(described.peek().is_some());
            described.for_each(|path| std::fs::write(path, "no json").unwrap());
        }),
        ("a log that is not one", |folder| {
            let log = folder.join(Collection::MetaArtifacts.as_str()).join("wal");
            for entry in std::fs::read_dir(log).unwrap().flatten() {
                std::fs::write(entry.path(), "not a log").unwrap();
            }
        }),
    ];
    for (what, damage) in damages {
        let folder = tempfile::tempdir().unwrap();
        let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
        let memory = dense(&records, Arc::new(index(folder.path()))).await;
        for number in 0..5 {
            remember(&memory, &format!("m{number}"), &format!("tide {number}")).await;
        }
        let expected = all(&memory).await;
        assert_eq!(expected.len(), 5);
        memory.flush().await.unwrap();
        drop(memory);
        damage(folder.path());

        let embedder = tidegate_memory::HashedEmbedder::new();
        let model = tidegate_memory::Embedder::model(&embedder).clone();
        let damaged = index(folder.path());
        let error = damaged.open(&model).await.unwrap_err();
        let said = told(&error);
        assert!(
            said.contains("is damaged") && said.contains("memory reindex"),
            "{what}: {said}"
        );
        assert!(
            !said.contains('\n') && said.len() < 900,
            "{what}: no traces in {said}"
        );
        drop(damaged);

        let memory = dense(&records, Arc::new(index(folder.path()))).await;
        assert_eq!(
            all(&memory).await,
            expected,
            "{what}: reads go on from the records"
        );
        remember(&memory, "m5", "tide 5").await;
        assert_eq!(memory.index(), ("embedded", false), "{what}");
        memory.reindex().await.unwrap();
        assert_eq!(memory.index(), ("embedded", true), "{what}: it is mended");
        assert_eq!(all(&memory).await.len(), 6, "{what}");
        drop(memory);
        let mended = index(folder.path());
        mended.open(&model).await.unwrap();
        assert_eq!(counts(&mended).await, (6, 0), "{what}");
    }
}
