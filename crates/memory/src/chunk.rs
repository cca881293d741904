//! Cutting a text into chunks.

mod block;
mod boundary;

use crate::MemoryError;
use block::blocks;
use boundary::{abbreviations_at_end, beginning_of_word};
use std::ops::Range;
use text_splitter::{ChunkConfig, ChunkSizer, MarkdownSplitter};

/// Tokens that are left free, for an abbreviation that moves on to the next chunk.
const RESERVE: usize = 4;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The part, verbatim.
    pub text: String,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// First character and the one behind the last, in code points, from 0.
    pub characters: (u64, u64),
}

/// Bytes for each token of the budget beyond which a text is too long without being counted. Words have about five; a
/// tokenizer may take any long string that is none for a single one.
const BYTES_PER_TOKEN: usize = 32;

struct Counter<'a> {
    count: &'a dyn Fn(&str) -> usize,
    longest: usize,
}

impl ChunkSizer for Counter<'_> {
    fn size(&self, chunk: &str) -> usize {
        // Not counting all that is left again for each piece.
        if chunk.len() > self.longest {
            chunk.len()
        } else {
            (self.count)(chunk)
        }
    }
}

/// Cuts `text` by its meaning, into pieces of at most `most` tokens as `count` counts: at sections, then at
/// paragraphs, sentences (of any script), words, and inside a word only where one alone is too long; code fences stay
/// whole where they fit. A piece repeats up to `overlap` tokens of the one before.
///
/// Everything but white space around pieces is in some piece. A character as people see it (grapheme cluster) is
/// never cut, unless it alone has too many tokens; an abbreviation ("M. Dupont") is kept with what follows it.
///
/// # Errors
/// [`MemoryError::OutOfBounds`] if `most` is less than 16 or `overlap` more than half of it.
pub fn pieces(
    text: &str,
    most: usize,
    overlap: usize,
    count: &dyn Fn(&str) -> usize,
) -> Result<Vec<Piece>, MemoryError> {
    let bounds = |what, given: usize, least: u64, most: usize| MemoryError::OutOfBounds {
        what,
        given: given as u64,
        least,
        most: most as u64,
    };
    if most < 16 {
        return Err(bounds("the budget of a chunk, in tokens,", most, 16, usize::MAX));
    }
    let config = ChunkConfig::new(most - RESERVE)
        .with_sizer(Counter {
            count,
            longest: most.saturating_mul(BYTES_PER_TOKEN),
        })
        .with_overlap(overlap)
        .ok()
        .filter(|_| overlap <= most / 2);
    let Some(config) = config else {
        return Err(bounds("the overlap of chunks, in tokens,", overlap, 0, most / 2));
    };
    let splitter = MarkdownSplitter::new(config);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for block in blocks(text, most.saturating_mul(BYTES_PER_TOKEN)) {
        let start = block.start;
        let found = splitter.chunk_indices(text.get(block).unwrap_or_default());
        ranges.extend(found.map(|(offset, chunk)| start + offset..start + offset + chunk.len()));
    }
    keep_together(text, &mut ranges, &|part| count(part) <= most);
    let places = Places::new(text);
    let parts = ranges.into_iter().filter_map(|range| {
        let (part, start) = trimmed(text.get(range.clone())?, range.start);
        (!part.is_empty()).then(|| places.piece(part, start))
    });
    Ok(parts.collect())
}

/// Moves from the end of a piece to the beginning of the next, where it fits, what belongs to the next: the beginning of
/// a word that was cut ("3|.14", "M|."), and abbreviations.
fn keep_together(text: &str, ranges: &mut [Range<usize>], fits: &dyn Fn(&str) -> bool) {
    for place in 1..ranges.len() {
        let (Some(before), Some(this)) = (ranges.get(place - 1).cloned(), ranges.get(place).cloned()) else {
            continue;
        };
        let moved = |range: Range<usize>| {
            let whole = beginning_of_word(text, range.clone()).unwrap_or(range.end);
            abbreviations_at_end(text, range.start..whole).unwrap_or(whole)
        };
        let end = moved(before.clone());
        // With an overlap the piece begins somewhere else than the one before ends.
        let start = moved(before.start.min(this.start)..this.start).min(end);
        if start >= this.start || !text.get(start..this.end).is_some_and(fits) {
            continue;
        }
        if let Some(range) = ranges.get_mut(place) {
            range.start = start;
        }
        if let Some(range) = ranges.get_mut(place - 1) {
            range.end = end;
        }
    }
}

/// Without lines that are blank at the beginning (indentation stays) and white space at the end.
fn trimmed(text: &str, start: usize) -> (&str, usize) {
    let blank = text.len() - text.trim_start().len();
    let skipped = text
        .get(..blank)
        .and_then(|blank| blank.rfind('\n'))
        .map_or(0, |newline| newline + 1);
    let rest = text.get(skipped..).unwrap_or_default().trim_end();
    (rest, start + skipped)
}

/// Counts characters and lines up to places in a text that mostly come in order.
struct Places<'a> {
    text: &'a str,
    /// Byte, character and line of places that were counted, every few thousand bytes.
    marks: Vec<(usize, u64, u32)>,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        let mut marks = vec![(0, 0, 1)];
        let (mut characters, mut line) = (0_u64, 1_u32);
        for (offset, character) in text.char_indices() {
            if let Some((last, ..)) = marks.last()
                && offset - last >= 4_096
            {
                marks.push((offset, characters, line));
            }
            characters += 1;
            line = line.saturating_add(u32::from(character == '\n'));
        }
        Self { text, marks }
    }

    /// Character and line of a byte.
    fn at(&self, offset: usize) -> (u64, u32) {
        let mark = self.marks.partition_point(|(byte, ..)| *byte <= offset);
        let (byte, characters, line) = self
            .marks
            .get(mark.saturating_sub(1))
            .copied()
            .unwrap_or((0, 0, 1));
        let between = self.text.get(byte..offset).unwrap_or_default();
        let newlines = between.matches('\n').count();
        (
            characters + between.chars().count() as u64,
            line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX)),
        )
    }

    fn piece(&self, text: &str, start: usize) -> Piece {
        let (first, first_line) = self.at(start);
        let (last, last_line) = self.at(start + text.len());
        Piece {
            text: text.to_owned(),
            lines: (first_line, last_line),
            characters: (first, last),
        }
    }
}
