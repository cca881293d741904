//! Session RAG.

use crate::common::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate_memory::{
    EmbedWork, Embedder, EmbedderError, Embedding, HashedEmbedder, Memory, MemoryError, MemorySettings, Mode,
    Passages, Saved, SavedPiece, Scope, SessionSearch, SessionSearchResult,
};
use tidegate_policy::{Classification, Label, SourceId};
use tidegate_store::{MemoryRecords, ModelRecord, Records};
use tidegate_tools::BoxFuture;

async fn save(memory: &Memory, scope: &Scope, source: &str, text: &str) -> Saved {
    let source = SourceId::from(source);
    let text = Passages::Text(text.to_owned());
    memory
        .save_session_context(scope, &source, text, EmbedWork::default())
        .await
        .unwrap()
}

async fn find(memory: &Memory, scope: &Scope, search: SessionSearch) -> SessionSearchResult {
    memory.search_session_context(scope, search).await.unwrap()
}

fn texts(found: &SessionSearchResult) -> Vec<&str> {
    found
        .passages
        .iter()
        .map(|passage| passage.text.as_str())
        .collect()
}

fn in_chat(chat: &str) -> Scope {
    Scope {
        chat: chat.into(),
        ..ada()
    }
}

#[tokio::test]
async fn the_same_source_again_replaces_all_of_it() {
    let memory = hashed().open().await.unwrap();
    let long = "The ferry leaves at seven in the morning. ".repeat(200);
    let first = save(&memory, &ada(), "notes", &long).await;
    assert!(first.chunks > 5 && !first.replaced && first.embedded, "{first:?}");
    let second = save(&memory, &ada(), "notes", "The lighthouse was painted red.").await;
    assert_eq!(
        second,
        Saved {
            chunks: 1,
            replaced: true,
            embedded: true,
            beside: Vec::new(),
        }
    );
    let found = find(&memory, &ada(), SessionSearch::new("ferry seven morning")).await;
    assert!(
        !texts(&found).iter().any(|text| text.contains("ferry")),
        "{:?}",
        texts(&found)
    );
    let listed = memory.session_sources(&ada(), false).await.unwrap();
    assert_eq!((listed.sources.len(), listed.sources[0].chunks), (1, 1));
    assert_eq!(listed.sources[0].preview, "The lighthouse was painted red.");
}

#[tokio::test]
async fn sources_conversations_and_users_are_apart() {
    let memory = hashed().open().await.unwrap();
    let bob = Scope {
        user: "bob".into(),
        ..ada()
    };
    save(&memory, &ada(), "T_1", "the anchor of T_1").await;
    save(&memory, &ada(), "T_17", "the anchor of T_17").await;
    save(
        &memory,
        &in_chat("s_2"),
        "T_1",
        "the anchor of another conversation",
    )
    .await;
    save(&memory, &bob, "T_1", "the anchor of bob").await;

    let anchor = || SessionSearch::new("anchor");
    let only = SessionSearch {
        source: Some("T_1".into()),
        ..anchor()
    };
    assert_eq!(
        texts(&find(&memory, &ada(), only.clone()).await),
        ["the anchor of T_1"]
    );
    assert_eq!(find(&memory, &ada(), anchor()).await.passages.len(), 2);
    let global = SessionSearch {
        global: true,
        ..anchor()
    };
    assert_eq!(
        find(&memory, &ada(), global).await.passages.len(),
        3,
        "all conversations of the user, and of no other"
    );

    // Unknown, of another conversation, of another user: one answer.
    let mut answers = Vec::new();
    for (scope, source) in [
        (ada(), "nothing"),
        (in_chat("s_3"), "nothing"),
        (in_chat("s_2"), "nothing"),
    ] {
        answers.push(
            memory
                .delete_session_source(&scope, &source.into())
                .await
                .unwrap_err()
                .to_string(),
        );
    }
    save(&memory, &in_chat("s_2"), "nothing", "it is there now").await;
    answers.push(
        memory
            .delete_session_source(&ada(), &"nothing".into())
            .await
            .unwrap_err()
            .to_string(),
    );
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");

    assert_eq!(memory.purge_session(&"ada".into(), "s_1").await.unwrap(), 2);
    let left = find(
        &memory,
        &ada(),
        SessionSearch {
            global: true,
            ..anchor()
        },
    )
    .await;
    assert_eq!(
        texts(&left),
        ["the anchor of another conversation", "it is there now"],
        "exactly one conversation is purged"
    );
    assert_eq!(find(&memory, &bob, anchor()).await.passages.len(), 1);
    assert_eq!(memory.purge_session(&"ada".into(), "s_1").await.unwrap(), 0);
    let of_sources: Vec<String> = memory
        .conversations()
        .await
        .unwrap()
        .into_iter()
        .map(|(user, chat, _)| format!("{user} {chat}"))
        .collect();
    assert_eq!(of_sources, ["ada s_2", "bob s_1"]);
}

#[tokio::test]
async fn hits_come_with_their_neighbours_as_one_passage() {
    let memory = hashed().open().await.unwrap();
    let piece = |text: &str| SavedPiece {
        text: text.to_owned(),
        context: String::new(),
        time_ms: None,
    };
    let pieces = [
        "Where is the key?",
        "Under the flower pot.",
        "Thank you!",
        "What about lunch?",
        "There is soup.",
    ];
    let pieces = Passages::Pieces(pieces.map(piece).to_vec());
    memory
        .save_session_context(&ada(), &"talk".into(), pieces, EmbedWork::default())
        .await
        .unwrap();
    let found = find(
        &memory,
        &ada(),
        SessionSearch {
            limit: 1,
            ..SessionSearch::new("where is the key")
        },
    )
    .await;
    assert_eq!(texts(&found), ["Where is the key?\nUnder the flower pot."]);
    assert_eq!(found.passages[0].lines, (1, 2));

    // What chunks repeat of each other is told once.
    let sentences: String = (0..200)
        .map(|number| format!("Sentence number {number} tells of the sea. "))
        .collect();
    save(&memory, &ada(), "long", &sentences).await;
    let search = SessionSearch {
        source: Some("long".into()),
        limit: 100,
        ..SessionSearch::new("sentence number 77")
    };
    let found = find(&memory, &ada(), search).await;
    assert_eq!(found.passages.len(), 1, "neighbours are merged");
    assert_eq!(found.passages[0].text, sentences.trim_end());
}

#[tokio::test]
async fn what_stands_around_a_chunk_tells_whether_it_is_what_was_asked_for() {
    // The same answer stands in both sources: behind the question, and in a source that is about it as a whole.
    let settings = MemorySettings {
        mode: Mode::Lexical,
        ..MemorySettings::default()
    };
    let talks = [
        (
            "two chunks behind what is asked",
            &[
                "Which ferry goes to the island?",
                "Let me see.",
                "It leaves at seven.",
                "The soup is hot.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "Dry leaves were on the deck, and everybody went below, since the wind had turned and the rain had come.",
            ][..],
            &[
                "Which ferry goes to the island?",
                "Let me see.",
                "The soup is hot.",
                "It leaves at seven.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "Dry leaves were on the deck, and everybody went below, since the wind had turned and the rain had come.",
            ][..],
            "which ferry to the island leaves",
        ),
        (
            "in a source with another good chunk far away",
            &[
                "The harbour was painted.",
                "Let me see.",
                "Well, yes.",
                "It leaves at seven.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "Dry leaves were on the deck, and everybody went below, since the wind had turned and the rain had come.",
            ][..],
            &[
                "The kitchen was painted.",
                "Let me see.",
                "Well, yes.",
                "It leaves at seven.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "Dry leaves were on the deck, and everybody went below, since the wind had turned and the rain had come.",
            ][..],
            "what leaves the harbour",
        ),
        (
            "in a source whose words fit as a whole, though none of its best chunks has the other one",
            &[
                "It leaves at seven.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "It leaves at eight.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "It leaves at nine.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "Along the quay there were boxes and barrels, nets and ropes, boards and old sails, a cart without wheels, three dogs, many gulls, and behind all of it, as far as one could see, nothing but the harbour.",
            ][..],
            &[
                "It leaves at seven.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "It leaves at eight.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "It leaves at nine.",
                "Well, yes.",
                "Let me see.",
                "So it is.",
                "Along the quay there were boxes and barrels, nets and ropes, boards and old sails, a cart without wheels, three dogs, many gulls, and behind all of it, as far as one could see, nothing but the kitchen.",
            ][..],
            "what leaves the harbour",
        ),
    ];
    for (what, right, wrong, query) in talks {
        for names in [["a", "b"], ["b", "a"]] {
            let memory = hashed().settings(settings.clone()).open().await.unwrap();
            for (name, talk) in names.into_iter().zip([right, wrong]) {
                let piece = |text: &str| SavedPiece {
                    text: text.to_owned(),
                    context: String::new(),
                    time_ms: Some(0),
                };
                let pieces = Passages::Pieces(talk.iter().copied().map(piece).collect());
                memory
                    .save_session_context(&ada(), &name.into(), pieces, EmbedWork::default())
                    .await
                    .unwrap();
            }
            let found = find(&memory, &ada(), SessionSearch::new(query)).await;
            let with_answer = found
                .passages
                .iter()
                .find(|passage| passage.text.contains("It leaves at seven."));
            assert_eq!(
                with_answer.unwrap().key.source.as_str(),
                names[0],
                "{what}: {found:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_blank_text_or_name_is_refused() {
    let memory = hashed().open().await.unwrap();
    for (source, text, what) in [("s", " \n ", "text"), (" ", "text", "source_id")] {
        let given = Passages::Text(text.to_owned());
        let error = memory
            .save_session_context(&ada(), &source.into(), given, EmbedWork::default())
            .await
            .unwrap_err();
        assert!(
            matches!(error, MemoryError::Empty { what: found } if found == what),
            "{error}"
        );
    }
    let error = memory
        .search_session_context(&ada(), SessionSearch::new(" "))
        .await
        .unwrap_err();
    assert!(matches!(error, MemoryError::Empty { what: "query" }));
    for (length, fits) in [(200, true), (201, false)] {
        let given = Passages::Text("text".to_owned());
        let name = "é".repeat(length).as_str().into();
        let saved = memory
            .save_session_context(&ada(), &name, given, EmbedWork::default())
            .await;
        let is_refused = matches!(
            saved,
            Err(MemoryError::TooLong {
                what: "source_id",
                most: 200,
                ..
            })
        );
        assert_eq!((saved.is_ok(), is_refused), (fits, !fits), "{length}: {saved:?}");
    }
}

#[tokio::test]
async fn sources_of_one_name_at_several_labels_replace_and_tell_of_each_other_only_where_they_may() {
    use Classification::{Confidential, Internal, Restricted};
    let memory = hashed().open().await.unwrap();
    let at = |label| scope("ada", label, Restricted);
    let all = [
        Label::trusted(Confidential),
        Label::untrusted(Internal),
        Label::trusted(Internal),
        Label::BOTTOM,
    ];
    let labels = async |scope: &Scope| -> Vec<Label> {
        let listed = memory.session_sources(scope, false).await.unwrap();
        let mut labels: Vec<Label> = listed
            .sources
            .into_iter()
            .map(|source| source.key.label)
            .collect();
        labels.sort_by_key(|label| (label.classification, label.integrity));
        labels
    };
    let saved = async |label: Label, text: String| {
        let text = Passages::Text(text);
        let saved = memory
            .save_session_context(&at(label), &"s".into(), text, EmbedWork::default())
            .await
            .unwrap();
        (saved.replaced, saved.beside)
    };
    // From above: who saves lower is told nothing, and nothing is replaced. Once more: each replaces its own.
    for replaces in [false, true] {
        for label in all {
            let within = |other: &Label| replaces && *other != label && other.is_within(label);
            let mut beside: Vec<Label> = all.into_iter().filter(within).collect();
            beside.reverse();
            let text = format!("the tide table of {label}, {replaces}");
            assert_eq!(saved(label, text).await, (replaces, beside), "{label}");
        }
    }
    assert_eq!(labels(&at(Label::BOTTOM)).await, [Label::BOTTOM]);
    let internal = [
        Label::BOTTOM,
        Label::trusted(Internal),
        Label::untrusted(Internal),
    ];
    assert_eq!(labels(&at(Label::trusted(Internal))).await, internal);

    // A passage is of one of them, and chunks of another are no neighbours.
    let high = at(Label::untrusted(Confidential));
    let found = memory
        .search_session_context(&high, SessionSearch::new("tide table"))
        .await
        .unwrap();
    let mut texts: Vec<(Label, &str)> = found
        .passages
        .iter()
        .map(|passage| (passage.key.label, passage.text.as_str()))
        .collect();
    texts.sort_by_key(|(label, _)| (label.classification, label.integrity));
    let expected: Vec<(Label, String)> = all
        .into_iter()
        .rev()
        .map(|label| (label, format!("the tide table of {label}, true")))
        .collect();
    let expected: Vec<(Label, &str)> = expected
        .iter()
        .map(|(label, text)| (*label, text.as_str()))
        .collect();
    assert_eq!(texts.len(), 4);
    for one in expected {
        assert!(texts.contains(&one), "{one:?} is not in {texts:?}");
    }

    // What may be seen and not written stays, and it is told.
    let error = memory
        .delete_session_source(&high, &"s".into())
        .await
        .unwrap_err();
    assert!(matches!(error, MemoryError::WriteDown { .. }), "{error}");
    let deleted = memory
        .delete_session_source(&at(Label::trusted(Internal)), &"s".into())
        .await
        .unwrap();
    assert_eq!(deleted.kept, [Label::BOTTOM]);
    assert_eq!(
        deleted.deleted,
        [Label::untrusted(Internal), Label::trusted(Internal)]
    );
    assert_eq!(labels(&high).await, [Label::BOTTOM, Label::trusted(Confidential)]);
    // What may not be seen stays, and nothing tells of it.
    let low = at(Label::BOTTOM);
    assert_eq!(memory.delete_session_sources(&low).await.unwrap(), 1);
    assert_eq!(memory.delete_session_sources(&low).await.unwrap(), 0);
    let error = memory.delete_session_source(&low, &"s".into()).await.unwrap_err();
    assert!(matches!(error, MemoryError::UnknownSource { .. }), "{error}");
    assert_eq!(labels(&high).await, [Label::trusted(Confidential)]);
    // A session that goes takes all with it.
    assert_eq!(memory.purge_session(&"ada".into(), &low.chat).await.unwrap(), 1);
    assert_eq!(labels(&high).await, []);
}

/// Fails for texts with a word in them, so often.
struct Fails {
    inner: HashedEmbedder,
    word: &'static str,
    times: AtomicUsize,
}

impl Embedder for Fails {
    fn model(&self) -> &ModelRecord {
        self.inner.model()
    }

    fn clearance(&self) -> Classification {
        self.inner.clearance()
    }

    fn most_tokens(&self) -> usize {
        32
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.inner.count_tokens(text)
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        work: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        let hit = texts.iter().any(|text| text.contains(self.word));
        let left = hit
            && self
                .times
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                .is_ok();
        if left {
            let failed = EmbedderError::Failed {
                model: "fails".to_owned(),
                transient: true,
                cause: "no".into(),
            };
            return Box::pin(std::future::ready(Err(failed)));
        }
        self.inner.embed_documents(texts, work)
    }

    fn embed_query(&self, text: String, work: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        self.inner.embed_query(text, work)
    }
}

#[tokio::test]
async fn a_chunk_that_fails_is_tried_again_and_then_reported_and_nothing_is_half_saved() {
    let text = "The ferry leaves at seven.\n\n".repeat(10)
        + "The BROKEN buoy.\n\n"
        + &"The gate opens.\n\n".repeat(10);
    for (times, saved) in [(1, true), (2, true), (5, true), (1_000, false)] {
        let embedder = Fails {
            inner: HashedEmbedder::new(),
            word: "BROKEN",
            times: AtomicUsize::new(times),
        };
        let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
        let memory = Memory::builder(Arc::clone(&records), Arc::new(embedder))
            .open()
            .await
            .unwrap();
        save(&memory, &ada(), "s", "what was there before").await;
        let given = Passages::Text(text.clone());
        let result = memory
            .save_session_context(&ada(), &"s".into(), given, EmbedWork::default())
            .await;
        assert_eq!(result.is_ok(), saved, "{times} failures: {result:?}");
        let listed = memory.session_sources(&ada(), false).await.unwrap();
        if let Err(error) = result {
            assert!(
                matches!(
                    error,
                    MemoryError::FailedChunks {
                        failed: 1,
                        attempts: 3,
                        ..
                    }
                ),
                "{error}"
            );
            assert_eq!(listed.sources[0].preview, "what was there before");
        }
    }
}

#[tokio::test]
async fn every_chunk_is_within_the_tokens_of_the_model() {
    let embedder = Fails {
        inner: HashedEmbedder::new(),
        word: "-",
        times: AtomicUsize::new(0),
    };
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = Memory::builder(Arc::clone(&records), Arc::new(embedder))
        .open()
        .await
        .unwrap();
    save(
        &memory,
        &ada(),
        "s",
        &"A sentence of some words that goes on for a while. ".repeat(100),
    )
    .await;
    for chunk in records
        .chunks(tidegate_store::ChunkQuery::default())
        .await
        .unwrap()
    {
        assert!(
            HashedEmbedder::new().count_tokens(&chunk.text) <= 32,
            "{}",
            chunk.text
        );
    }
}
