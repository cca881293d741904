//! Tool names on the wire (field report 29).

use crate::common::{Talk, provider, reply, tools};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_message::{ProviderId, ReplyPart};
use tidegate_providers::{ModelRequest, ToolSet, encode_request};
use tidegate_testing::{FakeOpenAi, calls, check_request, prefix_of, text};

/// The names under which tools of these names are sent, in order.
fn sent(names: &[&str]) -> Vec<String> {
    let request = ModelRequest {
        tools: Arc::new(tools(names)),
        ..Talk::asking("?").request()
    };
    let body = check_request(&encode_request(&ProviderId::new("fake"), &request)).unwrap();
    let tools = body.get("tools").and_then(serde_json::Value::as_array).unwrap();
    tools
        .iter()
        .map(|tool| {
            tool.pointer("/function/name")
                .and_then(|name| name.as_str())
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[test]
fn names_that_fit_are_sent_as_they_are_and_others_shortened() {
    let longest = "n".repeat(64);
    for name in [
        "read_file",
        "a",
        "A-b_9",
        longest.as_str(),
        "deadbeef",
        "x_0123456789abcde",
    ] {
        assert_eq!(sent(&[name]), [name]);
    }
    insta::assert_snapshot!(
        sent(&[&"n".repeat(65), "files.read", "wetter-für-münchen", "x_0123456789abcdef"]).join("\n"),
        @r"
    nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_1e3fb6d54587d70a
    files_read_601e4eb608f9175e
    wetter-f_r-m_nchen_418ca7b934189348
    x_0123456789abcdef_e57bc0d901d09050
    "
    );
}

#[test]
fn names_that_begin_alike_stay_different_whatever_stands_beside_them() {
    let start = "mcp_server_with_a_very_long_name_".repeat(3);
    let names: Vec<String> = ["read", "write", "", "read."]
        .iter()
        .map(|end| format!("{start}{end}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let together = sent(&names);
    for (name, wire) in names.iter().zip(&together) {
        assert_eq!(sent(&[name]), [wire.as_str()]);
        // Whoever takes the short form for a name of his own gets another one.
        assert_ne!(sent(&[wire]), [wire.as_str()]);
    }
    assert_eq!(
        BTreeMap::from_iter(together.iter().zip(&names)).len(),
        names.len()
    );
}

proptest! {
    #[test]
    fn every_name_fits_and_none_collides(names in prop::collection::btree_set(".{1,90}", 1..20)) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wire = sent(&names);
        let mut distinct = wire.clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), names.len());
        for name in wire {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            prop_assert!((1..=64).contains(&name.len()) && name.bytes().all(fits), "{}", name);
        }
    }
}

#[tokio::test]
async fn a_call_by_the_short_name_is_one_of_the_tool_and_goes_back_by_the_short_name() {
    let long = format!("{}_read", "mcp_server_with_a_very_long_name".repeat(3));
    let names = [long.as_str(), "read_file"];
    let short = sent(&names).remove(0);
    let server = FakeOpenAi::start([
        calls([(short.as_str(), serde_json::json!({"path": "a"}))]),
        text("Done."),
    ])
    .await
    .unwrap();
    let tools: Arc<ToolSet> = Arc::new(tools(&names));
    let mut talk = Talk::asking("?");
    let request = |talk: &Talk| ModelRequest {
        tools: Arc::clone(&tools),
        ..talk.request()
    };
    let provider = provider(&server);
    let first = reply(&provider, request(&talk)).await;
    let [ReplyPart::Call { name, .. }] = first.parts.as_slice() else {
        panic!("{first:?}");
    };
    assert_eq!(name.as_str(), long);
    let asked = talk.reply(first);
    talk.results(&asked, "42");
    reply(&provider, request(&talk)).await;
    server.assert_complete();
    let requests = server.requests();
    prefix_of(&requests[0].body, &requests[1].body).unwrap();
    let sent_back = &requests[1].messages()[2]["tool_calls"][0]["function"]["name"];
    assert_eq!(sent_back, short.as_str());
    // To another provider it goes by the same name.
    let body = encode_request(&ProviderId::new("other"), &request(&talk));
    let body = check_request(&body).unwrap();
    assert_eq!(
        body["messages"][2]["tool_calls"][0]["function"]["name"],
        short.as_str()
    );
}
