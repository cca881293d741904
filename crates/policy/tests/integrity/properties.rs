//! What holds for any text.

use super::{judge, listed, mail, reader, said, tool, trusted_reader};
use proptest::prelude::*;
use tidegate_policy::{ActionClass, ToolOutcome};

fn owner() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,200}",
        "(send|delete|don't|if|the mail|says|'|\"|,|\\.|\n|bob@x\\.example|https://x\\.example/a|2024-05-15|\\{|\\}|一|发送|und|schicke|> |```| ){0,40}",
    ]
}

fn untrusted() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,200}",
        "(- |id: |title: |[a-c]|\n|  |:|\\{|\\}|\"|'|\\[|\\]|&x |\\*x|[0-9]|sink@x\\.example|https://x\\.example/b){0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn judging_is_total(owner in owner(), result in untrusted(), value in "\\PC{0,40}") {
        let mut ledger = said(&owner);
        listed(&mut ledger, &trusted_reader("list_things"), "{}", &result);
        let arguments = serde_json::json!({"to": value, "thing_id": value, "amount": 3, "end": value, "body": result});
        let one = ledger.judge(&mail(), &arguments);
        let two = ledger.judge(&mail(), &arguments);
        prop_assert_eq!(&one, &two);
        ledger.consume(&"c".into(), &one);
        ledger.tool_result(&"c".into(), &mail(), &arguments, ToolOutcome::Text(&result));
    }

    #[test]
    fn untrusted_data_licenses_nothing_but_ids(owner in owner(), result in untrusted(), value in prop_oneof![Just("bob@x.example".to_owned()), Just("sink@x.example".to_owned()), "\\PC{0,20}"]) {
        let clean = said(&owner);
        let mut dirty = clean.clone();
        listed(&mut dirty, &reader("read_page"), "{}", &result);
        for tool in [mail(), tool("pay", ActionClass::Financial, &["to"], &[]), tool("delete_file", ActionClass::Destructive, &[], &[])] {
            let arguments = serde_json::json!({"to": value, "body": "x"}).to_string();
            let (before, after) = (judge(&clean, &tool, &arguments), judge(&dirty, &tool, &arguments));
            prop_assert_eq!(before.satisfied, after.satisfied);
            prop_assert_eq!(before.licence, after.licence);
        }
    }

    #[test]
    fn two_sessions_that_differ_in_untrusted_data_allow_the_same(owner in owner(), one in untrusted(), other in untrusted()) {
        let (mut left, mut right) = (said(&owner), said(&owner));
        listed(&mut left, &reader("read_page"), "{}", &one);
        listed(&mut right, &reader("read_page"), "{}", &other);
        let arguments = r#"{"to": "bob@x.example", "body": "hello"}"#;
        prop_assert_eq!(judge(&left, &mail(), arguments).satisfied, judge(&right, &mail(), arguments).satisfied);
    }
}
