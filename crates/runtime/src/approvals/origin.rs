//! Where a value was seen before.

use super::request::ValueOrigin;
use tidegate_message::{Author, Body, Content, Transcript};
use tidegate_policy::escaped;

/// Shorter texts occur everywhere.
const SHORTEST: usize = 3;

/// Where `text` stood before in the conversation. What a person wrote counts first, then the latest result.
pub(super) fn of(text: &str, transcript: &Transcript) -> ValueOrigin {
    if text.chars().count() < SHORTEST {
        return ValueOrigin::Unclear;
    }
    let occurs = |content: &[Content]| {
        content
            .iter()
            .filter_map(Content::as_text)
            .any(|part| part.contains(text))
    };
    let mut seen = ValueOrigin::Model;
    for entry in transcript.entries().iter().rev() {
        match &entry.body {
            Body::User(message) if message.author == Author::Person && occurs(&message.content) => {
                return ValueOrigin::Person { entry: entry.seq.0 };
            }
            Body::Results(results) if seen == ValueOrigin::Model => {
                if let Some(result) = results.results.iter().find(|result| occurs(&result.content)) {
                    seen = ValueOrigin::Result {
                        tool: escaped(result.name.as_str()).into_owned(),
                        entry: entry.seq.0,
                    };
                }
            }
            Body::User(_) | Body::Assistant(_) | Body::Results(_) => {}
        }
    }
    seen
}
