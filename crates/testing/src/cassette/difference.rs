//! Where two requests differ.

use serde_json::Value;

/// The first place where `got` is not what `wanted` says, in words; none if they are the same.
pub(super) fn difference(wanted: &Value, got: &Value) -> Option<String> {
    differ(wanted, got, "")
}

fn differ(wanted: &Value, got: &Value, place: &str) -> Option<String> {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            for (key, value) in wanted {
                let place = format!("{place}/{key}");
                match got.get(key) {
                    None => return Some(format!("{place} is missing; the cassette has {}", shown(value))),
                    Some(got) => {
                        if let Some(found) = differ(value, got, &place) {
                            return Some(found);
                        }
                    }
                }
            }
            let (key, value) = got.iter().find(|(key, _)| !wanted.contains_key(*key))?;
            Some(format!(
                "{place}/{key} is {}; the cassette has no such key",
                shown(value)
            ))
        }
        (Value::Array(wanted), Value::Array(got)) => {
            let pairs = wanted.iter().zip(got).enumerate();
            for (index, (wanted, got)) in pairs {
                if let Some(found) = differ(wanted, got, &format!("{place}/{index}")) {
                    return Some(found);
                }
            }
            let (count, recorded) = (got.len(), wanted.len());
            (count != recorded).then(|| format!("{place} has {count} elements; the cassette has {recorded}"))
        }
        (wanted, got) => {
            let whole = if place.is_empty() { "the request" } else { place };
            (wanted != got).then(|| format!("{whole} is {}; the cassette has {}", shown(got), shown(wanted)))
        }
    }
}

/// The value, cut to what fits on a line.
fn shown(value: &Value) -> String {
    const CHARS: usize = 120;
    let text = value.to_string();
    if text.chars().count() <= CHARS {
        return text;
    }
    let mut cut: String = text.chars().take(CHARS).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::difference;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named_with_its_place() {
        let wanted = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        for (got, expected) in [
            (wanted.clone(), None),
            (
                json!({"model": "m", "messages": []}),
                Some(r#"/messages has 0 elements; the cassette has 1"#),
            ),
            (
                json!({"model": "m", "messages": [{"role": "user", "content": "Ho"}]}),
                Some(r#"/messages/0/content is "Ho"; the cassette has "Hi""#),
            ),
            (
                json!({"messages": [{"role": "user", "content": "Hi"}]}),
                Some(r#"/model is missing; the cassette has "m""#),
            ),
            (
                json!({"model": "m", "messages": [{"role": "user", "content": "Hi", "x": 1}]}),
                Some("/messages/0/x is 1; the cassette has no such key"),
            ),
            (
                json!("text"),
                Some(
                    r#"the request is "text"; the cassette has {"model":"m","messages":[{"role":"user","content":"Hi"}]}"#,
                ),
            ),
        ] {
            assert_eq!(difference(&wanted, &got).as_deref(), expected);
        }
    }
}
