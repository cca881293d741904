//! Text as words, typed pieces and quotations.

use super::words::{Vocabulary, is_unspaced};
use unicode_normalization::UnicodeNormalization;

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word, number or name.
    Word,
    /// A mail address.
    Address,
    /// An address of the web.
    Url,
    /// A punctuation mark, or `\n`.
    Mark(char),
}

/// One piece of text.
#[derive(Clone, Debug)]
pub(crate) struct Lexeme {
    /// As it stands, normalised (NFKC).
    pub(crate) text: String,
    /// In lower case, with straight apostrophes.
    pub(crate) folded: String,
    /// Where it starts, in bytes.
    pub(crate) start: usize,
    /// Where it ends.
    pub(crate) end: usize,
    pub(crate) kind: Kind,
    /// The quotation it stands in.
    pub(crate) quote: Option<usize>,
}

impl Lexeme {
    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub(crate) fn is_word(&self) -> bool {
        !matches!(self.kind, Kind::Mark(_))
    }

    pub(crate) fn is_capitalised(&self) -> bool {
        self.text
            .chars()
            .find(|character| character.is_alphabetic())
            .is_some_and(char::is_uppercase)
    }
}

/// A quotation.
#[derive(Clone, Debug)]
pub(crate) struct Quote {
    /// What is quoted, without its marks.
    pub(crate) text: String,
}

/// A text, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    pub(crate) normal: String,
    pub(crate) lexemes: Vec<Lexeme>,
    pub(crate) quotes: Vec<Quote>,
}

/// NFKC, which folds full-width forms and ligatures but keeps case.
pub(crate) fn normalised(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.nfkc().collect()
}

/// The lower-case form for comparing names.
pub(crate) fn folded(text: &str) -> String {
    text.to_lowercase().replace('\u{2019}', "'")
}

impl Text {
    pub(crate) fn read(text: &str, vocabulary: &Vocabulary) -> Self {
        let normal = normalised(text);
        let characters: Vec<(usize, char)> = normal.char_indices().collect();
        let quotations = quotations(&characters);
        let mut reader = Reader {
            normal: &normal,
            characters: &characters,
            vocabulary,
            lexemes: Vec::new(),
        };
        let mut quotes = Vec::new();
        let mut at = 0;
        for (open, close) in quotations {
            reader.read(at, open, None);
            reader.read(open + 1, close, Some(quotes.len()));
            quotes.push(Quote {
                text: reader.slice(open + 1, close).to_owned(),
            });
            at = close + 1;
        }
        reader.read(at, characters.len(), None);
        let lexemes = reader.lexemes;
        Self {
            normal,
            lexemes,
            quotes,
        }
    }
}

/// Pairs of positions of quotation marks, outermost only, in order.
fn quotations(characters: &[(usize, char)]) -> Vec<(usize, usize)> {
    let closing = |mark: char| -> Option<&'static [char]> {
        Some(match mark {
            '"' => &['"'],
            '\u{201c}' => &['\u{201d}'],
            '\u{201e}' => &['\u{201c}', '\u{201d}'],
            '\u{2018}' | '\u{201a}' => &['\u{2019}', '\u{2018}'],
            '\'' => &['\''],
            '`' => &['`'],
            '«' => &['»'],
            '「' => &['」'],
            '『' => &['』'],
            '《' => &['》'],
            _ => return None,
        })
    };
    let at = |index: usize| characters.get(index).map(|(_, character)| *character);
    let is_open_before = |index: usize| {
        index
            .checked_sub(1)
            .and_then(at)
            .is_none_or(|before| !before.is_alphanumeric() || is_unspaced(before))
    };
    let is_close_after =
        |index: usize| at(index + 1).is_none_or(|after| !after.is_alphanumeric() || is_unspaced(after));
    // The next closing mark of each kind, found once from the end.
    let mut next: std::collections::HashMap<char, Vec<usize>> = std::collections::HashMap::new();
    let mut paragraph_ends = Vec::new();
    for (index, (_, character)) in characters.iter().enumerate().rev() {
        match character {
            '\'' | '`' | '"' | '\u{2019}' if !is_close_after(index) => {}
            '\'' | '`' | '"' | '\u{201d}' | '\u{201c}' | '\u{2019}' | '\u{2018}' | '»' | '」' | '』'
            | '》' => {
                next.entry(*character).or_default().push(index);
            }
            '\n' if at(index + 1) == Some('\n') => paragraph_ends.push(index),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(character) = at(index) {
        let close = closing(character)
            .filter(|_| !matches!(character, '\'' | '`' | '"' | '\u{2018}') || is_open_before(index))
            .and_then(|marks| {
                marks
                    .iter()
                    .filter_map(|mark| {
                        let positions = next.get_mut(mark)?;
                        while positions.last().is_some_and(|position| *position <= index) {
                            positions.pop();
                        }
                        positions.last().copied()
                    })
                    .min()
            });
        while paragraph_ends.last().is_some_and(|end| *end < index) {
            paragraph_ends.pop();
        }
        let within = close.filter(|close| paragraph_ends.last().is_none_or(|end| close < end));
        match within {
            Some(close) if close > index + 1 => {
                found.push((index, close));
                index = close + 1;
            }
            _ => index += 1,
        }
    }
    found
}

struct Reader<'t> {
    normal: &'t str,
    characters: &'t [(usize, char)],
    vocabulary: &'t Vocabulary,
    lexemes: Vec<Lexeme>,
}

impl Reader<'_> {
    fn at(&self, index: usize) -> Option<char> {
        self.characters.get(index).map(|(_, character)| *character)
    }

    fn byte(&self, index: usize) -> usize {
        self.characters
            .get(index)
            .map_or(self.normal.len(), |(byte, _)| *byte)
    }

    fn slice(&self, from: usize, to: usize) -> &str {
        self.normal
            .get(self.byte(from)..self.byte(to))
            .unwrap_or_default()
    }

    fn push(&mut self, from: usize, to: usize, kind: Kind, quote: Option<usize>) {
        if from >= to {
            return;
        }
        let text = self.slice(from, to).to_owned();
        let (start, end) = (self.byte(from), self.byte(to));
        self.lexemes.push(Lexeme {
            folded: folded(&text),
            text,
            start,
            end,
            kind,
            quote,
        });
    }

    fn mark(&mut self, index: usize, mark: char, quote: Option<usize>) {
        self.push(index, index + 1, Kind::Mark(mark), quote);
    }

    fn read(&mut self, from: usize, to: usize, quote: Option<usize>) {
        let mut index = from;
        while index < to {
            let Some(character) = self.at(index) else { return };
            if character == '\n' {
                self.mark(index, '\n', quote);
                index += 1;
            } else if character.is_whitespace() {
                index += 1;
            } else if is_separator(character) {
                self.mark(index, character, quote);
                index += 1;
            } else if is_unspaced(character) {
                index = self.unspaced(index, to, quote);
            } else {
                index = self.chunk(index, to, quote);
            }
        }
    }

    /// A run of writing without spaces, cut at known words.
    fn unspaced(&mut self, from: usize, to: usize, quote: Option<usize>) -> usize {
        let run: Vec<char> = (from..to)
            .map_while(|index| self.at(index).filter(|character| is_unspaced(*character)))
            .collect();
        let mut at = 0;
        let mut unknown = 0;
        while at < run.len() {
            let known = self.vocabulary.known_prefix(run.get(at..).unwrap_or_default());
            if known == 0 {
                at += 1;
                continue;
            }
            self.push(from + unknown, from + at, Kind::Word, quote);
            self.push(from + at, from + at + known, Kind::Word, quote);
            at += known;
            unknown = at;
        }
        self.push(from + unknown, from + run.len(), Kind::Word, quote);
        from + run.len()
    }

    fn chunk(&mut self, from: usize, to: usize, quote: Option<usize>) -> usize {
        let rest: String = (from..to.min(from + 8))
            .filter_map(|index| self.at(index))
            .collect();
        let rest = rest.to_ascii_lowercase();
        let is_url = ["http://", "https://", "ftp://", "www."]
            .iter()
            .any(|start| rest.starts_with(start));
        let mut end = from;
        while end < to {
            let Some(character) = self.at(end) else { break };
            if character.is_whitespace() || is_unspaced(character) {
                break;
            }
            if is_url {
                if matches!(
                    character,
                    '<' | '>' | '"' | '{' | '}' | '|' | '\\' | '^' | '`' | '，' | '。' | '、'
                ) {
                    break;
                }
            } else if character == ',' || character == ':' {
                let between_digits = end > from
                    && self.at(end - 1).is_some_and(|before| before.is_ascii_digit())
                    && end + 1 < to
                    && self.at(end + 1).is_some_and(|after| after.is_ascii_digit());
                let scheme = character == ':' && self.at(end + 1) == Some('/');
                if !between_digits && !scheme {
                    break;
                }
            } else if is_separator(character) {
                break;
            }
            end += 1;
        }
        // A colon or comma of its own.
        let end = if end == from { from + 1 } else { end };
        let next = end;
        // What trails is punctuation.
        let mut trail = end;
        while trail > from
            && self.at(trail - 1).is_some_and(|last| {
                matches!(
                    last,
                    '.' | ',' | ':' | ';' | '!' | '?' | '\'' | '\u{2019}' | '-' | '*' | ')' | ']'
                )
            })
        {
            let last = self.at(trail - 1);
            if last == Some(')') && (from..trail).any(|index| self.at(index) == Some('(')) {
                break;
            }
            trail -= 1;
        }
        if trail == from {
            for index in from..next {
                if let Some(character) = self.at(index) {
                    self.mark(index, character, quote);
                }
            }
            return next.max(from + 1);
        }
        let mut start = from;
        while start < trail
            && self
                .at(start)
                .is_some_and(|first| matches!(first, '\'' | '*' | '•' | '·' | '–' | '—'))
        {
            self.mark(start, self.at(start).unwrap_or('-'), quote);
            start += 1;
        }
        // French elision: the article is a word of its own.
        let elided = self
            .at(start + 1)
            .is_some_and(|mark| matches!(mark, '\'' | '\u{2019}'))
            && trail > start + 2
            && self.at(start).is_some_and(|first| {
                matches!(
                    first.to_ascii_lowercase(),
                    'l' | 'd' | 'j' | 'n' | 's' | 'm' | 't' | 'c'
                )
            });
        if elided {
            self.push(start, start + 1, Kind::Word, quote);
            start += 2;
        }
        let text = self.slice(start, trail);
        let kind = if is_url || is_web_address(text) {
            Kind::Url
        } else if is_mail_address(text) {
            Kind::Address
        } else {
            Kind::Word
        };
        self.push(start, trail, kind, quote);
        for index in trail..next {
            if let Some(character) = self.at(index) {
                self.mark(index, character, quote);
            }
        }
        next.max(from + 1)
    }
}

fn is_separator(character: char) -> bool {
    matches!(
        character,
        '(' | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '<'
            | '>'
            | '|'
            | ';'
            | '!'
            | '?'
            | '"'
            | '`'
            | ','
            | '='
            | '…'
            | '\u{201c}'
            | '\u{201d}'
            | '\u{201e}'
            | '«'
            | '»'
            | '「'
            | '」'
            | '『'
            | '』'
            | '《'
            | '》'
            | '，'
            | '。'
            | '！'
            | '？'
            | '；'
            | '：'
            | '、'
            | '¿'
            | '¡'
    )
}

/// `local@host.tld`, nothing else.
pub(crate) fn is_mail_address(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else {
        return false;
    };
    !local.is_empty()
        && !local.contains('@')
        && local
            .chars()
            .all(|character| character.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(character))
        && host.contains('.')
        && host.split('.').all(|label| {
            !label.is_empty()
                && label
                    .chars()
                    .all(|character| character.is_alphanumeric() || character == '-')
        })
}

/// Endings of file names that are no top-level domains.
const FILE_ENDINGS: [&str; 40] = [
    "txt", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "csv", "tsv", "json", "xml", "html", "htm",
    "yaml", "yml", "png", "jpg", "jpeg", "gif", "svg", "log", "ini", "toml", "odt", "ods", "odp", "rtf",
    "tex", "bak", "tmp", "js", "ts", "css", "eml", "ics", "sql", "lock", "conf", "exe",
];

/// `report.pdf`: a name with a usual ending of files.
pub(crate) fn is_file_name(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && FILE_ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
    })
}

/// An address of the web written without its scheme: `host.tld`, `host.tld/path`.
///
/// Ending in a letter-only label that is not a usual ending of file names. What is doubtful counts as an address: it
/// is then a control value, so the doubt costs a question and no more.
pub(crate) fn is_web_address(text: &str) -> bool {
    let (host, path) = match text.find(['/', '?', '#']) {
        Some(at) => (text.get(..at).unwrap_or_default(), true),
        None => (text, false),
    };
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let labels: Vec<&str> = host.split('.').collect();
    let Some(last) = labels.last().filter(|_| labels.len() >= 2) else {
        return false;
    };
    let fits = labels.iter().all(|label| {
        !label.is_empty()
            && label
                .chars()
                .all(|character| character.is_alphanumeric() || character == '-')
            && label.chars().any(char::is_alphanumeric)
    });
    let ipv4 = labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok());
    if ipv4 {
        return true;
    }
    let is_name = (2..=24).contains(&last.chars().count()) && last.chars().all(char::is_alphabetic);
    let abbreviation = labels.iter().all(|label| label.chars().count() <= 1)
        || matches!(
            host.to_ascii_lowercase().as_str(),
            "a.m" | "p.m" | "e.g" | "i.e" | "z.b"
        );
    fits && is_name && !abbreviation && (path || !FILE_ENDINGS.contains(&last.to_ascii_lowercase().as_str()))
}
