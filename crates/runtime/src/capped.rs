//! Keeping tool results within bounds.

use tidegate_message::Content;
use tidegate_policy::{CallId, Label, SourceId};
use tidegate_store::SourceText;
use tidegate_tools::cut_text;

/// What is left of a result, and the full texts that were cut.
pub(crate) struct Capped {
    pub(crate) content: Vec<Content>,
    pub(crate) sources: Vec<SourceText>,
}

/// Cuts each text part at `max_chars` characters; what is cut is kept under a source id named in the cut.
pub(crate) fn cap(content: Vec<Content>, max_chars: usize, call: &CallId, label: Label) -> Capped {
    let mut sources = Vec::new();
    let content = content
        .into_iter()
        .enumerate()
        .map(|(index, part)| {
            let Content::Text { text } = part else { return part };
            let id = if index == 0 {
                format!("src_{call}")
            } else {
                format!("src_{call}_{index}")
            };
            match cut_text(&text, max_chars, &id) {
                None => Content::Text { text },
                Some(cut) => {
                    sources.push(SourceText {
                        id: SourceId::new(id),
                        label,
                        text,
                    });
                    Content::Text { text: cut.text }
                }
            }
        })
        .collect();
    Capped { content, sources }
}

/// `_classification` of a result that is one JSON object, as written there.
pub(crate) fn declared_classification(content: &[Content]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Declared {
        #[serde(rename = "_classification")]
        classification: Option<serde_json::Value>,
    }

    let [Content::Text { text }] = content else {
        return None;
    };
    // Cheap first: nearly no result has it, and some are large.
    if !text.contains("\"_classification\"") {
        return None;
    }
    let declared: Declared = serde_json::from_str(text).ok()?;
    declared.classification.map(|value| match value {
        serde_json::Value::String(level) => level,
        // Not a level in any reading: the gate counts it as the highest.
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_json_object_declares_its_level() {
        for (text, expected) in [
            (r#"{"_classification": "RESTRICTED", "x": 1}"#, Some("RESTRICTED")),
            (r#"{"x": {"_classification": "RESTRICTED"}}"#, None),
            (r#"{"_classification": 3}"#, Some("3")),
            (r#"{"_classification": null}"#, None),
            (r#"the word "_classification" in a text"#, None),
            ("[]", None),
            ("", None),
        ] {
            let declared = declared_classification(&[Content::text(text)]);
            assert_eq!(declared.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_cut_is_kept_whole_under_the_id_named_in_the_cut() {
        let text = "0123456789".repeat(100);
        let capped = cap(
            vec![Content::text(text.clone())],
            300,
            &CallId::new("call_2_0"),
            Label::BOTTOM,
        );
        let [source] = capped.sources.as_slice() else {
            panic!("one source")
        };
        assert_eq!(source.text, text);
        assert!(capped.content[0].as_text().unwrap().contains(source.id.as_str()));
    }
}
