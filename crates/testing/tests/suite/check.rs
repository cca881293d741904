//! What the fake service refuses.

use serde_json::{Value, json};
use tidegate_testing::check_request;

fn request() -> Value {
    json!({
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "Be exact."},
            {"role": "user", "content": [
                {"type": "text", "text": "?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "file", "file": {"filename": "a", "file_data": "data:text/plain;base64,AA=="}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "And?"},
        ],
        "tool_choice": "none",
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "nonsense"}, "extra_content": {}})
}

/// The request with another value in one place, or none.
fn changed(pointer: &str, value: Option<Value>) -> Vec<u8> {
    let mut request = request();
    match value {
        Some(value) if request.pointer(pointer).is_some() => *request.pointer_mut(pointer).unwrap() = value,
        value => {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match (request.pointer_mut(parent).unwrap(), value) {
                (Value::Object(parent), Some(value)) => drop(parent.insert(key.into(), value)),
                (Value::Object(parent), None) => drop(parent.remove(key).unwrap()),
                (Value::Array(parent), None) => drop(parent.remove(key.parse().unwrap())),
                (parent, value) => panic!("cannot put {value:?} into {parent}"),
            }
        }
    }
    request.to_string().into_bytes()
}

#[test]
fn a_correct_request_is_accepted() {
    assert_eq!(
        check_request(request().to_string().as_bytes()).unwrap(),
        request()
    );
}

#[test]
fn one_mistake_is_enough_to_be_refused() {
    let mut told = String::new();
    for (pointer, value) in [
        ("/model", Some(json!(""))),
        ("/model", None),
        ("/cache", Some(json!(true))),
        ("/messages", Some(json!([]))),
        ("/messages", Some(json!({}))),
        ("/messages/0/role", Some(json!("narrator"))),
        ("/messages/0/content", Some(Value::Null)),
        ("/messages/1/content", Some(json!([]))),
        ("/messages/1/content/0/text", Some(json!(""))),
        ("/messages/1/content/0/type", Some(json!("tool_result"))),
        (
            "/messages/1/content/1/image_url/url",
            Some(json!("file:///etc/passwd")),
        ),
        ("/messages/1/content/2/file/file_data", Some(json!("AA=="))),
        ("/messages/1/verbatim", Some(json!(1))),
        ("/messages/2/tool_calls", None),
        ("/messages/2/tool_calls", Some(json!([]))),
        ("/messages/2/tool_calls/1/id", Some(json!("a"))),
        ("/messages/2/tool_calls/1/id", Some(json!(""))),
        ("/messages/2/tool_calls/1/index", Some(json!(1))),
        ("/messages/2/tool_calls/1/type", None),
        ("/messages/2/tool_calls/1/function/name", Some(json!("a.b"))),
        (
            "/messages/2/tool_calls/1/function/name",
            Some(json!("n".repeat(65))),
        ),
        ("/messages/2/tool_calls/1/function/arguments", Some(json!({}))),
        ("/messages/2", None),
        ("/messages/3", None),
        ("/messages/3/tool_call_id", Some(json!("c"))),
        ("/messages/3/tool_call_id", Some(json!("a"))),
        ("/messages/3/content", Some(Value::Null)),
        ("/messages/5/content", Some(Value::Null)),
        ("/messages/5/content", Some(json!([{"type": "text", "text": ""}]))),
        ("/tools", Some(json!([]))),
        ("/tools", None),
        ("/tools/0/function/name", Some(json!("a b"))),
        ("/tools/0/function/parameters/type", Some(json!("string"))),
        ("/tools/0/function/parameters", Some(json!([]))),
        ("/tools/0/type", Some(json!("mcp"))),
        ("/tool_choice", Some(json!("never"))),
        ("/stream", Some(json!(false))),
        ("/stream", Some(json!("yes"))),
    ] {
        match check_request(&changed(pointer, value.clone())) {
            Ok(_) => panic!("accepted: {pointer} = {value:?}"),
            Err(violation) => told.push_str(&format!("{violation}\n")),
        }
    }
    insta::assert_snapshot!(told, @r#"
    model: you must provide a model parameter
    model: has to be a string
    cache: unrecognized request argument supplied
    messages: [] is too short
    messages: has to be an array
    messages[0].role: "narrator" is not a role
    messages[0].content: has to be a string or an array of content parts
    messages[1].content: [] is too short
    messages[1].content[0].text: text content blocks must be non-empty
    messages[1].content[0].type: "tool_result" is not one of ["text", "image_url", "input_audio", "file"]
    messages[1].content[1].image_url.url: is neither an image's data URI nor an https URL
    messages[1].content[2].file.file_data: is no data URI
    messages[1].verbatim: unrecognized key
    messages[2].content: is required unless tool_calls is given
    messages[2].tool_calls: [] is too short; leave the key out
    messages[2].tool_calls[1].id: duplicate tool call id "a"
    messages[2].tool_calls[1].id: must not be empty
    messages[2].tool_calls[1].index: belongs to a streamed delta, not to a message
    messages[2].tool_calls[1].type: has to be "function"
    messages[2].tool_calls[1].function.name: "a.b" does not match the pattern ^[a-zA-Z0-9_-]{1,64}$
    messages[2].tool_calls[1].function.name: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" does not match the pattern ^[a-zA-Z0-9_-]{1,64}$
    messages[2].tool_calls[1].function.arguments: has to be a string
    messages[2].tool_call_id: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; "b" answers no open call
    messages[4]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; "b" has no response
    messages[3].tool_call_id: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; "c" answers no open call
    messages[4].tool_call_id: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; "a" answers no open call
    messages[3].content: has to be a string or an array of content parts
    messages[5].content: is required unless tool_calls is given
    messages[5].content[0].text: text content blocks must be non-empty
    tools: [] is too short; leave the key out
    tool_choice: is only allowed when tools are specified
    tools[0].function.name: "a b" does not match the pattern ^[a-zA-Z0-9_-]{1,64}$
    tools[0].function.parameters: invalid schema for function "f": schema must be a JSON Schema of 'type: "object"'
    tools[0].function.parameters: has to be an object
    tools[0].type: has to be "function"
    tool_choice: has to be none, auto, required or an object
    stream_options: is only allowed when stream is enabled
    stream: has to be a boolean
    "#);
}

#[test]
fn results_that_are_missing_at_the_end_are_refused() {
    let mut request = request();
    request["messages"].as_array_mut().unwrap().truncate(4);
    let violation = check_request(request.to_string().as_bytes()).unwrap_err();
    assert!(violation.message.contains("\"a\" has no response"), "{violation}");
}

#[test]
fn what_is_no_json_is_refused() {
    let half_a_pair = r#"{"model": "m", "messages": [{"role": "user", "content": "\ud83e"}]}"#.as_bytes();
    let not_utf8 = b"{\"model\": \"\xff\"}".as_slice();
    for body in [b"".as_slice(), b"{", b"[]", half_a_pair, not_utf8] {
        assert_eq!(check_request(body).unwrap_err().param, "body");
    }
}
