//! No item reaches a session it may not flow to, by any way.

use crate::common::*;
use tidegate_memory::{
    EmbedWork, Memory, MemoryError, MemoryListing, MemorySearch, MemorySettings, Outcome, Passages, Recall,
    Scope, SessionSearch,
};
use tidegate_policy::Classification::{Confidential, Internal, Public, Restricted};
use tidegate_policy::Label;

fn at(label: Label) -> Scope {
    scope("ada", label, Restricted)
}

async fn all_labels(memory: &Memory) {
    for level in [Public, Internal, Confidential, Restricted] {
        for label in [Label::trusted(level), Label::untrusted(level)] {
            let text = format!("the tide table of {label}");
            remember(memory, &at(label), named("tides", &text)).await;
            let source = label.to_string().as_str().into();
            memory
                .save_session_context(&at(label), &source, Passages::Text(text), EmbedWork::default())
                .await
                .unwrap();
        }
    }
}

/// Everything that can be told in a session.
async fn told(memory: &Memory, scope: &Scope) -> String {
    let recalled = memory
        .recall(scope, MemorySearch::new("tide table"))
        .await
        .unwrap();
    let index = memory
        .memory_index(scope, MemoryListing::default())
        .await
        .unwrap();
    let history = memory.history(scope, &"tides".into()).await.unwrap();
    let found = memory
        .search_session_context(scope, SessionSearch::new("tide table"))
        .await
        .unwrap();
    let listed = memory.session_sources(scope, true).await.unwrap();
    let scores: Vec<_> = recalled
        .hits
        .iter()
        .map(|hit| (hit.memory.fact.clone(), hit.score, hit.also_at.clone(), hit.alike))
        .collect();
    let items: Vec<_> = index
        .themes
        .iter()
        .map(|theme| {
            (
                theme.count,
                theme
                    .items
                    .iter()
                    .map(|item| item.memory.fact.clone())
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    let passages: Vec<_> = found
        .passages
        .iter()
        .map(|passage| (passage.text.clone(), passage.score))
        .collect();
    let sources: Vec<_> = listed
        .sources
        .iter()
        .map(|source| source.preview.clone())
        .collect();
    format!(
        "{scores:?} {:?} {} {items:?} {history:?} {passages:?} {:?} {sources:?}",
        recalled.label, index.total, found.label
    )
}

#[tokio::test]
async fn what_is_above_a_session_changes_nothing_that_is_told_in_it() {
    for recall in [Recall::AtOrBelow, Recall::Escalate] {
        let settings = MemorySettings {
            recall,
            ..MemorySettings::default()
        };
        let clock = Clock::at(1_000);
        let (with_all, without) = (
            hashed()
                .settings(settings.clone())
                .clock(clock.reader())
                .open()
                .await
                .unwrap(),
            hashed()
                .settings(settings)
                .clock(clock.reader())
                .open()
                .await
                .unwrap(),
        );
        for memory in [&with_all, &without] {
            remember(
                memory,
                &at(Label::BOTTOM),
                named("tides", "the tide table is public"),
            )
            .await;
            remember(memory, &at(Label::BOTTOM), named("gates", "a table of gates")).await;
            let source = "s".into();
            let text = Passages::Text("the tide table stands in the harbour".to_owned());
            memory
                .save_session_context(&at(Label::BOTTOM), &source, text, EmbedWork::default())
                .await
                .unwrap();
        }
        for level in [Internal, Confidential, Restricted] {
            for label in [Label::trusted(level), Label::untrusted(level)] {
                for number in 0..5 {
                    let text = format!("the tide table {number} of {label}");
                    remember(&with_all, &at(label), named(&format!("t{number}"), &text)).await;
                    remember(&with_all, &at(label), named("tides", &text)).await;
                    // Also under the name of the public one.
                    for source in [format!("s{number} {label}"), "s".to_owned()] {
                        let (source, text) = (source.as_str().into(), Passages::Text(text.clone()));
                        with_all
                            .save_session_context(&at(label), &source, text, EmbedWork::default())
                            .await
                            .unwrap();
                    }
                }
            }
        }
        let public = scope("ada", Label::BOTTOM, Public);
        assert_eq!(
            told(&with_all, &public).await,
            told(&without, &public).await,
            "{recall:?}"
        );
        // Writing and forgetting tell nothing either.
        for memory in [&with_all, &without] {
            assert_eq!(
                outcome(
                    memory,
                    &public,
                    named("t0", "the tide table 0 of CONFIDENTIAL, TRUSTED")
                )
                .await,
                Outcome::Created
            );
            assert!(memory.forget(&public, &"t0".into()).await.unwrap().existed());
            assert!(!memory.forget(&public, &"t1".into()).await.unwrap().existed());
            let error = memory
                .delete_session_source(&public, &"s0 RESTRICTED, TRUSTED".into())
                .await
                .unwrap_err();
            assert!(matches!(error, MemoryError::UnknownSource { .. }));
            let mut saved = Vec::new();
            for source in ["s", "s0 RESTRICTED, TRUSTED"] {
                let text = Passages::Text("the tide table once more".to_owned());
                saved.push(
                    memory
                        .save_session_context(&public, &source.into(), text, EmbedWork::default())
                        .await
                        .unwrap(),
                );
            }
            assert!(saved[0].replaced && !saved[1].replaced);
            assert!(
                saved
                    .iter()
                    .all(|saved| saved.beside.is_empty() && saved.chunks == 1)
            );
            let deleted = memory.delete_session_source(&public, &"s".into()).await.unwrap();
            assert_eq!((deleted.deleted, deleted.kept), (vec![Label::BOTTOM], vec![]));
            assert_eq!(memory.delete_session_sources(&public).await.unwrap(), 1);
        }
        let restricted = at(Label::untrusted(Restricted));
        assert!(
            told(&with_all, &restricted)
                .await
                .contains("the tide table 1 of RESTRICTED"),
            "it was not deleted from below"
        );
    }
}

#[tokio::test]
async fn a_session_sees_what_can_flow_to_its_taint_or_with_escalate_to_its_clearance() {
    let table = [
        (Recall::AtOrBelow, Label::trusted(Internal), Restricted, Internal),
        (
            Recall::AtOrBelow,
            Label::trusted(Confidential),
            Restricted,
            Confidential,
        ),
        (Recall::Escalate, Label::trusted(Public), Internal, Internal),
        (Recall::Escalate, Label::trusted(Public), Restricted, Restricted),
    ];
    for (recall, label, clearance, highest) in table {
        let settings = MemorySettings {
            recall,
            ..MemorySettings::default()
        };
        let memory = hashed().settings(settings).open().await.unwrap();
        all_labels(&memory).await;
        let found = memory
            .recall(&scope("ada", label, clearance), MemorySearch::new("tide table"))
            .await
            .unwrap();
        let levels = found.hits.iter().map(|hit| hit.memory.label.classification);
        assert_eq!(levels.max(), Some(highest), "{recall:?} {label} {clearance}");
        assert_eq!(
            found.label.classification, highest,
            "the result carries what was looked at"
        );
    }
}

#[tokio::test]
async fn untrusted_writes_never_replace_or_hide_trusted_memories() {
    let memory = hashed().open().await.unwrap();
    let (trusted, untrusted) = (at(Label::trusted(Internal)), at(Label::untrusted(Internal)));
    remember(&memory, &trusted, named("bank", "the bank is Nordea")).await;
    assert_eq!(
        outcome(&memory, &untrusted, named("bank", "the bank is Evil Corp")).await,
        Outcome::Created
    );
    let error = memory
        .forget(&at(Label::untrusted(Restricted)), &"bank".into())
        .await
        .unwrap_err();
    assert!(matches!(error, MemoryError::WriteDown { .. }), "{error}");
    let found = recall(&memory, &trusted, "which bank").await;
    assert!(
        facts(&found).contains(&"the bank is Nordea"),
        "{:?}",
        facts(&found)
    );

    // At the start of a turn what outsiders wrote is left out, and has no influence.
    let search = MemorySearch {
        trusted_only: true,
        ..MemorySearch::new("which bank")
    };
    let found = memory.recall(&trusted, search).await.unwrap();
    assert_eq!(
        (facts(&found), found.label),
        (vec!["the bank is Nordea"], Label::trusted(Internal))
    );
    // What outsiders wrote deletes what outsiders wrote, and the rest is kept and told of.
    let forgotten = memory.forget(&untrusted, &"bank".into()).await.unwrap();
    assert_eq!(
        (forgotten.deleted, forgotten.kept),
        (vec![Label::untrusted(Internal)], vec![Label::trusted(Internal)])
    );
}

#[tokio::test]
async fn a_search_that_tells_nothing_untrusted_is_trusted() {
    let memory = hashed().open().await.unwrap();
    let (trusted, untrusted) = (at(Label::trusted(Internal)), at(Label::untrusted(Internal)));
    remember(&memory, &trusted, named("tea", "the user drinks green tea")).await;
    remember(&memory, &untrusted, named("boat", "a boat was seen")).await;
    let search = |query: &str| MemorySearch {
        limit: 1,
        ..MemorySearch::new(query)
    };
    let found = memory.recall(&trusted, search("green tea")).await.unwrap();
    assert_eq!(
        (facts(&found), found.label),
        (vec!["the user drinks green tea"], Label::trusted(Internal))
    );
    let found = memory.recall(&trusted, search("boat")).await.unwrap();
    assert_eq!(
        (facts(&found), found.label),
        (vec!["a boat was seen"], Label::untrusted(Internal))
    );
}

#[tokio::test]
async fn the_highest_version_of_a_name_stands_for_those_below_and_names_them() {
    let memory = hashed().open().await.unwrap();
    for level in [Public, Internal, Confidential] {
        remember(
            &memory,
            &at(Label::trusted(level)),
            named("key", &format!("the key lies in room {level}")),
        )
        .await;
    }
    let found = recall(&memory, &at(Label::trusted(Internal)), "where is the key").await;
    assert_eq!(facts(&found), ["the key lies in room INTERNAL"]);
    assert_eq!(found.hits[0].also_at, [Label::trusted(Public)]);
    let index = memory
        .memory_index(&at(Label::trusted(Internal)), MemoryListing::default())
        .await
        .unwrap();
    assert_eq!(index.themes[0].items.len(), 1);
    assert_eq!(index.themes[0].items[0].also_at, [Label::trusted(Public)]);
}

#[tokio::test]
async fn to_renew_is_to_write_and_never_goes_down() {
    let clock = Clock::at(0);
    let memory = hashed().clock(clock.reader()).open().await.unwrap();
    let public = at(Label::trusted(Public));
    remember(&memory, &public, named("tea", "the user drinks tea")).await;
    clock.advance(10 * DAY_MS);
    let used = async |scope: &Scope| -> Vec<tidegate_store::MemoryRecord> {
        recall(&memory, scope, "tea")
            .await
            .hits
            .into_iter()
            .map(|hit| hit.memory)
            .collect()
    };
    let before = used(&public).await;
    let confidential = at(Label::trusted(Confidential));
    memory
        .renew(&confidential, &used(&confidential).await)
        .await
        .unwrap();
    assert_eq!(used(&public).await, before, "a higher session leaves no trace");
    memory.renew(&public, &before).await.unwrap();
    assert!(used(&public).await[0].expires_ms > before[0].expires_ms);
}

#[tokio::test]
async fn a_release_makes_a_second_memory_below_and_leaves_the_first() {
    let memory = hashed().open().await.unwrap();
    let (from, to) = (Label::trusted(Confidential), Label::trusted(Public));
    remember(&memory, &at(from), named("key", "the key lies under the mat")).await;
    assert!(
        memory
            .release(&"ada".into(), &"key".into(), from, to)
            .await
            .unwrap()
    );
    assert!(
        !memory
            .release(&"ada".into(), &"none".into(), from, to)
            .await
            .unwrap()
    );
    assert_eq!(
        facts(&recall(&memory, &at(to), "key").await),
        ["the key lies under the mat"]
    );
    assert_eq!(recall(&memory, &at(from), "key").await.hits[0].also_at, [to]);
}

#[tokio::test]
async fn a_language_that_only_hidden_memories_have_changes_no_score() {
    let mut scores = Vec::new();
    for with_hidden in [false, true] {
        let memory = hashed().clock(|| 1_000).open().await.unwrap();
        for (name, text) in [("a", "the runner runs"), ("b", "a fast runner stands still")] {
            remember(&memory, &at(Label::BOTTOM), named(name, text)).await;
        }
        if with_hidden {
            let text = "Les coureurs courent toujours plus vite que les marcheurs dans la montagne";
            remember(&memory, &at(Label::trusted(Confidential)), named("c", text)).await;
        }
        let public = scope("ada", Label::BOTTOM, Public);
        // In English both words are one stem, in French they are two.
        let found = recall(&memory, &public, "runs running runner").await;
        let found: Vec<(String, f32)> = found
            .hits
            .iter()
            .map(|hit| (hit.memory.fact.clone(), hit.score))
            .collect();
        assert_eq!(found.len(), 2);
        scores.push(found);
    }
    assert_eq!(scores[0], scores[1]);
}
