//! What a command says, kept within bounds.

use std::collections::VecDeque;

/// How much is kept of the beginning, and how much of the end, in bytes.
const KEPT: usize = 512 << 10;

/// How much of the beginning tells whether it is text, in bytes.
const JUDGED: usize = 8 << 10;

/// The beginning and the end of an output.
#[derive(Debug, Default)]
pub(crate) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Output {
    /// Takes more of it.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let (head, rest) = bytes
            .split_at_checked(KEPT.saturating_sub(self.head.len()))
            .unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        let rest = rest.get(rest.len().saturating_sub(KEPT)..).unwrap_or_default();
        let excess = (self.tail.len() + rest.len()).saturating_sub(KEPT);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// How long it was, in bytes.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// As text. Where something was left out, it says how much; bytes that are no UTF-8 become �; what is no text at
    /// all is not shown.
    pub(crate) fn text(&self) -> String {
        if self.total == 0 {
            return "(no output)".to_owned();
        }
        if self.is_binary() {
            return format!("(binary output of {} bytes, not shown)", self.total);
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let omitted = self.total - (self.head.len() + tail.len()) as u64;
        if omitted == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        // A character that was cut is left out whole.
        let head = without_partial_end(&self.head);
        let tail = without_partial_beginning(&tail);
        let omitted = self.total - (head.len() + tail.len()) as u64;
        format!(
            "{}\n[{omitted} of {} bytes left out here]\n{}",
            String::from_utf8_lossy(head),
            self.total,
            String::from_utf8_lossy(tail)
        )
    }

    /// A zero byte, or more broken characters than a slip of the encoding would make.
    fn is_binary(&self) -> bool {
        if self.head.contains(&0) || self.tail.contains(&0) {
            return true;
        }
        let beginning = without_partial_end(self.head.get(..JUDGED).unwrap_or(&self.head));
        let broken: usize = beginning.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
        broken * 4 > beginning.len()
    }
}

/// Without the bytes at the end that begin a character and do not finish it.
fn without_partial_end(bytes: &[u8]) -> &[u8] {
    let Some(last) = bytes.utf8_chunks().last() else {
        return bytes;
    };
    let partial = last.invalid();
    // Of a character that is only not finished, the bytes there are make a beginning of one.
    let unfinished = std::str::from_utf8(partial).is_err_and(|error| error.error_len().is_none());
    if unfinished {
        bytes.get(..bytes.len() - partial.len()).unwrap_or_default()
    } else {
        bytes
    }
}

/// Without the bytes at the beginning that only go on with a character.
fn without_partial_beginning(bytes: &[u8]) -> &[u8] {
    let partial = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    bytes.get(partial..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Output};
    use proptest::prelude::*;

    fn output(parts: &[&[u8]]) -> Output {
        let mut output = Output::default();
        parts.iter().for_each(|part| output.take(part));
        output
    }

    #[test]
    fn an_output_is_told_as_text_where_it_is_one() {
        let table: [(&[u8], &str); 7] = [
            (b"", "(no output)"),
            (b"two\nlines\n", "two\nlines\n"),
            (b"caf\xc3", "caf\u{fffd}"),
            (b"caf\xe9 au lait", "caf\u{fffd} au lait"),
            (b"a\0b", "(binary output of 3 bytes, not shown)"),
            (
                b"\x89PNG\xff\xfe\xfd\xfc",
                "(binary output of 8 bytes, not shown)",
            ),
            ("你好🦀".as_bytes(), "你好🦀"),
        ];
        for (bytes, expected) in table {
            assert_eq!(output(&[bytes]).text(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn of_a_long_output_beginning_and_end_are_kept_and_the_rest_is_counted() {
        let line = "🦀 a line of the output\n".as_bytes();
        let long = line.repeat(100_000);
        let output = output(&long.chunks(65_537).collect::<Vec<_>>());
        let text = output.text();
        let (head, rest) = text.split_once("\n[").unwrap();
        let (mark, tail) = rest.split_once(" left out here]\n").unwrap();
        let omitted = long.len() - head.len() - tail.len();
        assert_eq!(mark, format!("{omitted} of {} bytes", long.len()));
        assert!(long.starts_with(head.as_bytes()) && long.ends_with(tail.as_bytes()));
        assert!(head.len() > KEPT - 4 && tail.len() > KEPT - 4);
        assert!(!text.contains('\u{fffd}'));
    }

    proptest! {
        #[test]
        fn how_an_output_arrives_does_not_matter(
            bytes in proptest::collection::vec(any::<u8>(), 0..3_000),
            size in 1_usize..700,
        ) {
            let whole = output(&[&bytes]);
            let parts = output(&bytes.chunks(size).collect::<Vec<_>>());
            prop_assert_eq!(whole.text(), parts.text());
            prop_assert_eq!(whole.total(), bytes.len() as u64);
        }
    }
}
