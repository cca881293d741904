//! Parts that are cut one by one.

use std::ops::Range;
use unicode_segmentation::GraphemeCursor;

/// The text in parts: lines of ordinary length stay together; one that is longer than `longest` bytes is taken apart
/// beforehand, as best it can. The splitter's work on one line grows with the square of its length.
pub(super) fn blocks(text: &str, longest: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut place) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = place + line.len();
        if line.len() > longest {
            if start < place {
                blocks.push(start..place);
            }
            segments(text, place..end, (longest / 3).max(64), &mut blocks);
            start = end;
        }
        place = end;
    }
    if start < place {
        blocks.push(start..place);
    }
    blocks
}

/// A long line in parts of at most `most` bytes, each ending with a sentence, else a word, else a character.
fn segments(text: &str, line: Range<usize>, most: usize, blocks: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    while line.end - start > most {
        let limit = text.floor_char_boundary(start + most);
        let part = text.get(start..limit).unwrap_or_default();
        // A sentence in the second half is better than a word at the end.
        let later = |place: &usize| *place > most / 2;
        let end = after_sentence(part)
            .filter(later)
            .or_else(|| after_space(part).filter(later))
            .map_or_else(|| character_boundary(text, start, limit), |place| start + place);
        blocks.push(start..end);
        start = end;
    }
    if start < line.end {
        blocks.push(start..line.end);
    }
}

/// Behind the last sentence that ends in `part`.
fn after_sentence(part: &str) -> Option<usize> {
    let wide = part
        .rfind(['。', '！', '？'])
        .map(|place| place + '。'.len_utf8());
    let narrow = [". ", "! ", "? "]
        .iter()
        .filter_map(|end| part.rfind(end))
        .max()
        .map(|place| place + 2);
    wide.max(narrow)
}

fn after_space(part: &str) -> Option<usize> {
    let place = part.rfind(char::is_whitespace)?;
    Some(place + part.get(place..)?.chars().next()?.len_utf8())
}

/// The boundary of characters as people see them at or before `limit`; `limit` if one is that long.
fn character_boundary(text: &str, start: usize, limit: usize) -> usize {
    let mut cursor = GraphemeCursor::new(limit, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return limit;
    }
    let before = cursor.prev_boundary(text, 0).ok().flatten();
    before.filter(|before| *before > start).unwrap_or(limit)
}
