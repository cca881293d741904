//! The encoded history of a session, kept from one request to the next.

use super::encode::encode_entry;
use bytes::Bytes;
use std::convert::Infallible;
use std::sync::Arc;
use tidegate_message::{Entry, ProviderId};

/// The bytes of a history's messages, one after the other with commas between, as far as they were sent last.
///
/// A request repeats the one before and adds to it: its bytes are these with those of the new entries behind. So
/// it looks at new entries alone, however long the history.
#[derive(Debug, Default)]
pub(crate) struct ChatMessages {
    wire: Option<Arc<str>>,
    /// The entries, each with where its bytes end. Being kept here, none can be made anew in the place of another.
    entries: Vec<(Arc<Entry>, usize)>,
    bytes: Vec<u8>,
}

impl ChatMessages {
    /// The messages of `history`: what is known of it is taken over, the rest encoded.
    pub(crate) fn of(&mut self, provider: &ProviderId, history: &[Arc<Entry>]) -> &[u8] {
        let wire = match &self.wire {
            Some(known) if is_chat_wire(known, provider) => Arc::clone(known),
            _ => {
                let wire = chat_wire(provider);
                self.entries.clear();
                self.wire = Some(Arc::clone(&wire));
                wire
            }
        };
        let same = self
            .entries
            .iter()
            .zip(history)
            .take_while(|((known, _), entry)| Arc::ptr_eq(known, entry))
            .count();
        self.entries.truncate(same);
        self.bytes
            .truncate(self.entries.last().map_or(0, |(_, end)| *end));
        for entry in history.get(same..).unwrap_or_default() {
            let before = self.entries.last().map(|(before, _)| &**before);
            let Ok(message) = entry.encoded(&wire, || {
                Ok::<Bytes, Infallible>(encode_entry(provider, entry, before))
            });
            if before.is_some() {
                self.bytes.push(b',');
            }
            self.bytes.extend_from_slice(&message);
            self.entries.push((Arc::clone(entry), self.bytes.len()));
        }
        &self.bytes
    }
}

/// The name under which entries keep their bytes for `provider` ([`Entry::encoded`]).
pub fn chat_wire(provider: &ProviderId) -> Arc<str> {
    format!("{CHAT_WIRE}{provider}").into()
}

const CHAT_WIRE: &str = "chat_completions:";

fn is_chat_wire(wire: &str, provider: &ProviderId) -> bool {
    wire.strip_prefix(CHAT_WIRE) == Some(provider.as_str())
}

#[cfg(test)]
mod tests {
    use super::ChatMessages;
    use std::sync::Arc;
    use tidegate_message::{Body, Entry, EntrySeq, ProviderId, UserMessage};
    use tidegate_policy::{Label, TurnId};

    fn said(seq: u64, text: &str) -> Arc<Entry> {
        let body = Body::User(UserMessage::person(text));
        Arc::new(Entry::new(
            EntrySeq(seq),
            TurnId::from_bits(1),
            Label::BOTTOM,
            body,
        ))
    }

    #[test]
    fn what_is_kept_of_another_history_never_shows() {
        let [a, b, c] = [(1, "a"), (2, "b"), (3, "c")].map(|(seq, text)| said(seq, text));
        let other = said(2, "other");
        let mut kept = ChatMessages::default();
        let histories: [&[&Arc<Entry>]; 9] = [
            &[&a],
            &[&a, &b],
            &[&a, &b, &c],
            &[&a, &other, &c],
            &[&a],
            &[&b, &c],
            &[],
            &[&a, &b, &c],
            // The same words in another entry.
            &[&a, &said(2, "b")],
        ];
        for history in histories {
            let history: Vec<Arc<Entry>> = history.iter().map(|entry| Arc::clone(entry)).collect();
            for provider in ["one", "two", "two"] {
                let provider = ProviderId::new(provider);
                let alone = ChatMessages::default().of(&provider, &history).to_vec();
                assert_eq!(kept.of(&provider, &history), alone);
                let read: Vec<serde_json::Value> =
                    serde_json::from_str(&format!("[{}]", String::from_utf8(alone).unwrap())).unwrap();
                assert_eq!(read.len(), history.len());
            }
        }
    }
}
