//! What a server says of a request, without the request.
//!
//! Servers quote requests in their error texts. Such a text goes into events and terminals, where message
//! content must not be, so whatever it shares with the request is taken out first.

use crate::{ModelRequest, printable};
use std::collections::HashSet;
use tidegate_message::{AssistantPart, Body, Content};

/// So many bytes in common count as quoted.
const QUOTED_BYTES: usize = 16;

/// A whole part of a message that is shorter than [`QUOTED_BYTES`] counts from this length on.
const SHORT_PART_BYTES: usize = 6;

/// Characters of a server's text that are shown.
const SHOWN_CHARS: usize = 300;

/// What stands for text that was taken out.
const MASK: &str = "[…]";

/// `text` on one line, with the key and whatever it quotes of `request` taken out.
pub(super) fn without_echo(text: &str, request: &ModelRequest, key: Option<&str>) -> String {
    // A text longer than what is shown could only cost time.
    let text: String = text.chars().take(8 * SHOWN_CHARS).collect();
    let text = match key {
        Some(key) if !key.is_empty() => text.replace(key, "[key]"),
        Some(_) | None => text,
    };
    printable(&masked(&text, request), SHOWN_CHARS)
}

fn masked(text: &str, request: &ModelRequest) -> String {
    let windows: HashSet<&[u8]> = text.as_bytes().windows(QUOTED_BYTES).collect();
    let mut quoted: HashSet<&[u8]> = HashSet::new();
    let mut short: Vec<&str> = Vec::new();
    for_each_text(request, |part| {
        if part.len() < QUOTED_BYTES {
            if part.trim().len() >= SHORT_PART_BYTES {
                short.push(part.trim());
            }
            return;
        }
        quoted.extend(
            part.as_bytes()
                .windows(QUOTED_BYTES)
                .filter_map(|window| windows.get(window)),
        );
    });

    let mut hidden = vec![false; text.len()];
    for (start, window) in text.as_bytes().windows(QUOTED_BYTES).enumerate() {
        if quoted.contains(window) {
            hide(&mut hidden, start, QUOTED_BYTES);
        }
    }
    for part in short {
        for (start, _) in text.match_indices(part) {
            hide(&mut hidden, start, part.len());
        }
    }

    let mut shown = String::new();
    let mut masking = false;
    for (start, character) in text.char_indices() {
        let is_hidden = hidden
            .iter()
            .skip(start)
            .take(character.len_utf8())
            .any(|&hidden| hidden);
        if !is_hidden {
            shown.push(character);
        } else if !masking {
            shown.push_str(MASK);
        }
        masking = is_hidden;
    }
    shown
}

fn hide(hidden: &mut [bool], start: usize, length: usize) {
    hidden
        .iter_mut()
        .skip(start)
        .take(length)
        .for_each(|hidden| *hidden = true);
}

/// Every text of the request that is not the program's own form.
fn for_each_text<'a>(request: &'a ModelRequest, mut see: impl FnMut(&'a str)) {
    see(&request.system);
    for entry in &*request.history {
        match &entry.body {
            Body::User(message) => message
                .api_content()
                .iter()
                .for_each(|content| see_content(content, &mut see)),
            Body::Assistant(message) => message.parts.iter().for_each(|part| match part {
                AssistantPart::Text { text } | AssistantPart::Reasoning { text } => see(text),
                AssistantPart::Call(call) => see(&call.arguments),
            }),
            Body::Results(results) => results
                .results
                .iter()
                .flat_map(|result| &result.content)
                .for_each(|content| see_content(content, &mut see)),
        }
    }
}

fn see_content<'a>(content: &'a Content, see: &mut impl FnMut(&'a str)) {
    match content {
        Content::Text { text } => see(text),
        Content::Image { data, .. } => see(data.as_base64()),
        Content::File { name, data, .. } => {
            see(name);
            see(data.as_base64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_echo;
    use crate::{ModelRequest, ToolChoice};
    use std::sync::Arc;
    use tidegate_message::{Body, Entry, EntrySeq, UserMessage};
    use tidegate_policy::{Label, TurnId};

    fn request(texts: &[&str]) -> ModelRequest {
        let history = texts.iter().zip(1..).map(|(text, seq)| {
            let body = Body::User(UserMessage::person(*text));
            Arc::new(Entry::new(
                EntrySeq(seq),
                TurnId::from_bits(1),
                Label::BOTTOM,
                body,
            ))
        });
        ModelRequest {
            model: "m".into(),
            system: "".into(),
            tools: Arc::default(),
            history: Arc::new(history.collect()),
            tool_choice: ToolChoice::Auto,
        }
    }

    #[test]
    fn what_a_server_quotes_is_masked_and_the_rest_is_kept() {
        for (content, said, shown) in [
            (
                "the merger closes on Friday",
                "bad: 'the merger closes on Friday'!",
                "bad: '[…]'!",
            ),
            (
                "the merger closes on Friday",
                "bad: …merger closes on Fri…",
                "bad: …[…]…",
            ),
            (
                "合并将于星期五完成，请保密",
                "无效：合并将于星期五完成",
                "无效：[…]",
            ),
            (
                "hunter2",
                "invalid value hunter2 given",
                "invalid value […] given",
            ),
            ("hi", "this is it", "this is it"),
            (
                "something else altogether",
                "max_tokens is too large",
                "max_tokens is too large",
            ),
        ] {
            assert_eq!(without_echo(said, &request(&[content]), None), shown);
        }
    }

    #[test]
    fn the_key_is_never_shown() {
        assert_eq!(
            without_echo("wrong key sk-123 (sk-123)", &request(&[]), Some("sk-123")),
            "wrong key [key] ([key])"
        );
    }
}
