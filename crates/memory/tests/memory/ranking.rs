//! What stands before what.

use crate::common::*;
use std::sync::Arc;
use tidegate_memory::{MemorySearch, MemorySettings, Mode, NewMemory};
use tidegate_policy::{Classification, Label};
use tidegate_store::{Expected, MemoryQuery, MemoryRecords, RecordWrite, Records};

fn dense() -> MemorySettings {
    MemorySettings {
        mode: Mode::Dense,
        ..MemorySettings::default()
    }
}

/// A memory of its own group, so that none is merged at write.
fn of_importance(text: &str, importance: u8) -> NewMemory {
    NewMemory {
        importance,
        memory_id: Some(text.into()),
        ..NewMemory::new("likes", text)
    }
}

#[tokio::test]
async fn importance_weighs_and_thresholds_cut_for_a_calibrated_model() {
    let table = [
        // cosine, importance, score or none
        (0.90, 1, Some(0.495)),
        (0.81, 1, None),
        (0.61, 2, Some(0.4575)),
        (0.59, 2, None),
        (0.45, 3, Some(0.45)),
        (0.44, 3, None),
        (0.36, 4, Some(0.468)),
        (0.34, 4, None),
        (0.36, 5, Some(0.612)),
        (0.34, 5, None),
        (1.00, 5, Some(1.7)),
    ];
    for (cosine, importance, expected) in table {
        let embedder = Told::new(true).cosine("query", 1.0).cosine("fact", cosine);
        let memory = with(embedder).settings(dense()).open().await.unwrap();
        remember(&memory, &ada(), of_importance("fact", importance)).await;
        let found = recall(&memory, &ada(), "query").await;
        let score = found.hits.first().map(|hit| hit.score);
        let is_expected = match (score, expected) {
            (Some(score), Some(expected)) => f32::abs(score - expected) < 1e-4,
            (found, expected) => found == expected,
        };
        assert!(
            is_expected,
            "cosine {cosine}, importance {importance}: {score:?} instead of {expected:?}"
        );
    }
}

/// Forty memories, the first nearest; one of them is important.
async fn with_important(calibrated: bool, important: usize) -> Vec<String> {
    let name = |number: usize| format!("zz{number:02}");
    let mut embedder = Told::new(calibrated).cosine("query", 1.0);
    for number in 1..=40 {
        embedder = embedder.cosine(&name(number), 0.9 - 0.01 * number as f32);
    }
    let memory = with(embedder).settings(dense()).open().await.unwrap();
    for number in 1..=40 {
        let importance = if number == important { 5 } else { 1 };
        remember(&memory, &ada(), of_importance(&name(number), importance)).await;
    }
    let search = MemorySearch {
        limit: 10,
        ..MemorySearch::new("query")
    };
    let found = memory.recall(&ada(), search).await.unwrap();
    facts(&found).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn without_words_raw_rank_30_can_surface_at_limit_10_and_rank_31_cannot() {
    for calibrated in [true, false] {
        assert!(
            with_important(calibrated, 30).await.contains(&"zz30".to_owned()),
            "calibrated: {calibrated}"
        );
        assert!(
            !with_important(calibrated, 31).await.contains(&"zz31".to_owned()),
            "calibrated: {calibrated}"
        );
    }
}

#[tokio::test]
async fn filters_come_before_the_over_fetch() {
    // A hundred memories of others, of other labels and groups stand nearer than the only one that may be found.
    let mut embedder = Told::new(true).cosine("query", 1.0).cosine("mine", 0.5);
    for number in 0..100 {
        embedder = embedder.cosine(&format!("other {number}"), 0.99);
    }
    let memory = with(embedder).settings(dense()).open().await.unwrap();
    let secret = scope(
        "ada",
        Label::trusted(Classification::Confidential),
        Classification::Confidential,
    );
    let bob = scope("bob", ada().label, Classification::Confidential);
    for number in 0..100 {
        let text = format!("other {number}");
        let new = of_importance(&text, 5);
        match number % 3 {
            0 => remember(&memory, &bob, new).await,
            1 => remember(&memory, &secret, new).await,
            _ => {
                remember(
                    &memory,
                    &ada(),
                    NewMemory {
                        artifact_name: "rules".to_owned(),
                        ..new
                    },
                )
                .await
            }
        };
    }
    remember(&memory, &ada(), of_importance("mine", 3)).await;
    let search = MemorySearch {
        limit: 1,
        artifact_name: Some("likes".to_owned()),
        ..MemorySearch::new("query")
    };
    assert_eq!(facts(&memory.recall(&ada(), search).await.unwrap()), ["mine"]);
}

#[tokio::test]
async fn many_identical_facts_are_told_once_and_different_ones_are_not() {
    let memory = hashed().open().await.unwrap();
    for number in 0..49 {
        remember(
            &memory,
            &ada(),
            named(&format!("copy-{number}"), "Ada takes the ferry at seven"),
        )
        .await;
    }
    let apart = [
        "Ada takes the ferry at eight",
        "Ada never takes the ferry at seven",
        "Bob takes the ferry at seven",
    ];
    for text in apart {
        remember(&memory, &ada(), named(text, text)).await;
    }
    let search = MemorySearch {
        limit: 100,
        ..MemorySearch::new("ferry")
    };
    let found = memory.recall(&ada(), search).await.unwrap();
    let mut told = facts(&found);
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "Ada never takes the ferry at seven",
            "Ada takes the ferry at eight",
            "Ada takes the ferry at seven",
            "Bob takes the ferry at seven"
        ]
    );
    let copies = found
        .hits
        .iter()
        .find(|hit| hit.memory.fact == "Ada takes the ferry at seven")
        .unwrap();
    assert_eq!(copies.alike, 48);
}

#[tokio::test]
async fn words_find_other_forms_of_themselves_in_their_language() {
    let lexical = || MemorySettings {
        mode: Mode::Lexical,
        ..MemorySettings::default()
    };
    let table = [
        ("She was running along the shore", "run", true),
        ("She was running along the shore", "walk", false),
        (
            "Die Kinder spielten gestern im Garten hinter den alten Häusern",
            "spielen Haus",
            true,
        ),
        (
            "Les enfants jouaient dans le jardin derrière les vieilles maisons",
            "maison",
            true,
        ),
        ("Дети играли вчера в саду за старыми домами", "дом", true),
        ("我们明天在北京开会讨论预算", "北京", true),
        ("我们明天在北京开会讨论预算", "上海", false),
        ("明日は東京で会議があります", "東京", true),
        ("내일 서울에서 회의가 있습니다", "서울", true),
        ("Le café était fermé", "cafe", true),
        ("Ada\u{2019}s ferry", "Ada", true),
        ("version 3.14 of the table", "3.14", true),
        ("ＡＢＣ full width", "abc", true),
    ];
    for (text, query, expected) in table {
        let memory = hashed().settings(lexical()).open().await.unwrap();
        remember(&memory, &ada(), fact(text)).await;
        let found = recall(&memory, &ada(), query).await;
        assert_eq!(!found.hits.is_empty(), expected, "{query:?} in {text:?}");
    }
}

#[tokio::test]
async fn an_embedder_that_may_not_see_a_text_gets_none_and_words_still_find_it() {
    let mut remote = Told::new(false);
    remote.clearance = Classification::Public;
    let memory = with(remote).open().await.unwrap();
    let written = remember(&memory, &ada(), fact("Ada drinks tea")).await;
    assert!(!written.embedded);
    assert_eq!(facts(&recall(&memory, &ada(), "tea").await), ["Ada drinks tea"]);
    let public = scope("ada", Label::BOTTOM, Classification::Confidential);
    assert!(remember(&memory, &public, fact("Ada likes boats")).await.embedded);
}

#[tokio::test]
async fn thousands_that_came_and_went_leave_search_as_it_was() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = over(&records).open().await.unwrap();
    remember(&memory, &ada(), named("kept", "the lighthouse was painted red")).await;
    let kept = records.memories(MemoryQuery::default()).await.unwrap().remove(0);
    let numbers = 0..3_000_u128;
    for number in numbers.clone() {
        let mut other = kept.clone();
        other.id = tidegate_store::PointId::from_u128(number);
        other.memory_id = format!("other-{number}").as_str().into();
        other.fact = format!("the lighthouse number {number} was painted white");
        records
            .write(vec![RecordWrite::PutMemory {
                record: Box::new(other),
                expected: Expected::Anything,
            }])
            .await
            .unwrap();
    }
    let found = recall(&memory, &ada(), "lighthouse number 2999").await;
    assert_eq!(facts(&found)[0], "the lighthouse number 2999 was painted white");
    for number in numbers.skip(1) {
        let id = tidegate_store::PointId::from_u128(number);
        let expected = Expected::Anything;
        records
            .write(vec![RecordWrite::DeleteMemory { id, expected }])
            .await
            .unwrap();
    }
    let found = recall(&memory, &ada(), "which lighthouse was painted").await;
    let mut found = facts(&found);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "the lighthouse number 0 was painted white",
            "the lighthouse was painted red"
        ]
    );
}
