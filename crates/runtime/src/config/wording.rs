//! The messages of parsers in the words of the configuration.

/// What serde says of a value, for people: `u32` is a Rust word, a key is called field by serde.
pub(super) fn plain(message: &str) -> String {
    let mut plain = message.replace('\n', " ");
    if let Some((_, value)) = plain.split_once(" does not have variant constructor ") {
        return format!("unknown value `{value}`");
    }
    for (theirs, ours) in [
        ("unknown field", "unknown key"),
        ("unknown variant", "unknown value"),
        ("missing field", "missing key"),
        ("invalid type: ", "wrong type: "),
        (" as i128", ""),
        (" as u128", ""),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
        ("expected a boolean", "expected true or false"),
        ("found map", "found a table"),
        (": map,", ": a table,"),
        (": sequence,", ": a list,"),
        ("expected string or table", "expected a text or a table"),
    ] {
        plain = plain.replace(theirs, ours);
    }
    let Some((said, expected)) = plain.rsplit_once("expected ") else {
        return plain;
    };
    let out_of_range = said.starts_with("invalid value: integer");
    let expected = match expected {
        "u32" | "u64" | "usize" if out_of_range && said.contains("`-") => "a whole number of at least 0",
        "u32" | "u64" | "usize" if out_of_range => "a smaller whole number",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        "f64" => "a number",
        "a string" => "a text in quotes",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    format!("{said}expected {expected}")
}

/// For serde's "unknown field `x`, expected one of `a`, `b`": the nearest valid name.
pub(super) fn nearest(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let given = names.next()?;
    did_you_mean(given, names)
}

/// The name that is written nearly like `given`.
pub(super) fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min()
        .map(|(_, name)| format!("did you mean `{name}`?"))
}

/// Names in a row.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsers_speak_the_words_of_the_configuration() {
        for (given, expected) in [
            (
                "invalid type: string \"x\", expected u32",
                "wrong type: string \"x\", expected a whole number",
            ),
            (
                "invalid type: integer `99` as i128, expected u32",
                "wrong type: integer `99`, expected a whole number",
            ),
            (
                "invalid type: integer `3`, expected struct AgentSettings",
                "wrong type: integer `3`, expected a table",
            ),
            (
                "unknown field `a`, expected one of `b`, `c`",
                "unknown key `a`, expected one of `b`, `c`",
            ),
            ("missing field `kind`", "missing key `kind`"),
            (
                "invalid value: integer `-1`, expected u32",
                "invalid value: integer `-1`, expected a whole number of at least 0",
            ),
            (
                "invalid value: integer `5000000000`, expected u32",
                "invalid value: integer `5000000000`, expected a smaller whole number",
            ),
        ] {
            assert_eq!(plain(given), expected);
        }
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        assert_eq!(
            did_you_mean("max_round", ["max_rounds", "tool_timeout_s"]).as_deref(),
            Some("did you mean `max_rounds`?")
        );
        assert_eq!(did_you_mean("colour", ["kind", "path"]), None);
    }
}
