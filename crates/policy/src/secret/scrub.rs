//! Taking the values of secrets out of what comes back.

use super::SecretName;
use super::view::View;
use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

/// Shortest line of a value of several lines that is looked for by itself.
const SHORTEST_LINE: usize = 16;

/// A text without the values of secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrubbed<T = String> {
    /// The text, with `[SECRET:NAME]` in place of each value.
    pub text: T,
    /// The secrets whose values were in it, by name. Empty: nothing was changed.
    pub names: Vec<SecretName>,
}

/// Takes the values of secrets out of results: as they are; percent-encoded, wholly or in part; JSON-escaped, once or
/// twice; in base64, standard or URL-safe, at every place in what was encoded and across its line breaks; in
/// hexadecimal of either case, also with blanks, colons or dashes between. These may lie in a percent-encoded or
/// JSON-escaped text.
///
/// It looks at one whole result: a value across two of them is not found. It cannot find a value that was changed in
/// another way, reversed or encrypted say; a secret should go only to those who may know it. Shown, it tells no value.
#[derive(Clone, Default)]
pub struct Scrubber {
    names: Vec<SecretName>,
    /// None: there are no secrets.
    searches: Option<Searches>,
}

#[derive(Clone)]
struct Searches {
    plain: Search,
    base64: Search,
    hexadecimal: Search,
}

/// A search for many patterns at once, each standing for a secret.
#[derive(Clone)]
struct Search {
    automaton: AhoCorasick,
    /// The index of the secret, by pattern.
    secrets: Vec<usize>,
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrubber")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl Search {
    fn new(patterns: Vec<(usize, Vec<u8>)>) -> Option<Self> {
        let (secrets, patterns): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        let automaton = AhoCorasick::new(patterns).ok()?;
        Some(Self { automaton, secrets })
    }

    fn each(&self, text: &[u8], mut found: impl FnMut(Range<usize>, usize)) {
        for matching in self.automaton.find_overlapping_iter(text) {
            if let Some(secret) = self.secrets.get(matching.pattern().as_usize()) {
                found(matching.range(), *secret);
            }
        }
    }
}

impl Scrubber {
    pub(super) fn new<'v>(values: impl Iterator<Item = (&'v SecretName, &'v str)>) -> Self {
        let mut names = Vec::new();
        let (mut plain, mut base64, mut hexadecimal) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (name, value)) in values.enumerate() {
            names.push(name.clone());
            let lines = value
                .lines()
                .map(str::trim)
                .filter(|line| line.len() >= SHORTEST_LINE && *line != value);
            for text in std::iter::once(value).chain(lines) {
                plain.push((index, text.as_bytes().to_vec()));
                base64.extend(aligned(text.as_bytes()).map(|pattern| (index, pattern)));
                let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                hexadecimal.push((index, digits.into_bytes()));
            }
        }
        let searches = match (Search::new(plain), Search::new(base64), Search::new(hexadecimal)) {
            (Some(plain), Some(base64), Some(hexadecimal)) if !names.is_empty() => Some(Searches {
                plain,
                base64,
                hexadecimal,
            }),
            _ => None,
        };
        Self { names, searches }
    }

    /// Takes the values out of a text.
    pub fn text(&self, text: &str) -> Scrubbed {
        let finds = self.finds(text);
        let mut names = BTreeSet::new();
        let mut scrubbed = String::with_capacity(text.len());
        let mut at = 0;
        for (place, secret) in finds {
            scrubbed.push_str(text.get(at..place.start).unwrap_or_default());
            at = place.end;
            if let Some(name) = self.names.get(secret) {
                names.insert(name.clone());
                scrubbed.push_str(&format!("[SECRET:{name}]"));
            }
        }
        scrubbed.push_str(text.get(at..).unwrap_or_default());
        Scrubbed {
            text: scrubbed,
            names: names.into_iter().collect(),
        }
    }

    /// Takes the values out of every string of a JSON value, names of members too.
    pub fn json(&self, value: &Value) -> Scrubbed<Value> {
        let mut names = BTreeSet::new();
        let text = self.scrubbed(value, &mut names);
        Scrubbed {
            text,
            names: names.into_iter().collect(),
        }
    }

    fn scrubbed(&self, value: &Value, names: &mut BTreeSet<SecretName>) -> Value {
        let mut scrub = |text: &str| {
            let scrubbed = self.text(text);
            names.extend(scrubbed.names);
            scrubbed.text
        };
        match value {
            Value::String(text) => Value::String(scrub(text)),
            // A value may be all digits.
            Value::Number(number) => {
                let text = number.to_string();
                let scrubbed = scrub(&text);
                if scrubbed == text {
                    value.clone()
                } else {
                    Value::String(scrubbed)
                }
            }
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Array(entries) => entries.iter().map(|entry| self.scrubbed(entry, names)).collect(),
            Value::Object(members) => {
                let mut scrubbed = Map::new();
                for (name, member) in members {
                    let member = self.scrubbed(member, names);
                    let found = self.text(name);
                    names.extend(found.names);
                    let mut name = found.text;
                    // Two names may become one; neither member is lost.
                    while scrubbed.contains_key(&name) {
                        name.push('\'');
                    }
                    scrubbed.insert(name, member);
                }
                Value::Object(scrubbed)
            }
        }
    }

    /// Where values are, in order and apart from each other; what overlaps is one, of the secret that begins first.
    fn finds(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let Some(searches) = &self.searches else {
            return Vec::new();
        };
        let mut finds: Vec<(Range<usize>, usize)> = Vec::new();
        let bytes = text.as_bytes();
        let mut look = |view: &View, outer: Option<&View>| {
            searches.look(&view.bytes, |part, secret| {
                let part = view.source_of(&part);
                finds.push((outer.map_or(part.clone(), |outer| outer.source_of(&part)), secret));
            });
        };
        look(&View::of(bytes), None);
        for encoding in Encoding::ALL {
            let Some(view) = encoding.read(bytes) else {
                continue;
            };
            look(&view, None);
            for inner in Encoding::ALL {
                // Of two readings at least one is JSON: nobody percent-encodes twice by accident.
                if (encoding == Encoding::Json || inner == Encoding::Json)
                    && let Some(inner) = inner.read(&view.bytes)
                {
                    look(&inner, Some(&view));
                }
            }
        }
        finds.sort_by_key(|(place, secret)| (place.start, *secret));
        let mut merged: Vec<(Range<usize>, usize)> = Vec::new();
        for (place, secret) in finds {
            let place = text.floor_char_boundary(place.start)..text.ceil_char_boundary(place.end);
            match merged.last_mut() {
                Some((last, _)) if place.start < last.end => last.end = last.end.max(place.end),
                _ => merged.push((place, secret)),
            }
        }
        merged
    }
}

impl Searches {
    /// Everything found in a reading, in whichever way it is encoded there.
    fn look(&self, bytes: &[u8], mut found: impl FnMut(Range<usize>, usize)) {
        self.plain.each(bytes, &mut found);
        let view = View::base64(bytes);
        self.base64.each(&view.bytes, |part, secret| {
            // The first and last digit may hold bits of what stands beside it, too.
            let is_digit = |at: usize| {
                view.bytes
                    .get(at)
                    .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
            };
            let start = part
                .start
                .checked_sub(1)
                .filter(|at| is_digit(*at))
                .unwrap_or(part.start);
            let end = if is_digit(part.end) {
                part.end + 1
            } else {
                part.end
            };
            found(view.source_of(&(start..end)), secret);
        });
        let view = View::hexadecimal(bytes);
        self.hexadecimal
            .each(&view.bytes, |part, secret| found(view.source_of(&part), secret));
    }
}

/// A way in which a text may lie in another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Percent,
    Form,
    Json,
}

impl Encoding {
    const ALL: [Self; 3] = [Self::Percent, Self::Form, Self::Json];

    /// The text that lies in this one; none if it is the same.
    fn read(self, text: &[u8]) -> Option<View> {
        match self {
            Self::Percent => View::percent_decoded(text, false),
            Self::Form => View::percent_decoded(text, true),
            Self::Json => View::json_unescaped(text),
        }
    }
}

/// The digits that `bytes` alone decide in base64, for each of the three places they may begin at.
fn aligned(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    [0_usize, 1, 2].into_iter().map(move |before| {
        let mut whole = vec![0; before];
        whole.extend_from_slice(bytes);
        let digits = STANDARD_NO_PAD.encode(&whole);
        let first = (before * 8).div_ceil(6);
        let last = whole.len() * 8 / 6;
        digits.get(first..last).unwrap_or_default().as_bytes().to_vec()
    })
}
