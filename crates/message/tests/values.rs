//! The small types: models, tiers, policies, usage, content.

use bytes::Bytes;
use std::convert::Infallible;
use std::sync::Arc;
use tidegate_message::{
    Body, Content, Data, Entry, EntrySeq, ModelId, ModelPolicy, ProviderId, Tier, Usage, UserMessage,
    joined_text,
};
use tidegate_policy::{Label, TurnId};

#[test]
fn a_model_is_split_at_its_first_colon() {
    let model: ModelId = "local:qwen:7b".parse().unwrap();
    assert_eq!((model.provider().as_str(), model.name()), ("local", "qwen:7b"));
    assert_eq!(model, ModelId::new(ProviderId::new("local"), "qwen:7b"));
    for text in ["", ":", "local", "local:", ":small"] {
        let error = text.parse::<ModelId>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("unknown model {text:?}; write provider:model, as in local:small")
        );
    }
}

#[test]
fn policies_are_known_words_tiers_or_models_and_nothing_else() {
    let model = |text: &str| ModelPolicy::Model(text.parse().unwrap());
    for (text, expected) in [
        ("auto", Some(ModelPolicy::Auto)),
        (" AUTO_PRO ", Some(ModelPolicy::AutoPro)),
        ("flash", Some(ModelPolicy::Tier(Tier::Flash))),
        ("PRO", Some(ModelPolicy::Tier(Tier::Pro))),
        ("local:small", Some(model("local:small"))),
        ("auto:x", Some(model("auto:x"))),
        ("", None),
        ("automatic", None),
        ("ultra", None),
    ] {
        assert_eq!(text.parse::<ModelPolicy>().ok(), expected, "{text:?}");
    }
    for policy in [
        ModelPolicy::Auto,
        ModelPolicy::AutoPro,
        ModelPolicy::Tier(Tier::Lite),
        model("a:b:c"),
    ] {
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<ModelPolicy>(&text).unwrap(), policy);
    }
    assert_eq!(
        "ultra".parse::<ModelPolicy>().unwrap_err().to_string(),
        "unknown model policy \"ultra\"; write auto, auto_pro, a tier (LITE, FLASH, PRO) or provider:model"
    );
}

#[test]
fn tiers_ascend() {
    assert!(Tier::ALL.is_sorted());
    assert_eq!(Tier::ALL.map(Tier::as_str), ["LITE", "FLASH", "PRO"]);
}

#[test]
fn usage_adds_up_and_stops_at_the_top() {
    let mut usage = Usage {
        uncached: 1,
        cache_read: 2,
        cache_write: 3,
        output: 4,
    };
    usage += Usage {
        uncached: 10,
        cache_read: 20,
        cache_write: 30,
        output: u64::MAX,
    };
    assert_eq!(
        usage,
        Usage {
            uncached: 11,
            cache_read: 22,
            cache_write: 33,
            output: u64::MAX
        }
    );
    assert_eq!(usage.input(), 66);
}

#[test]
fn text_is_joined_and_data_is_not_printed() {
    let image = Content::Image {
        media_type: "image/png".into(),
        data: Data::from_base64("c2VjcmV0"),
    };
    assert_eq!(
        joined_text(&[Content::text("a"), image.clone(), Content::text("b")]),
        "a\nb"
    );
    assert!(!format!("{image:?}").contains("c2VjcmV0"));
    let text = serde_json::to_string(&image).unwrap();
    assert_eq!(
        text,
        r#"{"type":"image","media_type":"image/png","data":"c2VjcmV0"}"#
    );
    assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), image);
}

#[test]
fn an_entry_is_encoded_once_for_each_wire_and_failures_are_not_kept() {
    let body = Body::User(UserMessage::person("x"));
    let entry = Entry::new(EntrySeq(1), TurnId::from_bits(1), Label::BOTTOM, body);
    let (one, two): (Arc<str>, Arc<str>) = ("one".into(), "two".into());
    assert_eq!(entry.encoded(&one, || Err("no")), Err("no"));
    let bytes = |text: &'static str| move || Ok::<_, Infallible>(Bytes::from_static(text.as_bytes()));
    assert_eq!(entry.encoded(&one, bytes("first")).unwrap(), "first");
    assert_eq!(entry.encoded(&one, bytes("again")).unwrap(), "first");
    assert_eq!(entry.encoded(&two, bytes("other")).unwrap(), "other");
}
