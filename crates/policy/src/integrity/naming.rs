//! Names: what the owner called things, and which rows bear such a name.

use super::given::Given;
use super::scope::Scope;
use super::trust::{is_deceptive, plain_url, same_address};
use crate::ProvenanceLedger;
use crate::licence::{Kind, Lexeme, List, OwnerMessage, SetAside, Shape, Vocabulary, folded, is_unspaced};
use crate::provenance::{Row, ToolNouns, singular};
use std::collections::BTreeSet;

/// Whether `value` stands in the owner's words as a whole token of its type; for the level of a recipient.
pub(crate) fn owner_named(ledger: &ProvenanceLedger, value: &str) -> bool {
    if value.is_empty() || is_deceptive(value) {
        return false;
    }
    let typed = ledger.messages.iter().any(|message| {
        message.text.lexemes.iter().enumerate().any(|(index, lexeme)| {
            let same = match lexeme.kind {
                Kind::Address => same_address(&lexeme.text, value),
                Kind::Url => plain_url(&lexeme.text) == plain_url(value),
                _ => false,
            };
            same && message.set_aside(index, &ledger.vocabulary) == SetAside::No
        }) || message.pieces.iter().any(|piece| match &piece.shape {
            Shape::Account(account) => *account == value.replace([' ', '-'], ""),
            _ => false,
        })
    });
    if typed {
        return true;
    }
    let given = Given {
        path: String::new(),
        words: ["recipient", "channel", "room", "group", "user", "list"]
            .map(str::to_owned)
            .to_vec(),
        raw: value.to_owned(),
        text: value.to_owned(),
        is_number: false,
        is_true: false,
        is_recipient: true,
        in_content: false,
    };
    let nouns = ToolNouns::default();
    let is_word = !crate::licence::is_mail_address(value) && !value.contains("://");
    if is_word
        && ledger
            .messages
            .iter()
            .any(|message| is_named(ledger, message, &given, &nouns, None, &allowed(ledger, message)))
    {
        return true;
    }
    // A name the owner used, which a trusted listing resolves.
    ledger
        .fields
        .iter()
        .filter(|field| field.value == value)
        .any(|field| {
            field.names.iter().any(|name| {
                let as_name = Given {
                    text: name.clone(),
                    raw: name.clone(),
                    ..given.clone()
                };
                ledger.messages.iter().any(|message| {
                    is_named(ledger, message, &as_name, &nouns, None, &allowed(ledger, message))
                })
            })
        })
}

/// Whether the owner says nothing against what they mention.
fn allowed<'m>(
    ledger: &'m ProvenanceLedger,
    message: &'m OwnerMessage,
) -> impl Fn(usize, usize) -> bool + 'm {
    |first, _| message.set_aside(first, &ledger.vocabulary) == SetAside::No
}

/// Whether the owner's message names `given` by its whole text.
pub(super) fn is_named(
    ledger: &ProvenanceLedger,
    message: &OwnerMessage,
    given: &Given,
    nouns: &ToolNouns,
    scope: Option<&Scope<'_>>,
    is_meant: &dyn Fn(usize, usize) -> bool,
) -> bool {
    let vocabulary = &*ledger.vocabulary;
    let value = given.text.trim_start_matches(['#', '@']);
    if value.is_empty() {
        return false;
    }
    // A quotation, or one of the parts of it between commas.
    let quoted = message.text.quotes.iter().enumerate().any(|(number, quote)| {
        let text = quote.text.trim();
        let same = text.trim_start_matches(['#', '@']) == value
            || text.trim_end_matches(['.', '!']) == value
            || (text.contains(", ") && text.split(", ").any(|part| part.trim() == value));
        same && message
            .text
            .lexemes
            .iter()
            .position(|lexeme| lexeme.quote == Some(number))
            .is_none_or(|first| {
                let after = message.text.lexemes.iter().skip(first);
                let length = after.take_while(|lexeme| lexeme.quote == Some(number)).count();
                is_meant(first, first + length)
            })
    });
    if quoted {
        return true;
    }
    let lexemes = &message.text.lexemes;
    let normal = message.text.normal.as_str();
    let mut from = 0;
    while let Some(at) = normal.get(from..).and_then(|rest| rest.find(value)) {
        let start = from + at;
        let end = start + value.len();
        from = start + value.chars().next().map_or(1, char::len_utf8);
        let Some((first, last)) = whole_lexemes(lexemes, normal, start, end) else {
            continue;
        };
        if is_name(vocabulary, lexemes, (first, last), given, nouns, scope) && is_meant(first, last) {
            return true;
        }
    }
    false
}

/// The lexemes from byte `start` to byte `end`, if these are edges of lexemes outside quotations.
fn whole_lexemes(lexemes: &[Lexeme], normal: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let first = lexemes.partition_point(|lexeme| lexeme.end <= start);
    let last = lexemes.partition_point(|lexeme| lexeme.end < end);
    let (one, other) = (lexemes.get(first)?, lexemes.get(last)?);
    let leading = normal.get(one.start..start)?;
    let starts = leading.is_empty() || matches!(leading, "#" | "@");
    // `Anna's` names Anna.
    let trailing = normal.get(end..other.end)?;
    let ends = trailing.is_empty() || matches!(trailing, "'s" | "\u{2019}s");
    (starts && ends && one.quote.is_none() && other.quote.is_none()).then_some((first, last + 1))
}

fn is_name(
    vocabulary: &Vocabulary,
    lexemes: &[Lexeme],
    (first, last): (usize, usize),
    given: &Given,
    nouns: &ToolNouns,
    scope: Option<&Scope<'_>>,
) -> bool {
    let Some(own) = lexemes.get(first..last) else {
        return false;
    };
    let words: Vec<&Lexeme> = own.iter().filter(|lexeme| lexeme.is_word()).collect();
    let is_common = |lexeme: &Lexeme| {
        vocabulary.is_common(&lexeme.folded)
            || vocabulary.months.contains_key(&lexeme.folded)
            || vocabulary.weekdays.contains_key(&lexeme.folded)
    };
    let neighbour = |index: Option<usize>| {
        index
            .and_then(|index| lexemes.get(index))
            .filter(|lexeme| lexeme.is_word() && lexeme.quote.is_none())
    };
    let (before, after) = (neighbour(first.checked_sub(1)), neighbour(Some(last)));
    // Part of a longer name is another name.
    let goes_on = |lexeme: Option<&Lexeme>| {
        lexeme.is_some_and(|lexeme| {
            let unspaced = lexeme.text.chars().all(is_unspaced);
            !is_common(lexeme)
                && (unspaced && words.iter().all(|word| word.text.chars().all(is_unspaced))
                    || (!unspaced && lexeme.is_capitalised()))
        })
    };

    // German writes every noun with a capital: `im Raum Leitung`.
    let noun_before = first
        .checked_sub(2)
        .and_then(|two| lexemes.get(two))
        .is_some_and(|two| {
            matches!(
                two.folded.as_str(),
                "im" | "am"
                    | "zum"
                    | "zur"
                    | "vom"
                    | "beim"
                    | "ins"
                    | "ans"
                    | "der"
                    | "die"
                    | "das"
                    | "dem"
                    | "den"
                    | "des"
            )
        });
    let before = before.filter(|_| !noun_before);
    let capitalised = words.iter().any(|word| word.is_capitalised());
    let possessive = lexemes
        .get(last - 1)
        .is_some_and(|lexeme| lexeme.folded.ends_with("'s"));
    if capitalised && (goes_on(before) || (goes_on(after) && !possessive)) {
        return false;
    }
    let unspaced = words.iter().all(|word| word.text.chars().all(is_unspaced));
    if unspaced {
        return words.iter().any(|word| !is_common(word)) && !goes_on(before) && !goes_on(after);
    }
    let distinct = words.iter().any(|word| {
        let named = word.is_capitalised() && !is_common(word);
        let marked = word
            .text
            .chars()
            .any(|c| c.is_ascii_digit() || matches!(c, '.' | '_' | '/' | '\\' | '#'))
            || (word.text.contains('-') && !is_common(word));
        named || marked
    });
    if distinct {
        return true;
    }
    if words.iter().all(|word| {
        vocabulary.in_list(&word.folded, List::Stop) || vocabulary.in_list(&word.folded, List::Determiners)
    }) {
        return false;
    }
    // `the general channel`, `user bob`, `password hunter`.
    let near = first.saturating_sub(2)..(last + 2).min(lexemes.len());
    let has_role = near.filter(|index| !(first..last).contains(index)).any(|index| {
        neighbour(Some(index)).is_some_and(|lexeme| {
            let word = singular(&lexeme.folded);
            given.words.iter().any(|own| {
                let own = singular(own);
                let translated = || {
                    let classes = vocabulary.tool_object_classes(own);
                    vocabulary
                        .word_objects(&lexeme.folded)
                        .iter()
                        .any(|class| classes.contains(class))
                };
                (own == word || translated()) && !vocabulary.in_list(own, List::Stop)
            }) || nouns.words.iter().any(|noun| noun == word)
        })
    });
    if has_role
        && words
            .iter()
            .any(|word| !vocabulary.in_list(&word.folded, List::Determiners))
    {
        return !words
            .iter()
            .all(|word| vocabulary.in_list(&word.folded, List::Stop));
    }
    let is_place = given.words.iter().any(|word| {
        matches!(
            word.as_str(),
            "id" | "ids" | "path" | "file" | "filename" | "url" | "key" | "command"
        )
    });
    let near_scope = scope.is_some_and(|scope| scope.is_near(first));
    !given.is_recipient
        && !is_place
        && near_scope
        && words
            .iter()
            .all(|word| !vocabulary.in_list(&word.folded, List::Stop))
}

/// The row that the owner named and no other row: `wanted` says which rows come into question. Where `id` is given, it
/// has to be that row's.
pub(super) fn named_row<'l>(
    ledger: &'l ProvenanceLedger,
    scope: &Scope<'_>,
    nouns: &ToolNouns,
    wanted: impl Fn(&Row) -> bool,
    id: Option<&str>,
) -> Option<(&'l Row, String)> {
    let rows: Vec<&Row> = ledger.rows.iter().filter(|row| wanted(row)).collect();
    let names = names_used(scope, &ledger.vocabulary, nouns);
    // What the owner quoted or wrote like a file's name is what they mean; other words then only describe.
    let bears = |name: &NameUsed| {
        rows.iter()
            .any(|row| row.names.iter().any(|(_, bears)| name.names(bears)))
    };
    // A source is not what something is done to, where both are named.
    let targets = names.iter().any(|name| !name.source && bears(name));
    let quoted = names
        .iter()
        .any(|name| name.how == How::Marked && !(targets && name.source) && bears(name));
    for name in names {
        if (quoted && name.how != How::Marked) || (targets && name.source) {
            continue;
        }
        let Some(row) = only_row(ledger, scope, &rows, &name) else {
            continue;
        };
        if id.is_some_and(|id| id != row.id) {
            continue;
        }
        // The same id under another name elsewhere: one of them lies.
        let disputed = rows.iter().any(|other| {
            other.id == row.id
                && other.names.iter().any(|(field, name)| {
                    row.names
                        .iter()
                        .any(|(own_field, own)| own_field == field && own != name)
                })
        });
        if !disputed && !row.echo {
            return Some((row, name.text));
        }
    }
    None
}

fn only_row<'r>(
    ledger: &ProvenanceLedger,
    scope: &Scope<'_>,
    rows: &[&'r Row],
    name: &NameUsed,
) -> Option<&'r Row> {
    let matching = |described: bool| -> Vec<&'r Row> {
        rows.iter()
            .filter(|row| {
                row.names.iter().any(|(field, bears)| {
                    // A description names only where it is as short as a name.
                    (field == "description") == described
                        && (!described || bears.len() <= 60)
                        && name.names(bears)
                })
            })
            .copied()
            .collect()
    };
    let mut found = matching(false);
    if found.is_empty() {
        found = matching(true);
    }
    let ids = |rows: &[&Row]| {
        rows.iter()
            .map(|row| row.id.clone())
            .collect::<BTreeSet<String>>()
    };
    if ids(&found).len() > 1 {
        // The owner's date tells them apart.
        let today = ledger.today;
        let days: Vec<i64> = scope.nearest(|shape| match shape {
            Shape::Date(date) => date.days(),
            Shape::Relative(days) => today.map(|today| today + days),
            _ => None,
        });
        found.retain(|row| row.days.iter().any(|day| days.contains(day)));
    }
    (ids(&found).len() == 1).then(|| found.first().copied()).flatten()
}

/// A name the owner used.
struct NameUsed {
    text: String,
    /// As compared: in lower case, separators as spaces.
    words: Vec<String>,
    how: How,
    /// Whether it says where something comes from: `from recipes.docx`.
    source: bool,
}

/// How a name was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Quoted, or marked like a file's name: the row has to bear it whole.
    Marked,
    /// Words of everyday use after an article, `the rent`: whole, too.
    Everyday,
    /// Other words after an article: the row's name may hold more.
    Described,
}

impl NameUsed {
    fn names(&self, row: &str) -> bool {
        if is_deceptive(row) {
            return false;
        }
        let whole = name_parts(row);
        let stem = row
            .rsplit_once('.')
            .filter(|(stem, ending)| {
                !stem.is_empty()
                    && (1..=5).contains(&ending.len())
                    && ending.chars().all(|c| c.is_ascii_alphanumeric())
            })
            .map(|(stem, _)| name_parts(stem));
        if whole == self.words || stem.as_ref() == Some(&self.words) {
            return true;
        }
        self.how == How::Described
            && self.words.len() <= whole.len()
            && whole
                .windows(self.words.len().max(1))
                .any(|part| part == self.words)
    }
}

fn name_parts(name: &str) -> Vec<String> {
    folded(name)
        .split(|c: char| {
            c.is_whitespace() || matches!(c, '-' | '_' | '.' | '/' | ':' | ',' | '\'' | '"' | '!' | '?')
        })
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether the words before say that something comes from there.
fn comes_from(lexemes: &[Lexeme], index: usize) -> bool {
    (index.saturating_sub(3)..index).any(|before| {
        lexemes.get(before).is_some_and(|lexeme| {
            lexeme.quote.is_none()
                && matches!(
                    lexeme.folded.as_str(),
                    "from" | "aus" | "von" | "vom" | "desde" | "depuis" | "从"
                )
        })
    })
}

/// What the owner called things within the scope: quotations, words marked like names, and what follows an article.
fn names_used(scope: &Scope<'_>, vocabulary: &Vocabulary, nouns: &ToolNouns) -> Vec<NameUsed> {
    let says_what = |lexeme: &Lexeme| {
        vocabulary.is_common(&lexeme.folded)
            || nouns.words.iter().any(|noun| noun == singular(&lexeme.folded))
    };
    let lexemes = &scope.message.text.lexemes;
    let mut found = Vec::new();
    let mut add = |text: &str, marked: bool, source: bool| {
        let words = name_parts(text);
        let says_kind = words
            .iter()
            .any(|word| nouns.words.iter().any(|noun| noun == singular(word)));
        let tells = words
            .iter()
            .any(|word| !vocabulary.is_common(word) && !vocabulary.in_list(word, List::Stop));
        let how = match (marked, tells) {
            (true, _) => How::Marked,
            (false, true) => How::Described,
            (false, false) => How::Everyday,
        };
        if !words.is_empty() && (how != How::Everyday || !says_kind) {
            found.push(NameUsed {
                text: text.to_owned(),
                words,
                how,
                source,
            });
        }
    };
    let mut index = 0;
    while let Some(lexeme) = lexemes.get(index) {
        let is_word = lexeme.is_word();
        if !scope.holds(index)
            || (is_word && scope.message.set_aside(index, vocabulary) == SetAside::Excluded)
        {
            index += 1;
            continue;
        }
        if let Some(quote) = lexeme.quote {
            if let Some(quote) = scope.message.text.quotes.get(quote) {
                add(&quote.text, true, comes_from(lexemes, index));
            }
            while lexemes.get(index).is_some_and(|next| next.quote == Some(quote)) {
                index += 1;
            }
            continue;
        }
        let marked = lexeme.is_word()
            && lexeme.kind != Kind::Address
            && lexeme.text.contains(['.', '_'])
            && lexeme.text.chars().any(char::is_alphabetic);
        if marked {
            add(&lexeme.text, true, comes_from(lexemes, index));
        }
        let phrase: Vec<&Lexeme> = lexemes
            .get(index..)
            .unwrap_or_default()
            .iter()
            .take(8)
            .take_while(|lexeme| {
                lexeme.is_word()
                    && lexeme.kind == Kind::Word
                    && lexeme.quote.is_none()
                    && !vocabulary.in_list(&lexeme.folded, List::Stop)
                    && !vocabulary.in_list(&lexeme.folded, List::Determiners)
                    && !vocabulary.in_list(&lexeme.folded, List::Prepositions)
                    && !vocabulary.in_list(&lexeme.folded, List::Others)
            })
            .collect();
        let before = index.checked_sub(1).and_then(|before| lexemes.get(before));
        let introduced = before.is_some_and(|before| {
            before.is_word()
                && before.quote.is_none()
                && vocabulary.in_list(&before.folded, List::Determiners)
        });
        let superlative = phrase
            .iter()
            .any(|lexeme| vocabulary.in_list(&lexeme.folded, List::Superlatives));
        if introduced && !phrase.is_empty() && !superlative {
            // With and without the noun that says what kind of thing it is: `the team sync meeting`.
            let joined = |words: &[&Lexeme]| {
                words
                    .iter()
                    .map(|lexeme| lexeme.text.as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            add(&joined(&phrase), false, comes_from(lexemes, index));
            if let [most @ .., last] = phrase.as_slice()
                && says_what(last)
                && !most.is_empty()
            {
                add(&joined(most), false, comes_from(lexemes, index));
            }

            // What stands before the tool's own noun: `the rent` of `the rent standing order`.
            let kind = phrase
                .iter()
                .position(|lexeme| nouns.words.iter().any(|noun| noun == singular(&lexeme.folded)));
            if let Some(before) = kind
                .and_then(|kind| phrase.get(..kind))
                .filter(|before| !before.is_empty())
            {
                add(&joined(before), false, comes_from(lexemes, index));
            }
            if let [first, rest @ ..] = phrase.as_slice()
                && says_what(first)
                && !rest.is_empty()
            {
                add(&joined(rest), false, comes_from(lexemes, index));
            }
        }
        index += 1;
    }
    found
}
