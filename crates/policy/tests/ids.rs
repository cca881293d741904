//! Identifiers.

use proptest::prelude::*;
use tidegate_policy::{ApprovalId, CallId, EventId, SessionId, SessionName, ThreadId, TurnId};

proptest! {
    #[test]
    fn ids_survive_text_and_json(bits in any::<u128>(), sequence in any::<u64>()) {
        let session = SessionId::from_bits(bits);
        prop_assert_eq!(session.to_string().parse::<SessionId>().unwrap(), session);
        let stored = serde_json::to_string(&session).unwrap();
        prop_assert_eq!(serde_json::from_str::<SessionId>(&stored).unwrap(), session);
        let event = EventId { session, sequence };
        prop_assert_eq!(event.to_string().parse::<EventId>().unwrap(), event);
    }

    #[test]
    fn one_kind_of_id_is_never_read_as_another(bits in any::<u128>()) {
        prop_assert!(ThreadId::from_bits(bits).to_string().parse::<SessionId>().is_err());
        prop_assert!(TurnId::from_bits(bits).to_string().parse::<ThreadId>().is_err());
        prop_assert!(SessionId::from_bits(bits).to_string().parse::<TurnId>().is_err());
        prop_assert!(SessionId::from_bits(bits).to_string().parse::<ApprovalId>().is_err());
        let approval = ApprovalId::from_bits(bits);
        prop_assert_eq!(approval.to_string().parse::<ApprovalId>().unwrap(), approval);
    }

    #[test]
    fn reading_an_id_is_total_and_strict(text in ".*") {
        if let Ok(id) = text.parse::<SessionId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }
}

#[test]
fn an_id_has_exactly_one_spelling() {
    let (zeros, fewer) = ("0".repeat(32), "0".repeat(31));
    assert_eq!(SessionId::from_bits(0).to_string(), format!("s_{zeros}"));
    for wrong in [
        String::new(),
        "s_".into(),
        format!("s_{fewer}"),
        format!("s_0{zeros}"),
        format!("S_{zeros}"),
        format!("t_{zeros}"),
        format!("s_A{fewer}"),
        format!("s_+{fewer}"),
        format!(" s_{zeros}"),
        format!("s_{zeros}\n"),
        format!("s_{}", "٠".repeat(16)),
    ] {
        let error = wrong.parse::<SessionId>().unwrap_err().to_string();
        assert!(
            error.contains("expected s_ and 32 lower-case hexadecimal digits"),
            "{error}"
        );
    }
}

#[test]
fn session_names_are_short_and_plain() {
    for valid in ["a", "Work-2_b", &"x".repeat(64)] {
        assert_eq!(valid.parse::<SessionName>().unwrap().as_str(), valid);
    }
    for wrong in ["", " ", "a b", "a/b", "..", "ä", "a\n", "s:1", &"x".repeat(65)] {
        assert!(wrong.parse::<SessionName>().is_err(), "{wrong:?}");
        assert!(
            serde_json::from_value::<SessionName>(wrong.into()).is_err(),
            "{wrong:?}"
        );
    }
}

#[test]
fn text_ids_are_plain_text_in_json() {
    assert_eq!(
        serde_json::to_string(&CallId::from("call_3_0")).unwrap(),
        r#""call_3_0""#
    );
    assert_eq!(
        serde_json::from_str::<CallId>(r#""call_3_0""#).unwrap(),
        CallId::from("call_3_0")
    );
}
