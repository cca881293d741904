//! Replies put together from their fragments, and the form in which they are sent back.

use crate::common::{asking, delta, done, finished, fragments, provider, reply, shown, verbatim};
use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_testing::{FakeOpenAi, FakeReply};

#[tokio::test]
async fn fragments_of_calls_reach_their_call() {
    let call = |index: Value, id: Value, name: Value, arguments: Value| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    let none = Value::Null;
    let table: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        (
            "two calls with the same index and different ids, continued by index",
            vec![
                call(0.into(), "a".into(), "read_file".into(), "{\"p".into()),
                call(0.into(), none.clone(), none.clone(), "ath\":1}".into()),
                call(0.into(), "b".into(), "list_files".into(), "{\"p".into()),
                call(0.into(), none.clone(), none.clone(), "ath\":2}".into()),
            ],
            vec!["a read_file({\"path\":1})", "b list_files({\"path\":2})"],
        ),
        (
            "two calls with the same index, interleaved by id",
            vec![
                call(0.into(), "a".into(), "read_file".into(), "{\"p\"".into()),
                call(0.into(), "b".into(), "list_files".into(), "{\"q\"".into()),
                call(0.into(), "a".into(), none.clone(), ":1}".into()),
                call(0.into(), "b".into(), none.clone(), ":2}".into()),
            ],
            vec!["a read_file({\"p\":1})", "b list_files({\"q\":2})"],
        ),
        (
            "two calls interleaved by index, without ids after the first fragment",
            vec![
                call(0.into(), "a".into(), "read_file".into(), "".into()),
                call(1.into(), "b".into(), "list_files".into(), "".into()),
                call(0.into(), none.clone(), none.clone(), "{\"x\":".into()),
                call(1.into(), none.clone(), none.clone(), "{\"y\":".into()),
                call(0.into(), "".into(), "".into(), "1}".into()),
                call(1.into(), none.clone(), none.clone(), "2}".into()),
            ],
            vec!["a read_file({\"x\":1})", "b list_files({\"y\":2})"],
        ),
        (
            "the id in every fragment, and the name too",
            vec![
                call(0.into(), "a".into(), "read_file".into(), "{\"x\"".into()),
                call(0.into(), "a".into(), "read_file".into(), ":1}".into()),
            ],
            vec!["a read_file({\"x\":1})"],
        ),
        (
            "a name in two pieces",
            vec![
                call(0.into(), "a".into(), "read_".into(), none.clone()),
                call(0.into(), none.clone(), "file".into(), none.clone()),
                call(0.into(), none.clone(), none.clone(), "{}".into()),
            ],
            vec!["a read_file({})"],
        ),
        (
            "the id after the name",
            vec![
                call(0.into(), none.clone(), "read_file".into(), none.clone()),
                call(0.into(), "a".into(), none.clone(), "{}".into()),
            ],
            vec!["a read_file({})"],
        ),
        (
            "no index and no id: a name after arguments opens the next call",
            vec![
                call(none.clone(), none.clone(), "read_file".into(), "{\"x\":1}".into()),
                call(none.clone(), none.clone(), "read_file".into(), "{\"x\":2}".into()),
                call(none.clone(), none.clone(), "list_files".into(), "{}".into()),
            ],
            vec![
                "call_0 read_file({\"x\":1})",
                "call_1 read_file({\"x\":2})",
                "call_2 list_files({})",
            ],
        ),
        (
            "no ids, the same index, no arguments",
            vec![
                call(0.into(), none.clone(), "read_file".into(), "".into()),
                call(0.into(), none.clone(), "list_files".into(), "".into()),
            ],
            vec!["call_0 read_file()", "call_1 list_files()"],
        ),
        (
            "the same id twice, and a missing one whose replacement is taken",
            vec![
                call(0.into(), "call_2".into(), "read_file".into(), "{}".into()),
                call(1.into(), "call_2".into(), "list_files".into(), "{}".into()),
                call(2.into(), none.clone(), "list_files".into(), "{}".into()),
            ],
            vec![
                "call_2 read_file({})",
                "call_1 list_files({})",
                "call_2_ list_files({})",
            ],
        ),
        (
            "arguments as an object",
            vec![call(0.into(), "a".into(), "read_file".into(), json!({"x": 1}))],
            vec!["a read_file({\"x\":1})"],
        ),
        (
            "arguments that are no JSON are the model's own affair",
            vec![call(0.into(), "a".into(), "read_file".into(), "{\"x\":".into())],
            vec!["a read_file({\"x\":)"],
        ),
    ];
    for (name, pieces, expected) in table {
        let events = pieces.into_iter().map(|piece| fragments(json!([piece])));
        let events: Vec<String> = events.chain([finished("tool_calls"), done()]).collect();
        let server = FakeOpenAi::start([FakeReply::events(events).in_pieces_of(11)])
            .await
            .unwrap();
        let reply = reply(&provider(&server), asking("?")).await;
        assert_eq!(shown(&reply), expected, "{name}");
        let sent_back: Value = serde_json::from_str(verbatim(&reply)).unwrap();
        let ids: Vec<&str> = sent_back["tool_calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["id"].as_str().unwrap())
            .collect();
        let given: Vec<&str> = expected
            .iter()
            .map(|call| call.split(' ').next().unwrap())
            .collect();
        assert_eq!(ids, given, "{name}: the same ids are sent back");
    }
}

#[tokio::test]
async fn the_provider_gets_back_what_it_said() {
    let events = [
        delta(json!({"role": "assistant", "reasoning_content": "hm, "})),
        delta(json!({"reasoning_content": "so"})),
        delta(json!({"content": "I look", "annotations": [], "audio": null})),
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function",
            "extra_content":{"google":{"thought_signature":"c2ln","weight":1.50}},
            "function":{"name":"read.file","arguments":""}}]}}]}"#
            .replace('\n', ""),
        finished("tool_calls"),
        done(),
    ];
    let server = FakeOpenAi::start([FakeReply::events(events)]).await.unwrap();
    let reply = reply(&provider(&server), asking("?")).await;
    assert_eq!(
        shown(&reply),
        ["reasoning:hm, so", "text:I look", "a read.file()"]
    );
    // Numbers of unknown fields keep their form; the name fits the wire; no arguments are an empty object.
    insta::assert_snapshot!(
        verbatim(&reply),
        @r#"{"content":"I look","reasoning_content":"hm, so","role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"c2ln","weight":1.50}},"function":{"arguments":"{}","name":"read_file_dd32cdf50e1f53f3"},"id":"a","type":"function"}]}"#
    );
}

#[tokio::test]
async fn blocks_of_reasoning_are_sent_back_whole() {
    let events = [
        delta(json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "one "}]})),
        delta(json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "two"}]})),
        delta(
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": null, "signature": "s"}]}),
        ),
        delta(json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]})),
        delta(json!({"content": "Hi"})),
        finished("stop"),
        done(),
    ];
    let server = FakeOpenAi::start([FakeReply::events(events)]).await.unwrap();
    let reply = reply(&provider(&server), asking("?")).await;
    let sent_back: Value = serde_json::from_str(verbatim(&reply)).unwrap();
    assert_eq!(
        sent_back["reasoning_details"],
        json!([
            {"type": "reasoning.text", "index": 0, "text": "one two", "signature": "s"},
            {"type": "reasoning.encrypted", "index": 1, "data": "x"},
        ])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn calls_interleaved_in_any_order_come_out_whole(
        arguments in proptest::collection::vec("\\PC{0,12}", 1..5),
        turns in proptest::collection::vec(any::<prop::sample::Index>(), 0..80),
        repeats_id in any::<bool>(),
    ) {
        let texts: Vec<String> = arguments.iter().map(|text| json!({"path": text}).to_string()).collect();
        let mut rest: Vec<Vec<char>> = texts.iter().map(|text| text.chars().rev().collect()).collect();
        let mut events: Vec<String> = (0..texts.len())
            .map(|index| json!([{"index": index, "id": format!("id_{index}"), "function": {"name": "read_file"}}]))
            .map(fragments)
            .collect();
        let mut send = |index: usize, piece: String| {
            let id = if repeats_id { format!("id_{index}").into() } else { Value::Null };
            events.push(fragments(json!([{"index": index, "id": id, "function": {"arguments": piece}}])));
        };
        for turn in turns {
            let index = turn.index(rest.len());
            if let Some(character) = rest[index].pop() {
                send(index, character.into());
            }
        }
        for (index, rest) in rest.into_iter().enumerate() {
            send(index, rest.into_iter().rev().collect());
        }
        events.extend([finished("tool_calls"), done()]);
        let expected: Vec<String> =
            texts.iter().enumerate().map(|(index, text)| format!("id_{index} read_file({text})")).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = FakeOpenAi::start([FakeReply::events(events)]).await.unwrap();
            assert_eq!(shown(&reply(&provider(&server), asking("?")).await), expected);
        });
    }
}
