//! Other readings of a text, each knowing where in the text its bytes come from.

use std::ops::Range;

/// Bytes that were made from a text, and from which parts of it. Building one takes one pass.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    runs: Vec<Run>,
}

/// Bytes of the view that stand for bytes of the text.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where it begins in the view.
    at: usize,
    /// Where it begins in the text.
    source: usize,
    /// How many bytes of the text all of it stands for together; none: one for each.
    together: Option<usize>,
}

impl View {
    /// The text itself.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut view = Self::default();
        view.same(0, text);
        view
    }

    fn same(&mut self, source: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let goes_on = self
            .runs
            .last()
            .is_some_and(|run| run.together.is_none() && run.source + (self.bytes.len() - run.at) == source);
        if !goes_on {
            self.runs.push(Run {
                at: self.bytes.len(),
                source,
                together: None,
            });
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn instead(&mut self, source: usize, together: usize, bytes: &[u8]) {
        self.runs.push(Run {
            at: self.bytes.len(),
            source,
            together: Some(together),
        });
        self.bytes.extend_from_slice(bytes);
    }

    /// What a part of the view comes from. Never empty for a part that is not.
    pub(super) fn source_of(&self, part: &Range<usize>) -> Range<usize> {
        let last = part.end.saturating_sub(1).max(part.start);
        let start = self.run(part.start).map_or(0, |run| match run.together {
            Some(_) => run.source,
            None => run.source + (part.start - run.at),
        });
        let end = self.run(last).map_or(0, |run| match run.together {
            Some(length) => run.source + length,
            None => run.source + (last - run.at) + 1,
        });
        start..end
    }

    fn run(&self, at: usize) -> Option<Run> {
        let after = self.runs.partition_point(|run| run.at <= at);
        self.runs.get(after.checked_sub(1)?).copied()
    }

    /// `%41` as `A`, and `+` as a blank if it is a form; none if there is nothing of it in the text.
    pub(super) fn percent_decoded(text: &[u8], form: bool) -> Option<Self> {
        let escape = |byte: u8| byte == b'%' || form && byte == b'+';
        text.iter().position(|byte| escape(*byte))?;
        let mut view = Self::default();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            match rest {
                [b'%', high, low, ..] if let Some(byte) = hexadecimal(*high, *low) => {
                    view.instead(at, 3, &[byte]);
                    at += 3;
                }
                [b'+', ..] if form => {
                    view.instead(at, 1, b" ");
                    at += 1;
                }
                _ => {
                    let length = rest
                        .iter()
                        .skip(1)
                        .position(|byte| escape(*byte))
                        .map_or(rest.len(), |to| to + 1);
                    view.same(at, rest.get(..length).unwrap_or_default());
                    at += length;
                }
            }
        }
        Some(view)
    }

    /// JSON's escapes as what they stand for; none if there are none in the text.
    pub(super) fn json_unescaped(text: &[u8]) -> Option<Self> {
        text.iter().position(|byte| *byte == b'\\')?;
        let mut view = Self::default();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some((character, length)) = escape(rest) {
                let mut buffer = [0; 4];
                view.instead(at, length, character.encode_utf8(&mut buffer).as_bytes());
                at += length;
            } else {
                let length = rest
                    .iter()
                    .skip(1)
                    .position(|byte| *byte == b'\\')
                    .map_or(rest.len(), |to| to + 1);
                view.same(at, rest.get(..length).unwrap_or_default());
                at += length;
            }
        }
        Some(view)
    }

    /// Base64 in one alphabet and without line breaks.
    pub(super) fn base64(text: &[u8]) -> Self {
        let mut view = Self::default();
        view.mapped(text, |byte| match byte {
            b'-' => Some(b'+'),
            b'_' => Some(b'/'),
            b'\r' | b'\n' => None,
            other => Some(other),
        });
        view
    }

    /// Hexadecimal in lower case and without what may stand between bytes.
    pub(super) fn hexadecimal(text: &[u8]) -> Self {
        let mut view = Self::default();
        view.mapped(text, |byte| match byte {
            b' ' | b':' | b'-' | b'\r' | b'\n' => None,
            other => Some(other.to_ascii_lowercase()),
        });
        view
    }

    fn mapped(&mut self, text: &[u8], map: impl Fn(u8) -> Option<u8>) {
        self.bytes.reserve(text.len());
        for (source, byte) in text.iter().enumerate() {
            if let Some(byte) = map(*byte) {
                self.same(source, &[byte]);
            }
        }
    }
}

fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// The JSON escape at the beginning of `text`, and its length in bytes.
fn escape(text: &[u8]) -> Option<(char, usize)> {
    let plain = match text {
        [b'\\', b'n', ..] => '\n',
        [b'\\', b't', ..] => '\t',
        [b'\\', b'r', ..] => '\r',
        [b'\\', b'b', ..] => '\u{8}',
        [b'\\', b'f', ..] => '\u{c}',
        [b'\\', character @ (b'"' | b'\\' | b'/'), ..] => char::from(*character),
        _ => {
            let first = unit(text)?;
            if let Some(character) = char::from_u32(first) {
                return Some((character, 6));
            }
            let second = unit(text.get(6..)?)?;
            let pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
            let character = 0x1_0000 + ((first.checked_sub(0xd800)?) << 10) + second.checked_sub(0xdc00)?;
            return char::from_u32(character)
                .filter(|_| pair)
                .map(|character| (character, 12));
        }
    };
    Some((plain, 2))
}

/// `\uXXXX`.
fn unit(text: &[u8]) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = text else {
        return None;
    };
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())?
}
