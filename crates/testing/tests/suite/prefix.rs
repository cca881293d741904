//! Where two requests part.

use tidegate_testing::prefix_of;

#[test]
fn requests_part_where_their_bytes_differ() {
    let tools = |tools: &str| format!(r#"{{"model":"m","tools":{tools},"messages":[]}}"#);
    let messages = |messages: &str| format!(r#"{{"model":"m","messages":[{messages}],"stream":true}}"#);
    for (previous, next, expected) in [
        (messages("1"), messages("1,2"), Ok(())),
        (messages("1"), messages("1"), Ok(())),
        (
            messages("{\"a\":1}"),
            messages("{\"a\":1},2").replace("true", "false"),
            Ok(()),
        ),
        (
            messages("1,2"),
            messages("1"),
            Err("there were 2 messages, and now there are 1"),
        ),
        (
            messages("1,{\"a\":1}"),
            messages("1,{\"a\": 1}"),
            Err("message 1 differs from byte 5 on: \"1}\" became \" 1}\""),
        ),
        (
            messages("\"你好\""),
            messages("\"你们\""),
            Err("message 0 differs from byte 5 on: \"\u{fffd}\u{fffd}\\\"\" became \"\u{fffd}\u{fffd}\\\"\""),
        ),
        (
            tools("[1,2]"),
            tools("[2,1]"),
            Err("the tools differ from byte 1 on: \"1,2]\" became \"2,1]\""),
        ),
        (
            tools("[1]"),
            messages(""),
            Err("the tools differ from byte 0 on: \"[1]\" became \"\""),
        ),
        (messages(""), "{".into(), Err("the next request cannot be read")),
        (
            "{}".into(),
            messages(""),
            Err("the previous request cannot be read"),
        ),
    ] {
        let found = prefix_of(previous.as_bytes(), next.as_bytes()).map_err(|broken| broken.to_string());
        match (&found, expected) {
            (Err(found), Err(expected)) if expected.contains('\u{fffd}') => {
                assert!(found.starts_with("message 0 differs from byte"), "{found}");
            }
            _ => assert_eq!(found, expected.map_err(str::to_owned), "{previous} {next}"),
        }
    }
}
