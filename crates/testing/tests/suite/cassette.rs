//! Recording and playing.

use crate::common::{ask, asking, model_at};
use tidegate_providers::ErrorClass;
use tidegate_testing::{Cassette, CassetteError, FakeOpenAi, FakeReply, calls, text};

#[tokio::test]
async fn what_was_recorded_is_played_again_without_the_server_and_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talk.jsonl");
    let secret = "sk-\"quoted\"/ä";
    let upstream = FakeOpenAi::start([
        FakeReply::from(text(format!("The key is {secret}."))),
        calls([("read_file", serde_json::json!({"path": "a"}))]).into(),
        FakeReply::error(429, "rate_limit_exceeded", "slow down").with_header("retry-after", "7"),
    ])
    .await
    .unwrap();
    let questions = [
        format!("Is {secret} the key?"),
        "Read a.".to_owned(),
        "Again?".to_owned(),
    ];

    let recorder = Cassette::record(&upstream.base_url(), &file, [secret.to_owned()])
        .await
        .unwrap();
    let mut recorded = Vec::new();
    for question in &questions {
        recorded.push(
            ask(
                &model_at(&recorder.base_url(), Some("sk-in-a-header")),
                asking(&[question]),
            )
            .await,
        );
    }
    assert_eq!(
        upstream.requests()[0].header("authorization"),
        Some("Bearer sk-in-a-header")
    );
    assert!(recorder.strangers().is_empty());
    drop((recorder, upstream));

    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.starts_with("{\"cassette\":1}\n"), "{kept}");
    assert_eq!(kept.lines().count(), 4, "one line an exchange");
    for form in [
        secret,
        "sk-\\\"quoted\\\"/ä",
        "sk-\\\\\\\"",
        "sk-%22",
        "sk-in-a-header",
        "quoted",
    ] {
        assert!(!kept.contains(form), "{form} is in {kept}");
    }

    let player = Cassette::replay(&file).await.unwrap();
    for (question, before) in questions.iter().zip(recorded) {
        let question = question.replace(secret, "[scrubbed]");
        let after = ask(&model_at(&player.base_url(), None), asking(&[&question])).await;
        match (before, after) {
            (Ok(before), Ok(after)) => {
                let scrubbed = format!("{:?}", before.parts)
                    .replace(&format!("{secret:?}").replace('"', ""), "[scrubbed]");
                let scrubbed = scrubbed.replace("sk-\\\"quoted\\\"/ä", "[scrubbed]");
                assert_eq!(format!("{:?}", after.parts), scrubbed);
                assert_eq!(after.usage, before.usage);
            }
            (Err(before), Err(after)) => {
                assert_eq!(
                    (after.class, after.retry_after),
                    (before.class, before.retry_after)
                );
            }
            (before, after) => panic!("{before:?} was recorded, {after:?} is played"),
        }
    }
    player.assert_complete();
}

#[tokio::test]
async fn a_request_that_was_not_recorded_is_refused_and_the_difference_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talk.jsonl");
    let upstream = FakeOpenAi::start([text("one"), text("two")]).await.unwrap();
    let recorder = Cassette::record(&upstream.base_url(), &file, []).await.unwrap();
    for question in ["one?", "two?"] {
        ask(&model_at(&recorder.base_url(), None), asking(&[question]))
            .await
            .unwrap();
    }

    let player = Cassette::replay(&file).await.unwrap();
    let model = model_at(&player.base_url(), None);
    // In another order: what is asked at the same time may come in any.
    ask(&model, asking(&["two?"])).await.unwrap();
    let error = ask(&model, asking(&["three?"])).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Server);
    assert_eq!(
        player.strangers(),
        [
            r#"POST /chat/completions is not on the cassette; exchange 1, the next one, differs: /messages/0/content is "three?"; the cassette has "one?""#
        ]
    );
    assert_eq!(player.unplayed(), 1);
    ask(&model, asking(&["one?"])).await.unwrap();
    ask(&model, asking(&["one?"])).await.unwrap_err();
    assert_eq!(
        player.strangers()[1],
        "POST /chat/completions: all 2 exchanges of the cassette have been played"
    );
}

#[tokio::test]
async fn a_file_that_is_no_cassette_is_told_from_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talk.jsonl");
    assert!(matches!(
        Cassette::replay(&file).await,
        Err(CassetteError::File { .. })
    ));
    for (content, line) in [
        ("", None),
        ("{\"cassette\":2}\n", None),
        ("{\"cassette\":1}\n{}\n", Some(2)),
        ("{\"cassette\":1}\n\n{\"request\":7}\n", Some(3)),
    ] {
        std::fs::write(&file, content).unwrap();
        match (Cassette::replay(&file).await, line) {
            (Err(CassetteError::Version { .. }), None) => {}
            (Err(CassetteError::Line { line, .. }), Some(expected)) => assert_eq!(line, expected),
            (other, _) => panic!("{content:?}: {other:?}"),
        }
    }
}
