//! What the fuzz targets check: each takes a text and panics if something does not hold.

use std::path::Path;
use tidegate_policy::{
    AnswerFlow, Caller, Classification, Flow, Gate, HostRules, Label, PathRules, ProvenanceLedger, RuleSet,
    SecretValues, SessionFacts, SinkLevel, Taint,
};

/// The two halves of an input.
fn halves(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// A policy file.
pub(crate) fn policy_file(text: &str) {
    match RuleSet::parse("fuzz.toml", text) {
        Err(errors) => {
            assert!(!errors.errors().is_empty());
            for error in errors.errors() {
                assert!(!error.to_string().contains(char::is_control), "{error:?}");
            }
        }
        Ok(rules) => {
            let gate = Gate::default().with_rules(rules);
            let taint = Taint::default();
            let session = SessionFacts {
                taint: &taint,
                clearance: Classification::Restricted,
                bumper: None,
                caller: Caller::default(),
            };
            for texts in [None, Some(&[text, "more"][..])] {
                let answer = AnswerFlow {
                    reader: "reader",
                    clearance: Classification::Restricted,
                    texts,
                    recipients: &["somebody"],
                    granted: false,
                };
                let evaluation = gate.judge(Flow::Answer(&answer), session);
                assert_eq!(evaluation, gate.judge(Flow::Answer(&answer), session));
                assert!(evaluation.is_allowed() || evaluation.rule.is_some());
                gate.redactor(&evaluation)
                    .expect("its own rules")
                    .parts(&[text, "more"]);
            }
        }
    }
}

/// A regular expression over a text.
pub(crate) fn regex(text: &str) {
    let (pattern, text) = halves(text);
    let pattern = serde_json::to_string(pattern).expect("a text");
    // JSON's escapes are TOML's, but for the slash.
    let file = format!(
        "[[policy.rules]]\nid = \"r\"\nhook = \"PRE_OUTPUT\"\naction = \"REDACT\"\npattern = {pattern}\n"
    );
    let Ok(rules) = RuleSet::parse("fuzz.toml", &file) else {
        return;
    };
    let redactor = rules
        .redactor(tidegate_policy::Hook::PreOutput, &["r".into()])
        .expect("the rule");
    let whole = redactor.text(text);
    assert_eq!(whole.by.is_empty(), whole.text == text);
    let middle = text.floor_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(middle);
    let parts = redactor.parts(&[first, second]);
    assert_eq!(parts.text.len(), 2);
    assert!(whole.by.is_empty() || !parts.by.is_empty());
}

/// A path, with a pattern that may make it PUBLIC.
pub(crate) fn path(text: &str) {
    let (pattern, path) = halves(text);
    let rules = PathRules::builder("/w")
        .own("/w/own")
        .own("/data")
        .pattern(pattern, Classification::Public)
        .build();
    let Ok(rules) = rules else {
        return;
    };
    for place in [Path::new("/w").join(path), Path::new("/").join(path)] {
        let label = rules.classify(&place);
        assert_eq!(label, rules.classify(&place));
        assert_eq!(label.sink(), rules.sink(&place));
    }
    if !path.split('/').any(|name| name == "..") && !path.starts_with('/') {
        for own in ["/w/own", "/data"] {
            let label = rules.classify(&Path::new(own).join(path));
            assert_eq!(label.classification, Classification::Restricted, "{path:?}");
            assert_eq!(label.sink(), SinkLevel::OwnFile, "{path:?}");
        }
    }
}

/// A URL, with a pattern that gives its host a level.
pub(crate) fn url(text: &str) {
    let (pattern, address) = halves(text);
    let Ok(url) = address.parse::<url::Url>() else {
        return;
    };
    if let Ok(rules) = HostRules::new([(pattern, Classification::Confidential)]) {
        let label = rules.classify(&url);
        assert_eq!(label.source.integrity, tidegate_policy::Integrity::Untrusted);
        let again: url::Url = url.as_str().parse().expect("a URL as it was written");
        assert_eq!(label, rules.classify(&again), "{url}");
        if url.host().is_none() {
            assert_eq!(
                (label.source, label.sink),
                (Label::UNREADABLE, Classification::Public),
                "{url}"
            );
        }
    }
    // A host is matched by itself, in whichever spelling.
    if let Some(host) = url.host_str().filter(|host| !host.is_empty())
        && url.scheme() != "file"
        && let Ok(rules) = HostRules::new([(host, Classification::Confidential)])
    {
        assert_eq!(rules.classify(&url).sink, Classification::Confidential, "{url}");
    }
    tidegate_policy::default_provider_clearance(&url);
    let logged = tidegate_policy::logged_url(address);
    assert!(
        !logged.contains(['?', '#']) && !logged.contains(char::is_control),
        "{logged}"
    );
}

/// What an owner writes.
pub(crate) fn licence(text: &str) {
    let mut ledger = ProvenanceLedger::default();
    ledger.owner_text(text);
    assert!(
        !ledger.is_owner_named("nobody-wrote-this@example.invalid") || text.contains("nobody-wrote-this")
    );
}

/// A value and a text.
pub(crate) fn secret(text: &str) {
    let (value, text) = halves(text);
    let mut values = SecretValues::default();
    let name: tidegate_policy::SecretName = "S".parse().expect("a name");
    // A value of the letters of a mark is put back by the mark.
    if "[SECRET:S][SECRET:S]".contains(value) || values.insert(name, value.to_owned().into()).is_err() {
        return;
    }
    let scrubber = values.scrubber();
    let scrubbed = scrubber.text(text);
    assert_eq!(scrubbed.names.is_empty(), scrubbed.text == text);
    // A mark may hold the letters of a value, and stand where one begins and another ends.
    let left: Vec<&str> = scrubbed.text.split("[SECRET:S]").collect();
    assert!(left.iter().all(|part| !part.contains(value)), "{left:?}");
    let json = serde_json::to_string(&format!("{text}{value}{text}")).expect("a text");
    assert_eq!(scrubber.text(&json).names.len(), 1, "{json}");
}
