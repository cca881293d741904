//! The journal, and what is kept beside items.

use super::{chunk, counts, got, id, key, memory, model, one, put, replace, vectors};
use std::sync::Arc;
use tidegate_store::{
    Change, Collection, Expected, Item, OutlineQuery, Outlined, RecordWrite, Records, SparseVector,
    UnstagedQuery,
};

pub(super) fn told(changes: &[Change]) -> Vec<(Collection, u128, bool)> {
    changes
        .iter()
        .map(|change| (change.collection, change.id.as_u128(), change.item.is_some()))
        .collect()
}

pub(super) async fn journal(records: &dyn Records) {
    use Collection::{MetaArtifacts, SessionRag};
    assert_eq!(got(records.changes(0, 10).await), [], "a new journal is empty");
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    let of = key("c1", "s");
    counts(
        records,
        vec![
            put(memory(1, "a"), Expected::Anything),
            replace(
                &of,
                vec![chunk(1, of.clone(), 0, "x"), chunk(2, of.clone(), 1, "y")],
            ),
            put(memory(2, "b"), Expected::Anything),
        ],
    )
    .await;
    let all = got(records.changes(0, 10).await);
    assert_eq!(
        told(&all),
        [
            (MetaArtifacts, 1, true),
            (SessionRag, 1, true),
            (SessionRag, 2, true),
            (MetaArtifacts, 2, true)
        ]
    );
    for change in &all {
        let Some(item) = &change.item else {
            panic!("every item is there")
        };
        assert_eq!(
            (item.id(), item.collection(), item.sequence()),
            (change.id, change.collection, change.sequence)
        );
        assert!(item.vectors().is_some(), "items come with vectors");
    }
    let sequences: Vec<u64> = all.iter().map(|change| change.sequence).collect();
    assert!(
        sequences.is_sorted() && sequences.first() > Some(&0),
        "in order: {sequences:?}"
    );
    let Some(second) = sequences.get(1) else {
        panic!("four changes")
    };
    assert_eq!(
        told(&got(records.changes(*second, 1).await)),
        [(SessionRag, 2, true)],
        "from behind a number, up to a limit"
    );

    counts(
        records,
        vec![
            put(memory(1, "again"), Expected::Anything),
            RecordWrite::DeleteMemory {
                id: id(2),
                expected: Expected::Anything,
            },
            RecordWrite::DeleteSource(of),
        ],
    )
    .await;
    let all = got(records.changes(0, 10).await);
    assert_eq!(
        told(&all),
        [
            (MetaArtifacts, 1, true),
            (MetaArtifacts, 2, false),
            (SessionRag, 1, false),
            (SessionRag, 2, false)
        ],
        "each item once, with its last change; what was deleted is told"
    );
    let last = all.last().map(|change| change.sequence);
    assert_eq!(
        Some(got(records.statistics().await).sequence),
        last,
        "the last number is told"
    );
}

pub(super) async fn words(records: &dyn Records) {
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    let of = key("c1", "s");
    let chunk = chunk(2, of.clone(), 0, "x");
    let kept = Arc::new(SparseVector {
        indices: vec![3, u32::MAX],
        values: vec![1.0, 2.5],
    });
    let keep = |collection, number, sequence| RecordWrite::KeepWords {
        collection,
        id: id(number),
        sequence,
        form: 7,
        words: Arc::clone(&kept),
    };
    counts(
        records,
        vec![
            put(memory(1, "a"), Expected::Anything),
            keep(Collection::MetaArtifacts, 1, None),
            replace(&of, vec![chunk.clone()]),
            keep(Collection::SessionRag, 2, None),
        ],
    )
    .await;
    let sequence = got(records.statistics().await).sequence;
    let query = |form, vectors_behind| OutlineQuery {
        after: 0,
        limit: 10,
        form,
        vectors_behind,
    };
    for (form, vectors_behind) in [(7, 0), (7, sequence), (8, 0)] {
        let told = got(records.outlines(query(form, vectors_behind)).await);
        assert_eq!(told.len(), 2, "each item once");
        for change in &told {
            match &change.item {
                Outlined::Gone => panic!("both are there"),
                Outlined::Whole(item) => assert_eq!(item.id(), change.id),
                Outlined::Outline(outline) => {
                    assert_eq!(form, 7, "words of another form are not given out");
                    assert_eq!(outline.words, *kept);
                    assert_eq!(
                        outline.vectors.is_some(),
                        vectors_behind == 0,
                        "vectors behind a number"
                    );
                    assert_eq!(outline.user, "ada".into());
                    let expected = match change.collection {
                        Collection::MetaArtifacts => memory(1, "a").label,
                        Collection::SessionRag => chunk.key.label,
                    };
                    assert_eq!(outline.label, expected);
                }
            }
        }
    }
    // A copy of an earlier text is none of the present one.
    counts(records, vec![put(memory(1, "b"), Expected::Anything)]).await;
    counts(records, vec![keep(Collection::MetaArtifacts, 1, Some(sequence))]).await;
    let told = got(records.outlines(query(7, 0)).await);
    let Some(of_memory) = told
        .iter()
        .find(|change| change.collection == Collection::MetaArtifacts)
    else {
        panic!("the memory is there")
    };
    let Outlined::Whole(Item::Memory(whole)) = &of_memory.item else {
        panic!(
            "a new text begins without words, and is told whole: {:?}",
            of_memory.item
        )
    };
    assert_eq!(whole.fact, "b");
    // What was deleted is gone in outlines too.
    let delete = RecordWrite::DeleteMemory {
        id: id(1),
        expected: Expected::Anything,
    };
    counts(records, vec![delete, RecordWrite::DeleteSource(of)]).await;
    let told = got(records.outlines(query(7, 0)).await);
    assert!(told.iter().all(|change| change.item == Outlined::Gone));
}

pub(super) async fn other_model(records: &dyn Records) {
    assert_eq!(got(records.model().await), None, "new records have no model");
    counts(records, vec![RecordWrite::SetModel(model("one"))]).await;
    assert_eq!(got(records.model().await), Some(model("one")));
    let of = key("c1", "s");
    counts(
        records,
        vec![
            put(memory(1, "a"), Expected::Anything),
            put(memory(2, "b"), Expected::Anything),
            replace(&of, vec![chunk(3, of.clone(), 0, "x")]),
        ],
    )
    .await;
    let unstaged = async |collection| -> Vec<Item> {
        let query = UnstagedQuery {
            collection,
            model: "two".to_owned(),
            after: None,
            limit: 10,
        };
        got(records.unstaged(query).await)
    };
    let waiting = unstaged(Collection::MetaArtifacts).await;
    assert_eq!(
        waiting.iter().map(|item| item.id().as_u128()).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(unstaged(Collection::SessionRag).await.len(), 1);
    let stage = |item: &Item, sequence| RecordWrite::StageVectors {
        collection: item.collection(),
        id: item.id(),
        sequence,
        vectors: vectors("two", 2.0),
    };
    for item in &waiting {
        assert_eq!(
            counts(records, vec![stage(item, item.sequence() + 100)]).await,
            [0],
            "a text that changed is not staged"
        );
        assert_eq!(counts(records, vec![stage(item, item.sequence())]).await, [1]);
    }
    assert_eq!(
        unstaged(Collection::MetaArtifacts).await,
        [],
        "what is staged waits no more"
    );
    let of_model = async |number| {
        one(records, number)
            .await
            .and_then(|memory| memory.vectors)
            .map(|vectors| vectors.model.to_string())
    };
    assert_eq!(
        of_model(1).await.as_deref(),
        Some("one"),
        "until the switch the old vectors are there"
    );
    // Written anew meanwhile: what was staged is of another text.
    counts(records, vec![put(memory(2, "changed"), Expected::Anything)]).await;
    assert_eq!(unstaged(Collection::MetaArtifacts).await.len(), 1);
    let before = got(records.statistics().await).sequence;
    assert_eq!(
        counts(records, vec![RecordWrite::SetModel(model("two"))]).await,
        [3],
        "every item counts as changed"
    );
    assert_eq!(got(records.model().await), Some(model("two")));
    assert_eq!(of_model(1).await.as_deref(), Some("two"));
    assert_eq!(of_model(2).await, None, "vectors of another model are none");
    assert_eq!(
        got(records.changes(before, 10).await).len(),
        3,
        "an index hears of every item"
    );
}
