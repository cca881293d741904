//! The lattice, its names, and taint.

use proptest::prelude::*;
use tidegate_policy::{
    Classification::{self, *},
    Integrity::{self, *},
    Label, Origin, Role, Taint, ToolName,
};

fn any_classification() -> impl Strategy<Value = Classification> {
    proptest::sample::select(Classification::ALL.to_vec())
}

fn any_label() -> impl Strategy<Value = Label> {
    (
        any_classification(),
        proptest::sample::select(vec![Trusted, Untrusted]),
    )
        .prop_map(|(classification, integrity)| Label::new(classification, integrity))
}

fn any_origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        Just(Origin::Owner),
        (".*", prop::collection::vec(".*", 0..4)).prop_map(|(tool, resources)| Origin::Tool {
            tool: ToolName::new(tool),
            resources,
            source: None,
        }),
        ".*".prop_map(|session| Origin::Session { session }),
    ]
}

proptest! {
    #[test]
    fn join_is_associative(a in any_label(), b in any_label(), c in any_label()) {
        prop_assert_eq!(a.join(b).join(c), a.join(b.join(c)));
    }

    #[test]
    fn join_is_commutative(a in any_label(), b in any_label()) {
        prop_assert_eq!(a.join(b), b.join(a));
    }

    #[test]
    fn join_is_idempotent_with_an_identity_and_an_absorbing_label(a in any_label()) {
        prop_assert_eq!(a.join(a), a);
        prop_assert_eq!(a.join(Label::BOTTOM), a);
        prop_assert_eq!(a.join(Label::UNREADABLE), Label::UNREADABLE);
    }

    #[test]
    fn join_is_the_least_upper_bound(a in any_label(), b in any_label(), upper in any_label()) {
        let joined = a.join(b);
        prop_assert!(a.is_within(joined) && b.is_within(joined));
        if a.is_within(upper) && b.is_within(upper) {
            prop_assert!(joined.is_within(upper));
        }
    }

    #[test]
    fn join_is_monotone(a in any_label(), b in any_label(), c in any_label()) {
        if a.is_within(b) {
            prop_assert!(a.join(c).is_within(b.join(c)));
        }
    }

    #[test]
    fn join_takes_each_part_apart(a in any_label(), b in any_label()) {
        let joined = a.join(b);
        prop_assert!(joined.classification == a.classification || joined.classification == b.classification);
        prop_assert!(joined.classification >= a.classification && joined.classification >= b.classification);
        prop_assert_eq!(
            joined.integrity == Untrusted,
            a.integrity == Untrusted || b.integrity == Untrusted
        );
    }

    #[test]
    fn joining_all_is_joining_one_by_one(labels in prop::collection::vec(any_label(), 0..8)) {
        let one_by_one = labels.iter().fold(Label::BOTTOM, |joined, label| joined.join(*label));
        prop_assert_eq!(Label::join_all(labels), one_by_one);
    }

    #[test]
    fn flow_is_a_total_order(a in any_classification(), b in any_classification(), c in any_classification()) {
        prop_assert!(a.can_flow_to(a));
        prop_assert!(a.can_flow_to(b) || b.can_flow_to(a));
        if a.can_flow_to(b) && b.can_flow_to(a) {
            prop_assert_eq!(a, b);
        }
        if a.can_flow_to(b) && b.can_flow_to(c) {
            prop_assert!(a.can_flow_to(c));
        }
    }

    #[test]
    fn being_within_is_a_partial_order(a in any_label(), b in any_label(), c in any_label()) {
        prop_assert!(a.is_within(a));
        if a.is_within(b) && b.is_within(a) {
            prop_assert_eq!(a, b);
        }
        if a.is_within(b) && b.is_within(c) {
            prop_assert!(a.is_within(c));
        }
    }

    #[test]
    fn a_join_flows_only_where_all_its_parts_may(a in any_label(), b in any_label(), sink in any_classification()) {
        prop_assert_eq!(a.join(b).can_flow_to(sink), a.can_flow_to(sink) && b.can_flow_to(sink));
    }

    #[test]
    fn taint_never_falls_and_its_lineage_stays_short(
        start in any_label(),
        steps in prop::collection::vec((any_label(), any_origin()), 0..40),
    ) {
        let mut taint = Taint::new(start);
        let mut expected = start;
        for (turn, (label, origin)) in (1..).zip(steps) {
            let before = taint.clone();
            let raised = taint.raise(label, origin, turn);
            expected = expected.join(label);
            prop_assert_eq!(taint.label(), expected);
            prop_assert!(before.label().is_within(taint.label()) && label.is_within(taint.label()));
            prop_assert_eq!(raised, taint.label() != before.label());
            prop_assert_eq!(taint.lineage().len(), before.lineage().len() + usize::from(raised));
        }
        prop_assert!(taint.lineage().len() <= 4);

        let mut reached = start;
        for step in taint.lineage() {
            prop_assert_eq!(step.from, reached);
            prop_assert!(step.from != step.to && step.from.is_within(step.to));
            reached = step.to;
        }
        prop_assert_eq!(reached, taint.label());
        if let Some(cause) = taint.cause() {
            prop_assert_eq!(cause.to.classification, taint.label().classification);
            prop_assert_eq!(Some(cause), taint.step_to(taint.label().classification));
        } else {
            prop_assert_eq!(start.classification, taint.label().classification);
        }
    }

    #[test]
    fn taint_survives_being_stored(start in any_label(), label in any_label(), origin in any_origin()) {
        let mut taint = Taint::new(start);
        taint.raise(label, origin, 7);
        let stored = serde_json::to_string(&taint).unwrap();
        prop_assert_eq!(serde_json::from_str::<Taint>(&stored).unwrap(), taint);
    }

    #[test]
    fn only_the_four_names_are_classifications(text in ".*") {
        let valid = ["public", "internal", "confidential", "restricted"];
        let is_name = valid.contains(&text.trim().to_ascii_lowercase().as_str());
        prop_assert_eq!(text.parse::<Classification>().is_ok(), is_name);
    }
}

#[test]
fn the_longest_lineage_has_four_steps() {
    let mut taint = Taint::default();
    let steps = [
        Label::untrusted(Public),
        Label::trusted(Internal),
        Label::trusted(Confidential),
        Label::trusted(Restricted),
    ];
    for (turn, label) in (1..).zip(steps) {
        assert!(taint.raise(label, Origin::Owner, turn));
    }
    assert_eq!(taint.label(), Label::UNREADABLE);
    assert_eq!(taint.lineage().len(), 4);
}

#[test]
fn the_cause_is_the_step_that_brought_the_classification() {
    let mut taint = Taint::default();
    assert_eq!(taint.cause(), None);
    taint.raise(Label::trusted(Confidential), Origin::Owner, 3);
    taint.raise(Label::untrusted(Public), Origin::Owner, 5);
    assert_eq!(taint.cause().map(|step| step.turn), Some(3));
    assert_eq!(taint.step_to(Internal).map(|step| step.turn), Some(3));
    assert_eq!(taint.step_to(Public), None);
    assert_eq!(taint.step_to(Restricted), None);
}

#[test]
fn names_are_trimmed_and_their_ascii_case_is_ignored() {
    for (text, expected) in [
        ("PUBLIC", Public),
        ("public", Public),
        ("InTeRnAl", Internal),
        ("  confidential\n", Confidential),
        ("\tRESTRICTED ", Restricted),
        ("\u{a0}RESTRICTED\u{3000}", Restricted),
    ] {
        assert_eq!(text.parse::<Classification>().unwrap(), expected, "{text:?}");
    }
    assert_eq!(" trusted".parse::<Integrity>().unwrap(), Trusted);
    assert_eq!("Untrusted".parse::<Integrity>().unwrap(), Untrusted);
    assert_eq!("admin ".parse::<Role>().unwrap(), Role::Admin);
}

#[test]
fn anything_else_is_an_error_that_lists_the_names() {
    for text in [
        "",
        " ",
        "SECRET",
        "PUBLIC INTERNAL",
        "PUBLIC,",
        "PUB LIC",
        "PUBLIC\0",
        "\0PUBLIC",
        "PUВLIC",                                           // Cyrillic В
        "PUBLIС",                                           // Cyrillic С
        "INTERNAĹ",                                         // with an accent
        "\u{ff30}\u{ff35}\u{ff22}\u{ff2c}\u{ff29}\u{ff23}", // full width
        "reſtricted",                                       // long s
        "confıdential",                                     // dotless i
        "PUB\u{200b}LIC",                                   // zero-width space
        "\u{feff}PUBLIC",                                   // byte order mark
        "PUBLIC\u{202e}",                                   // right-to-left override
        "0",
        "3",
        "null",
        "UNTRUSTED",
    ] {
        let error = text.parse::<Classification>().unwrap_err().to_string();
        assert!(
            error.contains("PUBLIC, INTERNAL, CONFIDENTIAL, RESTRICTED"),
            "{error}"
        );
        assert!(!error.contains(['\0', '\u{202e}', '\u{200b}']), "{error}");
    }
    for text in ["", "TRUST", "UN TRUSTED", "ΤRUSTED", "true", "PUBLIC"] {
        let error = text.parse::<Integrity>().unwrap_err().to_string();
        assert!(error.contains("TRUSTED, UNTRUSTED"), "{error}");
    }
    assert_eq!(
        "root".parse::<Role>().unwrap_err().to_string(),
        r#"unknown role "root"; write one of GUEST, USER, ADMIN"#
    );
}

#[test]
fn levels_and_roles_are_ordered_and_rendered_in_capitals() {
    assert!(Public < Internal && Internal < Confidential && Confidential < Restricted);
    assert!(Role::Guest < Role::User && Role::User < Role::Admin);
    assert_eq!(
        Classification::ALL.map(Classification::as_str),
        ["PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED"]
    );
    assert_eq!(
        format!("{:>9}|{:<9}|{}", Public, Internal, Label::UNREADABLE),
        "   PUBLIC|INTERNAL |RESTRICTED, UNTRUSTED"
    );
}

#[test]
fn a_label_is_stored_by_names_and_read_back_strictly() {
    let stored = r#"{"classification":"CONFIDENTIAL","integrity":"UNTRUSTED"}"#;
    assert_eq!(
        serde_json::to_string(&Label::untrusted(Confidential)).unwrap(),
        stored
    );
    assert_eq!(
        serde_json::from_str::<Label>(stored).unwrap(),
        Label::untrusted(Confidential)
    );
    for unreadable in [
        r#"{"classification":"SECRET","integrity":"UNTRUSTED"}"#,
        r#"{"classification":"PUBLIC","integrity":"MAYBE"}"#,
        r#"{"classification":"","integrity":"TRUSTED"}"#,
        r#"{"classification":null,"integrity":"TRUSTED"}"#,
        r#"{"classification":0,"integrity":"TRUSTED"}"#,
        r#"{"classification":"PUBLIC"}"#,
        r#"{"integrity":"TRUSTED"}"#,
        "{}",
        "null",
    ] {
        assert!(serde_json::from_str::<Label>(unreadable).is_err(), "{unreadable}");
    }
}

#[test]
fn an_origin_is_displayed_with_its_names_escaped() {
    let tool = |resources: &[&str]| Origin::Tool {
        tool: "read_file".into(),
        resources: resources.iter().map(|name| (*name).into()).collect(),
        source: None,
    };
    assert_eq!(tool(&[]).to_string(), "read_file");
    assert_eq!(
        tool(&["a.md", "b\n\u{1b}[31m.md"]).to_string(),
        r"read_file of a.md, b\n\u{1b}[31m.md"
    );
    assert_eq!(
        Origin::Session {
            session: "s\u{202e}".into()
        }
        .to_string(),
        r"session s\u{202e}"
    );
}
