//! Writing, replacing, merging, forgetting.

use crate::common::*;
use std::sync::Arc;
use tidegate_memory::{
    Auxiliary, Cause, Distilled, Memory, MemoryError, MemoryListing, MemorySearch, NewMemory, Outcome, Period,
};
use tidegate_policy::Classification;
use tidegate_store::{MemoryRecords, MemoryState, Provenance, Records};
use tidegate_tools::BoxFuture;

#[tokio::test]
async fn the_same_name_replaces_text_vectors_and_words_and_keeps_its_birthday() {
    let clock = Clock::at(1_000);
    let memory = hashed().clock(clock.reader()).open().await.unwrap();
    assert_eq!(
        outcome(&memory, &ada(), named("drink", "Ada drinks green tea")).await,
        Outcome::Created
    );
    clock.advance(DAY_MS);
    assert_eq!(
        outcome(&memory, &ada(), named("drink", "Ada drinks black coffee")).await,
        Outcome::Replaced
    );

    let found = recall(&memory, &ada(), "coffee").await;
    assert_eq!(facts(&found), ["Ada drinks black coffee"]);
    let kept = &found.hits[0].memory;
    assert_eq!(
        (kept.version, kept.created_ms, kept.updated_ms),
        (2, 1_000, 1_000 + DAY_MS)
    );
    // Neither by its vector nor by its words the earlier text is found.
    let found = recall(&memory, &ada(), "green tea").await;
    assert!(facts(&found).is_empty(), "{:?}", facts(&found));
    let lexical = tidegate_memory::MemorySettings {
        mode: tidegate_memory::Mode::Lexical,
        ..tidegate_memory::MemorySettings::default()
    };
    let words = hashed().settings(lexical).open().await.unwrap();
    remember(&words, &ada(), named("drink", "Ada drinks green tea")).await;
    remember(&words, &ada(), named("drink", "Ada drinks black coffee")).await;
    assert!(facts(&recall(&words, &ada(), "green tea").await).is_empty());

    let history = memory.history(&ada(), &"drink".into()).await.unwrap();
    let told: Vec<&str> = history[0].1.iter().map(|version| version.fact.as_str()).collect();
    assert_eq!(told, ["Ada drinks green tea", "Ada drinks black coffee"]);
}

#[tokio::test]
async fn users_and_names_never_collide() {
    let memory = hashed().open().await.unwrap();
    let a = scope("a", ada().label, Classification::Confidential);
    let a_b = scope("a_b", ada().label, Classification::Confidential);
    remember(&memory, &a, named("b_c", "the gate is blue")).await;
    remember(&memory, &a_b, named("c", "the gate is red")).await;
    assert_eq!(facts(&recall(&memory, &a, "gate").await), ["the gate is blue"]);
    assert_eq!(facts(&recall(&memory, &a_b, "gate").await), ["the gate is red"]);
}

#[tokio::test]
async fn what_says_the_same_is_refreshed_and_what_differs_stays_beside_it() {
    let table = [
        (
            "Max is allergic to nuts",
            "Max is allergic to nuts",
            Outcome::Refreshed,
        ),
        (
            "Max is allergic to nuts",
            "Max is allergic to nuts.",
            Outcome::Refreshed,
        ),
        (
            "Max is allergic to nuts",
            "Max is not allergic to nuts",
            Outcome::Created,
        ),
        (
            "Max is allergic to nuts",
            "Max isn't allergic to nuts",
            Outcome::Created,
        ),
        (
            "Max is allergic to nuts",
            "Eva is allergic to nuts",
            Outcome::Created,
        ),
        ("The code is 4711", "The code is 4712", Outcome::Created),
        ("Pi is 3.14", "Pi is 3.15", Outcome::Created),
        (
            "The loan runs until 2026-11-29",
            "The loan runs until 2027-11-29",
            Outcome::Created,
        ),
        (
            "The office opens on Monday",
            "The office opens on Tuesday",
            Outcome::Created,
        ),
        (
            "Max ist allergisch gegen Nüsse",
            "Max ist nicht allergisch gegen Nüsse",
            Outcome::Created,
        ),
        (
            "Léa mange du poisson",
            "Léa ne mange pas du poisson",
            Outcome::Created,
        ),
        ("他喜欢喝茶", "他不喜欢喝茶", Outcome::Created),
        ("It is -5 degrees", "It is 5 degrees", Outcome::Created),
    ];
    for (first, second, expected) in table {
        // The hardest case: vectors that say that both are the same.
        let same = || Told::new(false).cosine(first, 1.0).cosine(second, 1.0);
        let memory = with(same()).open().await.unwrap();
        remember(&memory, &ada(), fact(first)).await;
        assert_eq!(
            outcome(&memory, &ada(), fact(second)).await,
            expected,
            "{first:?} and {second:?}"
        );
    }
}

#[tokio::test]
async fn a_refresh_takes_the_higher_importance_and_the_later_date() {
    let clock = Clock::at(1_000);
    let memory = hashed().clock(clock.reader()).open().await.unwrap();
    for importance in [2, 4, 1] {
        let new = NewMemory {
            importance,
            ..fact("Ada drinks green tea")
        };
        remember(&memory, &ada(), new).await;
        clock.advance(1);
    }
    let found = recall(&memory, &ada(), "tea").await;
    let kept = &found.hits[0].memory;
    assert_eq!(
        (found.hits.len(), kept.importance, kept.updated_ms, kept.version),
        (1, 4, 1_002, 1)
    );
    assert_eq!(kept.expires_ms, 1_002 + 365 * DAY_MS);
}

/// Merges by a slash, names by the number of words.
struct Slash;

impl Auxiliary for Slash {
    fn clearance(&self) -> Classification {
        Classification::Internal
    }

    fn distil<'a>(&'a self, fact: &'a str) -> BoxFuture<'a, Result<Distilled, Cause>> {
        let distilled = Distilled {
            memory_id: format!(" Fact: {}! ", fact.len()),
            tags: vec!["one".to_owned(), "two".to_owned()],
        };
        Box::pin(std::future::ready(Ok(distilled)))
    }

    fn merge<'a>(&'a self, facts: &'a [String]) -> BoxFuture<'a, Result<String, Cause>> {
        Box::pin(std::future::ready(Ok(facts.join(" / "))))
    }
}

#[tokio::test]
async fn what_is_nearly_the_same_is_merged_by_a_model_and_else_stays_side_by_side() {
    let (first, second) = ("the user drinks a lot of green tea", "the user often drinks tea");
    let merged = format!("{first} / {second}");
    let near = || {
        let tagged = |text: &str| format!("{text}\none, two");
        Told::new(false)
            .cosine(first, 1.0)
            .cosine(second, 0.9)
            .cosine(&tagged(first), 1.0)
            .cosine(&tagged(second), 0.9)
            .vector(&tagged(&merged), vec![0.0, 1.0, 1.0])
    };
    let alone = with(near()).open().await.unwrap();
    remember(&alone, &ada(), fact(first)).await;
    assert_eq!(
        outcome(&alone, &ada(), fact(second)).await,
        Outcome::Created,
        "without a model both stay"
    );

    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = Memory::builder(Arc::clone(&records), Arc::new(near()))
        .auxiliary(Arc::new(Slash))
        .open()
        .await
        .unwrap();
    let kept = remember(
        &memory,
        &ada(),
        NewMemory {
            importance: 5,
            ..fact(first)
        },
    )
    .await;
    assert_eq!(kept.memory_id.as_str(), "fact-34", "a distilled name is cleaned");
    let written = remember(&memory, &ada(), fact(second)).await;
    assert_eq!(
        (written.outcome, &written.memory_id),
        (Outcome::Merged, &kept.memory_id)
    );
    let query = tidegate_store::MemoryQuery {
        vectors: true,
        ..Default::default()
    };
    let all = records.memories(query).await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].fact.as_str(), all[0].importance), (merged.as_str(), 5));
    assert_eq!(
        all[0].vectors.as_ref().unwrap().dense[0],
        0.0,
        "the vector is that of the merged text"
    );

    // Above the model's clearance nothing is given to it.
    let secret = scope(
        "ada",
        tidegate_policy::Label::trusted(Classification::Confidential),
        Classification::Confidential,
    );
    let kept = remember(&memory, &secret, fact(first)).await;
    assert!(
        kept.memory_id.as_str().starts_with("user-drinks"),
        "named by its words: {}",
        kept.memory_id
    );
    assert_eq!(outcome(&memory, &secret, fact(second)).await, Outcome::Created);
}

#[tokio::test]
async fn names_made_of_words_are_the_same_for_the_same_fact_and_differ_for_others() {
    let memory = hashed().open().await.unwrap();
    let long = "the user prefers short answers in the morning before the first cup of";
    let first = remember(&memory, &ada(), fact(&format!("{long} tea"))).await;
    let second = remember(&memory, &ada(), fact(&format!("{long} coffee"))).await;
    assert_ne!(first.memory_id, second.memory_id);
    assert!(
        first
            .memory_id
            .as_str()
            .starts_with("user-prefers-short-answers-morning"),
        "{}",
        first.memory_id
    );
    let again = hashed().open().await.unwrap();
    assert_eq!(
        remember(&again, &ada(), fact(&format!("{long} tea")))
            .await
            .memory_id,
        first.memory_id
    );
    let cjk = remember(&memory, &ada(), fact("他喜欢喝茶")).await;
    assert!(!cjk.memory_id.as_str().is_empty());
}

#[tokio::test]
async fn forgetting_tells_whether_there_was_something_and_leaves_nothing() {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = over(&records).open().await.unwrap();
    remember(&memory, &ada(), named("drink", "Ada drinks tea")).await;
    remember(&memory, &ada(), named("drink", "Ada drinks coffee")).await;
    assert!(memory.forget(&ada(), &"drink".into()).await.unwrap().existed());
    assert!(!memory.forget(&ada(), &"drink".into()).await.unwrap().existed());
    assert!(facts(&recall(&memory, &ada(), "coffee").await).is_empty());
    assert!(memory.history(&ada(), &"drink".into()).await.unwrap().is_empty());
    assert_eq!(records.statistics().await.unwrap().memories, 0);
}

#[tokio::test]
async fn what_is_superseded_is_kept_and_not_recalled() {
    let memory = hashed().open().await.unwrap();
    remember(&memory, &ada(), named("home-1", "Ada lives in Oslo")).await;
    let new = NewMemory {
        supersedes: vec!["home-1".into()],
        ..named("home-2", "Ada lives in Bergen")
    };
    remember(&memory, &ada(), new).await;
    assert_eq!(
        facts(&recall(&memory, &ada(), "where does Ada live").await),
        ["Ada lives in Bergen"]
    );
    let all = memory.export(&"ada".into()).await.unwrap();
    assert_eq!(
        all.iter()
            .filter(|memory| memory.state == MemoryState::Active)
            .count(),
        1
    );
    assert_eq!(all.len(), 2);
    // Forgetting the new one takes the old one along.
    memory.forget(&ada(), &"home-2".into()).await.unwrap();
    assert!(memory.export(&"ada".into()).await.unwrap().is_empty());
}

#[tokio::test]
async fn memories_end_unless_they_are_renewed() {
    for (importance, days) in [(1, 30), (2, 60), (3, 180), (4, 365), (5, 540)] {
        let clock = Clock::at(0);
        let memory = hashed().clock(clock.reader()).open().await.unwrap();
        remember(
            &memory,
            &ada(),
            NewMemory {
                importance,
                ..fact("Ada drinks tea")
            },
        )
        .await;
        clock.advance(days * DAY_MS - 1);
        let found = recall(&memory, &ada(), "tea").await;
        assert_eq!(
            found.hits.len(),
            1,
            "importance {importance} lives to its last millisecond"
        );
        let used: Vec<_> = found.hits.iter().map(|hit| hit.memory.clone()).collect();
        memory.renew(&ada(), &used).await.unwrap();
        clock.advance(days * DAY_MS - 1);
        assert_eq!(
            recall(&memory, &ada(), "tea").await.hits.len(),
            1,
            "used, it lives as long again"
        );
        assert_eq!(memory.expire().await.unwrap(), 0);
        clock.advance(1);
        assert!(
            recall(&memory, &ada(), "tea").await.hits.is_empty(),
            "importance {importance} ends"
        );
        assert_eq!(memory.expire().await.unwrap(), 1);
        assert_eq!(memory.statistics().await.unwrap().memories, 0);
    }
}

#[tokio::test]
async fn small_memories_that_belong_together_become_one() {
    let topics = ["tea", "boats"];
    let text = |topic: &str, number: usize| format!("note {number} about {topic}");
    let mut embedder = Told::new(false);
    for (place, topic) in topics.iter().enumerate() {
        for number in 0..5 {
            let mut vector = vec![0.0, 0.0, 0.1 * number as f32];
            vector[place] = 1.0;
            embedder = embedder.vector(&text(topic, number), vector);
        }
    }
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = Memory::builder(Arc::clone(&records), Arc::new(embedder))
        .open()
        .await
        .unwrap();
    let small = |topic: &str, number| NewMemory {
        importance: 1,
        provenance: Provenance::User,
        ..fact(&text(topic, number))
    };
    for number in 0..5 {
        if number == 4 {
            let few = memory.consolidate(&"ada".into(), &never()).await.unwrap();
            assert_eq!((few.made, few.parts), (0, 0), "eight are too few");
        }
        for topic in topics {
            remember(&memory, &ada(), small(topic, number)).await;
        }
    }
    let done = memory.consolidate(&"ada".into(), &never()).await.unwrap();
    assert_eq!((done.made, done.parts), (2, 10));
    let again = memory.consolidate(&"ada".into(), &never()).await.unwrap();
    assert_eq!(
        (again.made, again.parts),
        (0, 0),
        "running it again changes nothing"
    );
    let index = memory
        .memory_index(&ada(), MemoryListing::default())
        .await
        .unwrap();
    assert_eq!((index.total, index.themes[0].count), (2, 2));
    for item in &index.themes[0].items {
        assert_eq!((item.memory.importance, item.memory.label), (2, ada().label));
        assert_eq!(
            item.memory.fact.lines().count(),
            5,
            "nothing is lost: {}",
            item.memory.fact
        );
        assert!(matches!(&item.memory.provenance, Provenance::Consolidation { from } if from.len() == 5));
    }
}

#[tokio::test]
async fn the_index_has_groups_counts_and_the_newest_first() {
    let clock = Clock::at(0);
    let memory = hashed().clock(clock.reader()).open().await.unwrap();
    for (artifact_name, text, tags) in [
        ("rules", "answer in one sentence", vec!["style"]),
        ("likes", "drinks tea", vec!["drink", "tea"]),
        ("likes", "eats rice", vec!["food"]),
        ("likes", "drinks water", vec!["drink"]),
    ] {
        let tags = tags.into_iter().map(str::to_owned).collect();
        remember(
            &memory,
            &ada(),
            NewMemory {
                tags,
                ..NewMemory::new(artifact_name, text)
            },
        )
        .await;
        clock.advance(DAY_MS);
    }
    let listed = async |listing: MemoryListing| {
        let index = memory.memory_index(&ada(), listing).await.unwrap();
        let told = |theme: &tidegate_memory::Theme| {
            let items: Vec<String> = theme.items.iter().map(|item| item.memory.fact.clone()).collect();
            format!("{} {}: {}", theme.artifact_name, theme.count, items.join(", "))
        };
        index.themes.iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(
        listed(MemoryListing::default()).await,
        [
            "likes 3: drinks water, eats rice, drinks tea",
            "rules 1: answer in one sentence"
        ]
    );
    assert_eq!(
        listed(MemoryListing {
            limit: 2,
            ..MemoryListing::default()
        })
        .await,
        ["likes 3: drinks water, eats rice", "rules 1: "]
    );
    let rules = MemoryListing {
        artifact_name: Some("rules".to_owned()),
        ..MemoryListing::default()
    };
    assert_eq!(listed(rules).await, ["rules 1: answer in one sentence"]);
    let second_day = Period::parse(Some("1970-01-02"), Some("1970-01-02")).unwrap();
    assert_eq!(
        listed(MemoryListing {
            period: second_day,
            ..MemoryListing::default()
        })
        .await,
        ["likes 1: drinks tea"]
    );
    let index = memory
        .memory_index(&ada(), MemoryListing::default())
        .await
        .unwrap();
    assert_eq!(
        index.themes[0].tags,
        [
            ("drink".to_owned(), 2),
            ("food".to_owned(), 1),
            ("tea".to_owned(), 1)
        ]
    );
    let found = memory
        .recall(
            &ada(),
            MemorySearch {
                period: second_day,
                ..MemorySearch::new("drinks")
            },
        )
        .await
        .unwrap();
    assert_eq!(facts(&found), ["drinks tea"]);
}

#[tokio::test]
async fn what_may_not_be_written_is_refused_and_says_why() {
    let memory = hashed().open().await.unwrap();
    let long = "x".repeat(4_001);
    let table = [
        (fact(" \n"), "fact is empty; write what it should say"),
        (
            NewMemory {
                artifact_name: String::new(),
                ..fact("a")
            },
            "artifact_name is empty; write what it should say",
        ),
        (named(" ", "a"), "memory_id is empty; write what it should say"),
        (
            NewMemory {
                importance: 0,
                ..fact("a")
            },
            "importance is 0; write a whole number from 1 to 5",
        ),
        (
            NewMemory {
                importance: 6,
                ..fact("a")
            },
            "importance is 6; write a whole number from 1 to 5",
        ),
        (
            fact(&long),
            "fact has 4001 characters; write at most 4000, and keep long texts with save_session_context",
        ),
    ];
    for (new, expected) in table {
        let error = memory.remember(&ada(), new, &never()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = memory.recall(&ada(), MemorySearch::new("  ")).await.unwrap_err();
    assert!(matches!(error, MemoryError::Empty { what: "query" }));
    for limit in [0, 101] {
        let error = memory
            .recall(
                &ada(),
                MemorySearch {
                    limit,
                    ..MemorySearch::new("a")
                },
            )
            .await
            .unwrap_err();
        assert!(matches!(error, MemoryError::OutOfBounds { what: "limit", .. }));
    }
    assert_eq!(memory.statistics().await.unwrap().memories, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_on_one_name_and_on_sixteen_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = tidegate_store::SqliteStore::open(
        folder.path().join("s.sqlite"),
        tidegate_store::Durability::Process,
    )
    .unwrap();
    let records: Arc<dyn Records> = Arc::new(store);
    let memory = over(&records).open().await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..16 {
        let memory = memory.clone();
        writers.spawn(async move {
            remember(
                &memory,
                &ada(),
                named("shared", &format!("writer {number} was here")),
            )
            .await;
            remember(
                &memory,
                &ada(),
                named(&format!("own-{number}"), &format!("fact {number} of a writer")),
            )
            .await;
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    let history = memory.history(&ada(), &"shared".into()).await.unwrap();
    assert_eq!(history[0].1.len(), 16);
    assert_eq!(memory.statistics().await.unwrap().memories, 17);
    // And all of it is found.
    let index = memory
        .memory_index(&ada(), MemoryListing::default())
        .await
        .unwrap();
    assert_eq!(index.total, 17);
}

#[tokio::test]
async fn what_was_exported_can_be_imported_elsewhere_twice() {
    let memory = hashed().open().await.unwrap();
    remember(&memory, &ada(), named("drink", "Ada drinks tea")).await;
    let exported = memory.export(&"ada".into()).await.unwrap();
    let exported: Vec<_> = exported.into_iter().map(|memory| (memory, Vec::new())).collect();
    let other = hashed().open().await.unwrap();
    assert_eq!(other.import(exported.clone()).await.unwrap(), 1);
    assert_eq!(other.import(exported).await.unwrap(), 0);
    assert_eq!(facts(&recall(&other, &ada(), "tea").await), ["Ada drinks tea"]);
}

/// A model that makes too little of everything.
struct Forgets(&'static str);

impl Auxiliary for Forgets {
    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn distil<'a>(&'a self, fact: &'a str) -> BoxFuture<'a, Result<Distilled, Cause>> {
        Box::pin(std::future::ready(Err(fact.into())))
    }

    fn merge<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Result<String, Cause>> {
        Box::pin(std::future::ready(Ok(self.0.to_owned())))
    }
}

#[tokio::test]
async fn a_merge_that_loses_or_adds_a_number_a_name_or_a_negation_does_not_happen() {
    let (first, second) = (
        "Eva never drinks more than 3 cups of green tea",
        "every day Eva never drinks more than 3 cups of tea",
    );
    for (merged, expected) in [
        (
            "Eva never drinks more than 3 cups of green tea in a day",
            Outcome::Merged,
        ),
        ("Eva never drinks much green tea in a day", Outcome::Created),
        (
            "Eva drinks more than 3 cups of green tea in a day",
            Outcome::Created,
        ),
        (
            "one never drinks more than 3 cups of green tea in a day",
            Outcome::Created,
        ),
        (
            "Eva never drinks more than 3 cups of green tea in 24 hours",
            Outcome::Created,
        ),
    ] {
        let near = Told::new(false).cosine(first, 1.0).cosine(second, 0.9);
        let memory = with(near)
            .auxiliary(Arc::new(Forgets(merged)))
            .open()
            .await
            .unwrap();
        remember(&memory, &ada(), fact(first)).await;
        assert_eq!(outcome(&memory, &ada(), fact(second)).await, expected, "{merged}");
    }
}
