//! Requests as bytes.

use crate::common::{Talk, provider, reply, tools, verbatim};
use bytes::Bytes;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tidegate_message::{
    Author, Body, Content, Data, Entry, FinishReason, ModelId, ProviderId, Reply, ReplyPart, ResultStatus,
    ToolResult, ToolResults, Usage, UserMessage, Verbatim,
};
use tidegate_policy::Label;
use tidegate_providers::{
    ModelRequest, OpenAi, OpenAiConfig, Provider, ToolChoice, ToolSet, chat_wire, encode_request,
};
use tidegate_testing::{FakeOpenAi, FakeReply, calls, check_request, prefix_of, text};

fn encode(provider: &str, request: &ModelRequest) -> Value {
    let body = encode_request(&ProviderId::new(provider), request);
    check_request(&body)
        .unwrap_or_else(|violation| panic!("{violation} in {}", String::from_utf8_lossy(&body)))
}

fn said(provider: &str, parts: Vec<ReplyPart>, verbatim: Option<&str>) -> Reply {
    let provider = ProviderId::new(provider);
    Reply {
        model: ModelId::new(provider.clone(), "m"),
        parts,
        verbatim: verbatim.map(|json| Verbatim {
            provider,
            json: serde_json::from_str(json).unwrap(),
        }),
        usage: Usage::default(),
        finish: FinishReason::Stop,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ReplyPart {
    ReplyPart::Call {
        provider_id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn user(content: Vec<Content>) -> UserMessage {
    UserMessage::new(Author::Person, content)
}

fn png() -> Content {
    Content::Image {
        media_type: "image/png".into(),
        data: Data::from_base64("iVBORw0KGgo="),
    }
}

fn pdf() -> Content {
    Content::File {
        name: "q3.pdf".into(),
        media_type: "application/pdf".into(),
        data: Data::from_base64("JVBERg=="),
    }
}

#[test]
fn a_request_reads_like_this() {
    let mut talk = Talk::asking("What is in a.txt?");
    let asked = talk.reply(said(
        "other",
        vec![call("x", "read_file", "{\"path\": \"a.txt\"}")],
        None,
    ));
    talk.results(&asked, "42");
    let body = encode_request(&ProviderId::new("fake"), &talk.request());
    insta::assert_snapshot!(std::str::from_utf8(&body).unwrap(), @r#"{"model":"fake-model","tools":[{"type":"function","function":{"name":"list_files","description":"The tool list_files.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},{"type":"function","function":{"name":"read_file","description":"The tool read_file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],"messages":[{"content":"Be exact.","role":"system"},{"content":"What is in a.txt?","role":"user"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_2_0","type":"function","function":{"name":"read_file","arguments":"{\"path\": \"a.txt\"}"}}]},{"content":"42","role":"tool","tool_call_id":"call_2_0"}],"stream":true,"stream_options":{"include_usage":true}}"#);
}

#[test]
fn tool_choice_changes_nothing_but_the_tail() {
    let mut request = Talk::asking("?").request();
    let auto = encode_request(&ProviderId::new("fake"), &request);
    request.tool_choice = ToolChoice::None;
    let none = encode_request(&ProviderId::new("fake"), &request);
    assert_eq!(encode("fake", &request)["tool_choice"], "none");
    prefix_of(&auto, &none).unwrap();
    prefix_of(&none, &auto).unwrap();
    assert!(none.starts_with(&auto[..auto.len() - 1]));
}

#[test]
fn without_tools_and_system_prompt_neither_is_sent() {
    let request = ModelRequest {
        tools: Arc::new(ToolSet::new(Vec::new())),
        system: "".into(),
        tool_choice: ToolChoice::None,
        ..Talk::asking("?").request()
    };
    let body = encode("fake", &request);
    assert_eq!(body["messages"], json!([{"role": "user", "content": "?"}]));
    assert_eq!(body.get("tools"), None);
    assert_eq!(body.get("tool_choice"), None);
}

#[test]
fn user_messages_are_text_or_parts() {
    let text = |text: &str| Content::text(text);
    for (content, expected) in [
        (vec![text("你好")], json!("你好")),
        (vec![text("one"), text(""), text("two")], json!("one\ntwo")),
        (vec![text("")], json!("")),
        (
            vec![text("look"), text(""), png()],
            json!([
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ]),
        ),
        (
            vec![pdf()],
            json!([{"type": "file", "file": {
                "filename": "q3.pdf",
                "file_data": "data:application/pdf;base64,JVBERg==",
            }}]),
        ),
    ] {
        let mut talk = Talk::default();
        talk.user(user(content));
        assert_eq!(
            encode("fake", &talk.request())["messages"][1]["content"],
            expected
        );
    }
}

#[test]
fn model_messages_of_others_are_sent_in_the_neutral_form() {
    let text = |text: &str| ReplyPart::Text(text.into());
    let neutral_call = |index: usize, name: &str, arguments: &str| {
        json!({
            "id": format!("call_2_{index}"),
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        })
    };
    for (parts, expected) in [
        (vec![text("Hi")], json!({"content": "Hi"})),
        (vec![], json!({"content": ""})),
        (vec![ReplyPart::Reasoning("hm".into())], json!({"content": ""})),
        (
            vec![
                ReplyPart::Reasoning("hm".into()),
                text("a"),
                call("x", "f", ""),
                text("b"),
                call("x", "g", "{"),
            ],
            json!({"content": "ab", "tool_calls": [neutral_call(0, "f", "{}"), neutral_call(1, "g", "{")]}),
        ),
        (
            vec![
                call("x", "functions.read file", "{}"),
                call("y", &"长".repeat(70), " "),
            ],
            json!({"content": null, "tool_calls": [
                neutral_call(0, "functions_read_file_5f3c881007e2b510", "{}"),
                neutral_call(1, &format!("{}_3ddac51c03e5d367", "_".repeat(47)), "{}"),
            ]}),
        ),
    ] {
        let mut talk = Talk::asking("?");
        let asked = talk.reply(said(
            "other",
            parts,
            Some(r#"{"role":"model","secret":"signature"}"#),
        ));
        if asked.is_empty() {
            talk.user(UserMessage::person("And?"));
        } else {
            talk.results(&asked, "done");
        }
        let mut expected = expected;
        expected["role"] = "assistant".into();
        let messages = encode("fake", &talk.request())["messages"].clone();
        assert_eq!(messages[2], expected);
        for (index, call) in asked.iter().enumerate() {
            assert_eq!(messages[3 + index]["tool_call_id"], call.id.as_str());
        }
    }
}

#[test]
fn results_are_text_with_the_id_their_call_was_sent_with() {
    let own = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    for (content, expected) in [
        (vec![Content::text("42")], "42"),
        (vec![], "(empty result)"),
        (vec![Content::text("")], "(empty result)"),
        (vec![Content::text("see"), png()], "see\n[image: image/png]"),
        (vec![pdf()], "[file: q3.pdf (application/pdf)]"),
    ] {
        let mut talk = Talk::asking("?");
        let asked = talk.reply(said("own", vec![call("x", "f", "")], Some(own)));
        let result = ToolResult {
            content,
            ..ToolResult::text(&asked[0], ResultStatus::Ok, Label::BOTTOM, "")
        };
        talk.push(Body::Results(ToolResults {
            results: vec![result],
        }));
        for (provider, id) in [("own", "x"), ("other", "call_2_0")] {
            let messages = encode(provider, &talk.request())["messages"].clone();
            assert_eq!(
                messages[3],
                json!({"role": "tool", "tool_call_id": id, "content": expected})
            );
        }
    }
}

#[test]
fn an_entry_is_encoded_once() {
    let mut talk = Talk::asking("?");
    talk.reply(said("other", vec![ReplyPart::Text("Hi".into())], None));
    talk.user(UserMessage::person("And?"));
    let id = ProviderId::new("fake");
    let wire = chat_wire(&id);
    let kept = |entry: &Arc<Entry>| -> Bytes {
        entry
            .encoded(&wire, || panic!("it was encoded already"))
            .unwrap_or_else(|never: Infallible| match never {})
    };

    // What is kept is what is sent.
    let body = encode_request(&id, &talk.request());
    let sent = String::from_utf8(body.to_vec()).unwrap();
    for entry in &talk.entries {
        assert!(sent.contains(std::str::from_utf8(&kept(entry)).unwrap()));
    }
    // The second time nothing is encoded: the bytes are the same memory.
    let before: Vec<*const u8> = talk.entries.iter().map(|entry| kept(entry).as_ptr()).collect();
    assert_eq!(encode_request(&id, &talk.request()), body);
    assert_eq!(
        before,
        talk.entries
            .iter()
            .map(|entry| kept(entry).as_ptr())
            .collect::<Vec<_>>()
    );

    // And what is kept is used, whatever it is.
    let request = Talk::asking("?").request();
    request.history[0]
        .encoded(&wire, || Ok::<_, Infallible>(Bytes::from_static(b"\"kept\"")))
        .unwrap();
    let body = encode_request(&id, &request);
    assert!(String::from_utf8(body.to_vec()).unwrap().contains("},\"kept\"]"));
}

#[test]
fn tools_are_encoded_in_the_given_order_and_equal_sets_give_equal_bytes() {
    let names = ["write_file", "list_files", "read_file", "fetch"];
    let id = ProviderId::new("fake");
    let mut bodies = Vec::new();
    for turn in 0..names.len() {
        let mut names = names;
        names.rotate_left(turn);
        // Whoever registers tools in another order sorts them by name.
        names.sort_unstable();
        let request = ModelRequest {
            tools: Arc::new(tools(&names)),
            ..Talk::asking("?").request()
        };
        bodies.push(encode_request(&id, &request));
        bodies.push(encode_request(&id, &request));
    }
    assert!(bodies.iter().all(|body| body == &bodies[0]));
    let unsorted = ModelRequest {
        tools: Arc::new(tools(&names)),
        ..Talk::asking("?").request()
    };
    prefix_of(&bodies[0], &encode_request(&id, &unsorted)).expect_err("another order is another prefix");
}

#[tokio::test]
async fn fifty_turns_are_each_the_beginning_of_the_next() {
    let server = FakeOpenAi::answering(|request| match request.assistant_messages() % 3 {
        0 => FakeReply::from(
            calls([
                ("read_file", json!({"path": "你.txt"})),
                ("list_files", json!({})),
            ])
            .with_reasoning("hm"),
        ),
        1 => FakeReply::from(calls([("list_files", json!({}))]).with_text("Once more.")),
        _ => FakeReply::from(text("It says \"42\"\n🦀.")).in_pieces_of(7),
    })
    .await
    .unwrap();
    let mut model = provider(&server);
    let mut talk = Talk::default();
    let mut turns = 0;
    while turns < 50 {
        let content = match turns % 4 {
            0 => vec![Content::text("look"), png()],
            1 => vec![Content::text("note"), Content::text("<memory>…</memory>")],
            2 => vec![pdf()],
            _ => vec![Content::text(format!("turn {turns}"))],
        };
        talk.user(user(content));
        loop {
            let said = reply(&model, talk.request()).await;
            let asked = talk.reply(said);
            if asked.is_empty() {
                break;
            }
            talk.results(&asked, "result");
        }
        turns += 1;
        if turns == 25 {
            // The process starts anew: the entries come from the store, without their bytes.
            let stored: Vec<String> = talk
                .entries
                .iter()
                .map(|entry| serde_json::to_string(&**entry).unwrap())
                .collect();
            talk.entries = stored
                .iter()
                .map(|entry| Arc::new(serde_json::from_str::<Entry>(entry).unwrap()))
                .collect();
            model = provider(&server);
        }
    }
    server.assert_complete();
    let requests = server.requests();
    assert_eq!(requests.len(), 150);
    for (position, pair) in requests.windows(2).enumerate() {
        prefix_of(&pair[0].body, &pair[1].body)
            .unwrap_or_else(|broken| panic!("between requests {position} and the next: {broken}"));
    }
}

#[tokio::test]
async fn a_changed_provider_gets_the_neutral_form_and_the_old_one_its_own_again() {
    let script = [
        calls([("read_file", json!({"path": "a"}))]).with_reasoning("hm"),
        text("42"),
    ];
    let first = FakeOpenAi::start(script.clone()).await.unwrap();
    let second = FakeOpenAi::start([text("42"), text("43")]).await.unwrap();
    let second_model = OpenAi::new(OpenAiConfig::new(
        ProviderId::new("second"),
        second.base_url().parse().unwrap(),
    ));
    let first_model = provider(&first);

    let mut talk = Talk::asking("?");
    let said = reply(&first_model, talk.request()).await;
    let own = verbatim(&said).to_owned();
    let asked = talk.reply(said);
    talk.results(&asked, "42");
    reply(&second_model, talk.request()).await;
    let messages = second.requests()[0].messages().to_vec();
    assert_eq!(messages[2]["tool_calls"][0]["id"], "call_2_0");
    assert_eq!(messages[2].get("reasoning_content"), None);
    assert_eq!(messages[3]["tool_call_id"], "call_2_0");

    reply(&first_model, talk.request()).await;
    let body = first.requests()[1].body.clone();
    assert!(
        String::from_utf8(body.to_vec()).unwrap().contains(&own),
        "byte for byte"
    );
    assert_eq!(first.requests()[1].messages()[3]["tool_call_id"], "fake_0_0");
    first.assert_complete();
    assert!(second.violations().is_empty());
}

#[tokio::test]
async fn the_wire_carries_the_key_and_the_right_headers() {
    let server = FakeOpenAi::start([text("Hi"), text("Hi")]).await.unwrap();
    // A slash more or less at the end of the address makes no difference.
    for end in ["", "/"] {
        let base_url = format!("{}{end}", server.base_url()).parse().unwrap();
        let config = OpenAiConfig {
            api_key: Some("sk-123".into()),
            ..OpenAiConfig::new(ProviderId::new("fake"), base_url)
        };
        let model = OpenAi::new(config);
        assert!(!format!("{model:?}").contains("sk-123"), "{model:?}");
        assert_eq!(model.id().as_str(), "fake");
        reply(&model, Talk::asking("?").request()).await;
    }
    for request in server.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer sk-123"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(
            request.header("content-length"),
            Some(request.body.len().to_string().as_str())
        );
    }
}
