//! Whether one control value is the owner's.

use super::given::Given;
use super::meaning::REPLIES;
use super::naming;
pub(super) use super::scope::Scope;
use crate::licence::{
    Date, Kind, Lexeme, List, Minutes, SetAside, Shape, Text, canonical_number, is_mail_address,
    is_web_address, pieces,
};
use crate::provenance::{ToolNouns, TrustedField, singular};
use crate::{ControlValue, ProvenanceLedger, ValueOrigin, escaped};
use unicode_security::MixedScript;

/// The judge of single values.
pub(super) struct Trust<'l> {
    pub(super) ledger: &'l ProvenanceLedger,
    pub(super) nouns: &'l ToolNouns,
    /// Every control value of the call.
    pub(super) all: &'l [Given],
    pub(super) scope: Option<&'l Scope<'l>>,
}

/// What was found about a value.
pub(super) struct Finding {
    origin: ValueOrigin,
    why: String,
}

impl Finding {
    pub(super) fn new(origin: ValueOrigin, why: impl Into<String>) -> Self {
        Self {
            origin,
            why: why.into(),
        }
    }

    pub(super) fn owner(clause: &str) -> Self {
        let shown: String = clause.chars().take(120).collect();
        Self::new(ValueOrigin::Owner { clause: shown }, "the owner wrote it")
    }

    pub(super) fn derived(from: &str) -> Self {
        Self::new(
            ValueOrigin::Derived {
                from: from.to_owned(),
            },
            format!("it follows from {from}"),
        )
    }
}

/// What a value is, by its form.
pub(super) enum Form {
    Address,
    Url,
    Moment(Option<Date>, Option<Minutes>),
    Number(String),
    Account(String),
    Text,
}

impl Trust<'_> {
    pub(super) fn judge(&self, given: &Given) -> ControlValue {
        let found = if is_deceptive(&given.text) {
            Err("it mixes scripts in a word, or holds invisible characters".to_owned())
        } else {
            self.trusted(given)
        };
        let (trusted, origin, why) = match found {
            Ok(finding) => (true, finding.origin, finding.why),
            Err(why) => {
                let origin = self.origin_of(&given.text);
                let why = match &origin {
                    ValueOrigin::Result { tool, .. } => {
                        format!("{why}; it stands in a result of {}", escaped(tool))
                    }
                    _ => format!("{why}; no result holds it either"),
                };
                (false, origin, why)
            }
        };
        ControlValue {
            argument: given.path.clone(),
            value: given.raw.clone(),
            trusted,
            origin,
            why,
        }
    }

    fn origin_of(&self, text: &str) -> ValueOrigin {
        self.ledger
            .results
            .iter()
            .find(|result| result.text.contains(text))
            .map_or(ValueOrigin::Unknown, |result| ValueOrigin::Result {
                call: result.call.as_str().to_owned(),
                tool: result.tool.as_str().to_owned(),
            })
    }

    fn trusted(&self, given: &Given) -> Result<Finding, String> {
        if self.ledger.configuration.contains(&given.text) {
            return Ok(Finding::new(
                ValueOrigin::Configuration,
                "it stands in the configuration",
            ));
        }
        if given.is_true {
            return self.switch(given);
        }
        if self.is_id(given)
            && let Some(finding) = self.object(given)
        {
            return Ok(finding);
        }
        let owners = match self.form(given) {
            Form::Address => self.address(given),
            Form::Url => self.url(given),
            Form::Moment(date, time) => self.moment(given, date, time),
            Form::Number(number) => self.number(given, &number),
            Form::Account(account) => self.account(given, &account),
            Form::Text => self.words(given),
        };
        // What the owner's own records hold is no reason to write it into what leaves.
        if given.in_content {
            return owners;
        }
        owners.or_else(|why| self.field(given).or(Err(why)))
    }

    pub(super) fn form(&self, given: &Given) -> Form {
        let text = given.text.as_str();
        if is_mail_address(text) {
            return Form::Address;
        }
        let folded = text.to_lowercase();
        if folded.contains("://") || folded.starts_with("www.") || is_web_address(text) {
            return Form::Url;
        }
        let read = Text::read(text, &self.ledger.vocabulary);
        let found = pieces(&read, &self.ledger.vocabulary);
        let covered = |index: usize| {
            found
                .iter()
                .any(|piece| (piece.first..=piece.last).contains(&index))
        };
        let whole = (0..read.lexemes.len())
            .all(|index| covered(index) || read.lexemes.get(index).is_some_and(|l| l.is_mark('.')));
        if whole {
            let date = found.iter().find_map(|piece| match piece.shape {
                Shape::Date(date) => Some(date),
                Shape::Relative(days) => self.ledger.today.and_then(|today| Date::from_days(today + days)),
                _ => None,
            });
            let time = found.iter().find_map(|piece| match piece.shape {
                Shape::Time(time) => Some(time),
                _ => None,
            });
            if (date.is_some() || time.is_some())
                && found
                    .iter()
                    .all(|piece| matches!(piece.shape, Shape::Date(_) | Shape::Time(_) | Shape::Relative(_)))
            {
                return Form::Moment(date, time);
            }
            if let [one] = found.as_slice() {
                match &one.shape {
                    Shape::Account(account) if !given.is_number => return Form::Account(account.clone()),
                    Shape::Number { canonical, .. } => return Form::Number(canonical.clone()),
                    _ => {}
                }
            }
        }
        match canonical_number(text) {
            Some(number) => Form::Number(number),
            None => Form::Text,
        }
    }

    /// The lexemes of one kind in the owner's words, nearest first: those of clause and sentence, else of what they are
    /// linked with, else of the message, else of all messages.
    fn owner_pieces<T>(&self, wanted: impl Fn(&crate::licence::OwnerMessage, usize) -> Option<T>) -> Vec<T> {
        if let Some(scope) = self.scope {
            let in_message = |place: &dyn Fn(usize) -> bool| -> Vec<T> {
                (0..scope.message.text.lexemes.len())
                    .filter(|index| place(*index))
                    .filter_map(|index| wanted(scope.message, index))
                    .collect()
            };
            for place in [
                &(|index| scope.is_near(index)) as &dyn Fn(usize) -> bool,
                &|index| scope.holds(index),
                &|_| true,
            ] {
                let found = in_message(place);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        self.ledger
            .messages
            .iter()
            .flat_map(|message| {
                (0..message.text.lexemes.len())
                    .filter_map(|index| wanted(message, index))
                    .collect::<Vec<T>>()
            })
            .collect()
    }

    fn address(&self, given: &Given) -> Result<Finding, String> {
        let named = self.owner_pieces(|message, index| {
            let lexeme = message.text.lexemes.get(index)?;
            (lexeme.kind == Kind::Address && self.is_meant(given, message, index, index + 1))
                .then(|| lexeme.text.clone())
        });
        if named.iter().any(|address| same_address(address, &given.text)) {
            return Ok(Finding::owner(&given.text));
        }
        if let Some(finding) = self.reply(given) {
            return Ok(finding);
        }
        Err("the owner did not name this address".to_owned())
    }

    /// `Reply` licenses the authenticated sender of the one message that the owner named.
    fn reply(&self, given: &Given) -> Option<Finding> {
        let scope = self.scope?;
        let verb = scope.licence.map(|licence| licence.verb.as_str())?;
        let replies = REPLIES.iter().any(|stem| verb.starts_with(stem));
        if !replies || !given.is_recipient {
            return None;
        }
        let (row, name) =
            naming::named_row(self.ledger, scope, self.nouns, |row| row.sender.is_some(), None)?;
        row.sender
            .as_deref()
            .filter(|sender| same_address(sender, &given.text))?;
        Some(Finding::new(
            ValueOrigin::Row {
                call: row.call.as_str().to_owned(),
                tool: row.tool.as_str().to_owned(),
                name,
            },
            "it is the authenticated sender of the message the owner wants answered",
        ))
    }

    fn url(&self, given: &Given) -> Result<Finding, String> {
        let wanted = plain_url(&given.text);
        let named = self.owner_pieces(|message, index| {
            let lexeme = message.text.lexemes.get(index)?;
            (lexeme.kind == Kind::Url && self.is_meant(given, message, index, index + 1))
                .then(|| lexeme.text.clone())
        });
        let same = |url: &String| {
            let own = plain_url(url);
            own == wanted
                || (!url.contains("://")
                    && ["http://", "https://"]
                        .iter()
                        .any(|scheme| wanted == plain_url(&format!("{scheme}{url}"))))
        };
        if named.iter().any(same) {
            return Ok(Finding::owner(&given.text));
        }
        Err("the owner did not name this address, whole".to_owned())
    }

    fn account(&self, given: &Given, account: &str) -> Result<Finding, String> {
        let named = self.owner_pieces(|message, index| {
            message.pieces.iter().find_map(|piece| match &piece.shape {
                Shape::Account(named)
                    if piece.first == index && self.is_meant(given, message, index, piece.last + 1) =>
                {
                    Some(named.clone())
                }
                _ => None,
            })
        });
        if named.iter().any(|named| named == account) {
            return Ok(Finding::owner(account));
        }
        Err("the owner did not name this number".to_owned())
    }

    fn number(&self, given: &Given, number: &str) -> Result<Finding, String> {
        let refused = Err("the owner did not name this number for it".to_owned());
        let Some(scope) = self.scope else { return refused };
        if given
            .words
            .iter()
            .any(|word| self.ledger.vocabulary.amount_arguments.contains(word))
        {
            let amounts = scope.nearest(|shape| match shape {
                Shape::Number {
                    canonical, currency, ..
                } => Some((canonical.clone(), *currency)),
                _ => None,
            });
            let any_currency = amounts.iter().any(|(_, currency)| *currency);
            if amounts
                .iter()
                .any(|(amount, currency)| amount == number && (*currency || !any_currency))
            {
                return Ok(Finding::owner(number));
            }
            return Err("the owner did not name this amount".to_owned());
        }
        let is_length = given.words.iter().find_map(|word| match singular(word) {
            "duration" | "minute" | "length" => Some(1),
            "hour" => Some(60),
            "day" | "night" => Some(1_440),
            "week" => Some(10_080),
            _ => None,
        });
        if let (Some(unit), Ok(count)) = (is_length, number.parse::<i64>()) {
            let lengths = scope.nearest(|shape| match shape {
                Shape::Length(minutes) => Some(*minutes),
                _ => None,
            });
            if lengths
                .iter()
                .any(|minutes| count.checked_mul(unit) == Some(*minutes))
            {
                return Ok(Finding::owner(number));
            }
        }
        let message = scope.message;
        let in_words = message.text.lexemes.iter().enumerate().any(|(index, lexeme)| {
            lexeme.quote.is_none()
                && scope.holds(index)
                && self
                    .ledger
                    .vocabulary
                    .number(&lexeme.folded)
                    .is_some_and(|count| count.to_string() == number)
                && self.in_role(given, &message.text.lexemes, index)
                && message.set_aside(index, &self.ledger.vocabulary) == SetAside::No
        });
        if in_words {
            return Ok(Finding::owner(number));
        }
        let named = message.pieces.iter().any(|piece| match &piece.shape {
            Shape::Number {
                canonical, digits, ..
            } => {
                canonical == number
                    && scope.holds(piece.first)
                    && (*digits >= 4 || self.in_role(given, &message.text.lexemes, piece.first))
            }
            Shape::Account(account) => account == number && scope.holds(piece.first),
            _ => false,
        });
        if named {
            return Ok(Finding::owner(number));
        }
        refused
    }

    /// Whether a word of the argument's name stands beside the lexeme.
    fn in_role(&self, given: &Given, lexemes: &[Lexeme], index: usize) -> bool {
        let near = index.saturating_sub(3)..(index + 4).min(lexemes.len());
        near.filter(|near| *near != index)
            .filter_map(|near| lexemes.get(near))
            .filter(|lexeme| lexeme.is_word())
            .any(|lexeme| {
                let word = singular(&lexeme.folded);
                given
                    .words
                    .iter()
                    .any(|own| singular(own) == word || self.ledger.vocabulary.counts(own, &lexeme.folded))
            })
    }

    /// `true`: a word of the argument's name, or one that means the same mode, is in the owner's sentence.
    fn switch(&self, given: &Given) -> Result<Finding, String> {
        let vocabulary = &self.ledger.vocabulary;
        let said = self.scope.is_some_and(|scope| {
            (scope.near.0..scope.near.1)
                .filter_map(|index| scope.message.text.lexemes.get(index))
                .filter(|lexeme| lexeme.is_word() && lexeme.quote.is_none())
                .any(|lexeme| {
                    given.words.iter().any(|own| {
                        let same =
                            singular(own) == singular(&lexeme.folded) && !vocabulary.in_list(own, List::Stop);
                        same || ["monthly", "weekly", "daily", "yearly"].iter().any(|mode| {
                            vocabulary.names_mode(mode, own) && vocabulary.names_mode(mode, &lexeme.folded)
                        })
                    })
                })
        });
        if said {
            return Ok(Finding::derived("the owner's words"));
        }
        Err("the owner did not ask for it to be switched on".to_owned())
    }

    /// Whether the value is an opaque id of an object.
    fn is_id(&self, given: &Given) -> bool {
        let named = given
            .words
            .iter()
            .any(|word| matches!(word.as_str(), "id" | "ids" | "uuid" | "uid" | "key" | "ref"))
            || (given.words.len() == 1
                && given
                    .words
                    .iter()
                    .any(|word| self.nouns.words.iter().any(|noun| noun == singular(word))));
        named
            && !given.is_recipient
            && !given.in_content
            && given.text.len() <= 64
            && !given.text.contains(char::is_whitespace)
            // Patterns and lists stand for more than one object.
            && !given.text.contains(['@', '/', ':', '*', '?', '%', '\\', ',', ';'])
            && given.text.contains(char::is_alphanumeric)
            && !given.text.contains("..")
            && !is_web_address(&given.text)
            && !given.words.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "account" | "iban" | "card" | "user" | "person" | "contact"
                )
            })
    }

    fn object(&self, given: &Given) -> Option<Finding> {
        let mut nouns = self.nouns.clone();
        nouns.words.extend(
            given
                .words
                .iter()
                .map(|word| singular(word).to_owned())
                .filter(|word| word != "id"),
        );
        if let Some(made) = self
            .ledger
            .new_objects
            .iter()
            .find(|made| made.id == given.text && made.nouns.meets(&nouns))
        {
            return Some(Finding::new(
                ValueOrigin::NewObject {
                    call: made.call.as_str().to_owned(),
                    tool: made.tool.as_str().to_owned(),
                },
                format!("{} made it in this session", escaped(made.tool.as_str())),
            ));
        }
        let scope = self.scope?;
        let own_nouns = own_nouns(given, &nouns);
        let (row, name) = naming::named_row(
            self.ledger,
            scope,
            &nouns,
            |row| row.nouns.meets(&own_nouns),
            Some(&given.text),
        )?;
        Some(Finding::new(
            ValueOrigin::Row {
                call: row.call.as_str().to_owned(),
                tool: row.tool.as_str().to_owned(),
                name: name.clone(),
            },
            format!(
                "it is the only one that {} listed as {}",
                escaped(row.tool.as_str()),
                crate::escape::quoted(&name)
            ),
        ))
    }

    fn words(&self, given: &Given) -> Result<Finding, String> {
        let vocabulary = &self.ledger.vocabulary;
        if let Some(mode) = vocabulary.mode_of(&given.text).filter(|_| !given.is_recipient) {
            return if self.names_mode(mode) {
                Ok(Finding::derived("the owner's words"))
            } else {
                Err("the owner did not name this mode".to_owned())
            };
        }
        if let Some(scope) = self.scope
            && naming::is_named(
                self.ledger,
                scope.message,
                given,
                self.nouns,
                Some(scope),
                &|first, last| self.is_meant(given, scope.message, first, last),
            )
        {
            return Ok(Finding::owner(&given.text));
        }
        // Another message names it, and this one points there.
        let earlier = self.scope.is_none_or(|scope| {
            (scope.near.0..scope.near.1).any(|index| {
                scope
                    .message
                    .text
                    .lexemes
                    .get(index)
                    .is_some_and(|lexeme| vocabulary.in_list(&lexeme.folded, List::Refers))
            })
        });
        if earlier
            && self.ledger.messages.iter().any(|message| {
                naming::is_named(self.ledger, message, given, self.nouns, None, &|first, last| {
                    self.is_meant(given, message, first, last)
                })
            })
        {
            return Ok(Finding::owner(&given.text));
        }
        Err("the owner did not name it".to_owned())
    }

    fn names_mode(&self, mode: &str) -> bool {
        let Some(scope) = self.scope else { return false };
        let vocabulary = &self.ledger.vocabulary;
        let lexemes = &scope.message.text.lexemes;
        let needs_noun = matches!(mode, "r" | "rw");
        (scope.near.0..scope.near.1).any(|index| {
            let Some(lexeme) = lexemes
                .get(index)
                .filter(|lexeme| lexeme.is_word() && lexeme.quote.is_none())
            else {
                return false;
            };
            if !vocabulary.names_mode(mode, &lexeme.folded) {
                return false;
            }
            !needs_noun
                || lexeme.folded.contains('-')
                || lexeme.folded.ends_with("rechte")
                || (index.saturating_sub(3)..(index + 4).min(lexemes.len())).any(|near| {
                    lexemes.get(near).is_some_and(|near| {
                        near.is_word() && vocabulary.in_list(&near.folded, List::ModeNouns)
                    })
                })
        })
    }

    /// A trusted field of a result holds it. Where the owner names a person or an address, it is theirs only.
    fn field(&self, given: &Given) -> Result<Finding, ()> {
        let found = self
            .ledger
            .fields
            .iter()
            .filter(|field| field.value == given.text || self.same_number(given, field))
            .find(|field| !given.is_recipient || self.may_receive(field));
        found
            .map(|field| {
                Finding::new(
                    ValueOrigin::TrustedField {
                        call: field.call.as_str().to_owned(),
                        tool: field.tool.as_str().to_owned(),
                    },
                    format!("a trusted field of {} holds it", escaped(field.tool.as_str())),
                )
            })
            .ok_or(())
    }

    fn same_number(&self, given: &Given, field: &TrustedField) -> bool {
        given.is_number
            && canonical_number(&field.value)
                .is_some_and(|number| Some(number) == canonical_number(&given.text))
    }

    fn may_receive(&self, field: &TrustedField) -> bool {
        let Some(scope) = self.scope else { return true };
        let lexemes = &scope.message.text.lexemes;
        let near = || (scope.near.0..scope.near.1).filter_map(|index| lexemes.get(index));
        if near().any(|lexeme| lexeme.kind == Kind::Address) {
            return false;
        }
        let named: Vec<&Lexeme> = near()
            .filter(|lexeme| {
                lexeme.is_word()
                    && lexeme.quote.is_none()
                    && lexeme.is_capitalised()
                    && !self.ledger.vocabulary.is_common(&lexeme.folded)
                    && !self.ledger.vocabulary.months.contains_key(&lexeme.folded)
                    && !self.ledger.vocabulary.weekdays.contains_key(&lexeme.folded)
            })
            .collect();
        named.is_empty()
            || field.names.is_empty()
            || field.names.iter().any(|name| {
                let name = crate::licence::folded(name);
                name.split_whitespace()
                    .any(|word| named.iter().any(|lexeme| lexeme.folded == word))
            })
    }
}

/// The nouns an id argument is about: its own name's, else the tool's.
fn own_nouns(given: &Given, nouns: &ToolNouns) -> ToolNouns {
    let own: Vec<String> = given
        .words
        .iter()
        .filter(|word| {
            !matches!(
                word.as_str(),
                "id" | "ids" | "uuid" | "uid" | "key" | "ref" | "new" | "old"
            )
        })
        .map(|word| singular(word).to_owned())
        .collect();
    if own.is_empty() {
        return nouns.clone();
    }
    ToolNouns {
        words: own,
        classes: nouns.classes.clone(),
        families: Vec::new(),
        all: Vec::new(),
    }
}

/// Addresses are equal but for the case of the domain.
pub(super) fn same_address(one: &str, other: &str) -> bool {
    match (one.rsplit_once('@'), other.rsplit_once('@')) {
        (Some((local, host)), Some((other_local, other_host))) => {
            local == other_local && host.eq_ignore_ascii_case(other_host)
        }
        _ => false,
    }
}

/// A URL with scheme and host in lower case and without an empty path; the rest as it is.
pub(super) fn plain_url(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => (String::new(), text),
    };
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = (
        rest.get(..at).unwrap_or_default(),
        rest.get(at..).unwrap_or_default(),
    );
    let path = if path == "/" { "" } else { path };
    format!("{scheme}://{}{path}", host.to_ascii_lowercase())
}

/// Mixed scripts in one word, or characters that are not seen as themselves.
pub(super) fn is_deceptive(text: &str) -> bool {
    let visible: String = text.chars().filter(|character| *character != '\n').collect();
    if matches!(escaped(&visible), std::borrow::Cow::Owned(_)) {
        return true;
    }
    !text.is_ascii()
        && text
            .split(|character: char| !character.is_alphanumeric())
            .any(|word| !word.is_empty() && !word.is_single_script())
}
