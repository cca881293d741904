//! The judging of one call: its licence, and each of its control values.

use super::given::{MOST_VALUES, Values, values_of};
use super::trust::{Scope, Trust};
use crate::licence::{Kind, Licence, List, OwnerMessage, Shape, is_file_name};
use crate::provenance::{ToolNouns, nouns_of, singular};
use crate::{
    ActionClass, ControlValue, IntegrityVerdict, LicenceUse, ProvenanceLedger, ToolPolicy, ValueOrigin,
    escaped,
};
use serde_json::Value;

impl ProvenanceLedger {
    /// Judges a call by the values and licences known so far. It changes nothing: the same ledger and call always have
    /// the same verdict.
    pub fn judge(&self, tool: &ToolPolicy, arguments: &Value) -> IntegrityVerdict {
        let judge = Judge {
            ledger: self,
            tool,
            nouns: nouns_of(tool.name.as_str(), &self.vocabulary),
            values: values_of(tool, arguments, &self.vocabulary),
        };
        judge.verdict()
    }
}

struct Judge<'l> {
    ledger: &'l ProvenanceLedger,
    tool: &'l ToolPolicy,
    nouns: ToolNouns,
    values: Values,
}

impl Judge<'_> {
    fn verdict(&self) -> IntegrityVerdict {
        if !self.tool.consequential && self.tool.integrity.egress {
            return self.fetch();
        }
        if self.values.control.len() > MOST_VALUES {
            return IntegrityVerdict {
                satisfied: false,
                licence: None,
                missing: vec![format!("the call has more than {MOST_VALUES} control values")],
                values: Vec::new(),
                why: format!("the call has more than {MOST_VALUES} control values"),
            };
        }
        let mut missing = Vec::new();
        let mut best: Option<(usize, IntegrityVerdict)> = None;
        for number in 0..self.ledger.licences.len() {
            let Some((message, licence)) = self.ledger.licence(number) else {
                continue;
            };
            let (_, _, clause) = message.words(licence.first, licence.last);
            let clause = shown_clause(clause);
            if let Err(why) = self.fits(message, licence) {
                missing.push(format!("{clause}: {why}"));
                continue;
            }

            let uses = self.ledger.used.get(&number).map_or(&[] as &[_], Vec::as_slice);
            let used_up = !self.speaks_of_many(licence)
                && uses.len() >= usize::try_from(licence.count).unwrap_or(usize::MAX);
            if used_up {
                missing.push(format!("{clause}: is used up"));
                continue;
            }
            let verdict = self.under(number, message, licence, &clause);
            // What is asked for each is asked once for each.
            if !licence.stated
                && uses
                    .iter()
                    .any(|earlier| earlier.values == signature(&verdict.values))
            {
                missing.push(format!("{clause}: is used up for these values"));
                continue;
            }

            if verdict.satisfied {
                return verdict;
            }
            let untrusted = verdict.values.iter().filter(|value| !value.trusted).count();
            missing.extend(verdict.missing.iter().cloned());
            if best.as_ref().is_none_or(|(fewest, _)| untrusted < *fewest) {
                best = Some((untrusted, verdict));
            }
        }
        if let Some((_, mut verdict)) = best {
            verdict.missing = missing;
            return verdict;
        }
        let why = if self.ledger.licences.is_empty() {
            "the owner asked for nothing that would change something".to_owned()
        } else {
            format!(
                "the owner asked for no such call of {}",
                escaped(self.tool.name.as_str())
            )
        };
        if missing.is_empty() {
            missing.push(why.clone());
        }
        let scope = self.ledger.messages.last().map(Scope::of_message);
        IntegrityVerdict {
            satisfied: false,
            licence: None,
            missing,
            values: self.judged(scope.as_ref()),
            why,
        }
    }

    /// The verdict if the call used this licence.
    fn under(
        &self,
        number: usize,
        message: &OwnerMessage,
        licence: &Licence,
        clause: &str,
    ) -> IntegrityVerdict {
        let scope = Scope::of_licence(message, licence);
        let values = self.judged(Some(&scope));
        let mut lacking: Vec<String> = values
            .iter()
            .filter(|value| !value.trusted)
            .map(|value| format!("{}: {}", escaped(&value.argument), value.why))
            .collect();
        lacking.extend(self.literals_kept(message, licence, &scope).err());
        let (start, end, _) = message.words(licence.first, licence.last);
        let message_number = self
            .ledger
            .licences
            .get(number)
            .map_or(0, |(message, _)| *message);
        let satisfied = lacking.is_empty();
        let why = match lacking.first() {
            None => format!("the owner asked for it: {clause}"),
            Some(first) if lacking.len() == 1 => first.clone(),
            Some(first) => format!("{first}, and {} more", lacking.len() - 1),
        };
        IntegrityVerdict {
            satisfied,
            licence: satisfied.then(|| LicenceUse {
                licence: number,
                clause: message.words(licence.first, licence.last).2.to_owned(),
                message: message_number,
                start,
                end,
            }),
            missing: lacking
                .into_iter()
                .map(|lack| format!("{clause}: {lack}"))
                .collect(),
            values,
            why,
        }
    }

    /// Whether the clause asks for more than one such call: each, all, or a plural of what the tool is about.
    fn speaks_of_many(&self, licence: &Licence) -> bool {
        licence.all
            || licence
                .plural_classes
                .iter()
                .any(|class| self.nouns.classes.contains(class))
            || licence.plurals.iter().any(|noun| self.nouns.words.contains(noun))
    }

    fn judged(&self, scope: Option<&Scope<'_>>) -> Vec<ControlValue> {
        let trust = Trust {
            ledger: self.ledger,
            nouns: &self.nouns,
            all: &self.values.control,
            scope,
        };
        self.values
            .control
            .iter()
            .map(|given| trust.judge(given))
            .collect()
    }

    /// A read-only fetch needs no licence: its address is the owner's, or stands whole in one earlier result.
    fn fetch(&self) -> IntegrityVerdict {
        let scope = self.ledger.messages.last().map(Scope::of_message);
        let mut values = self.judged(scope.as_ref());
        for (value, given) in values.iter_mut().zip(&self.values.control) {
            let verbatim = self
                .ledger
                .results
                .iter()
                .find(|result| result.urls.contains(&given.text));
            if let Some(result) = verbatim.filter(|_| !value.trusted) {
                value.trusted = true;
                value.why = format!(
                    "it stands whole in the result of {}",
                    escaped(result.tool.as_str())
                );
                value.origin = ValueOrigin::Result {
                    call: result.call.as_str().to_owned(),
                    tool: result.tool.as_str().to_owned(),
                };
            }
        }
        let lacking = values.iter().find(|value| !value.trusted);
        let why = match lacking {
            None => "it only reads, and what it asks for was given to it".to_owned(),
            Some(value) => format!("{}: {}", escaped(&value.argument), value.why),
        };
        IntegrityVerdict {
            satisfied: lacking.is_none(),
            licence: None,
            missing: lacking.map(|_| why.clone()).into_iter().collect(),
            values,
            why,
        }
    }

    /// Whether the licence is for calls like this, or why not.
    fn fits(&self, message: &OwnerMessage, licence: &Licence) -> Result<(), &'static str> {
        let action = self.tool.integrity.action;
        let mut class_fits = false;
        if licence.families.is_empty() {
            // The owner used the tool's own word.
            return if self.nouns.all.contains(&licence.verb) && self.objects_fit(message, licence, &[]) {
                Ok(())
            } else {
                Err("asks for something else")
            };
        }
        for family in &licence.families {
            let Some(family_known) = self.ledger.vocabulary.families.get(*family) else {
                continue;
            };
            // A tool whose class nobody declared is of every class.
            let classes = action == ActionClass::None || family_known.classes.contains(&action);
            let named = self.nouns.families.is_empty()
                || self.nouns.families.contains(family)
                || self.pays_later(message, licence, *family);
            if !classes || !named {
                continue;
            }
            class_fits = true;
            if self.objects_fit(message, licence, &family_known.objects)
                && !self.is_rather_no_payment(message, licence)
                && !self.is_rather_reading(licence)
            {
                return Ok(());
            }
        }
        Err(if class_fits {
            "is about other things"
        } else {
            "asks for something else"
        })
    }

    /// `send`, `give` and the like mean money only where nothing else is sent: they say so by a currency, an account
    /// or a word for a payment.
    fn is_rather_no_payment(&self, message: &OwnerMessage, licence: &Licence) -> bool {
        let only_pays = || {
            licence.families.iter().all(|other| {
                self.ledger
                    .vocabulary
                    .families
                    .get(*other)
                    .is_some_and(|other| other.classes.contains(&ActionClass::Financial))
            })
        };
        let says_money = || {
            Scope::of_licence(message, licence)
                .nearest(|shape| match shape {
                    Shape::Account(_) => Some(true),
                    Shape::Number { currency, .. } => Some(*currency),
                    _ => None,
                })
                .contains(&true)
        };
        self.tool.integrity.action == ActionClass::Financial
            && !licence
                .objects
                .iter()
                .any(|object| self.nouns.classes.contains(object))
            && !only_pays()
            && !says_money()
    }

    /// `Pay 20 EUR to … every month`: a payment for a day the owner names is one that is scheduled.
    fn pays_later(&self, message: &OwnerMessage, licence: &Licence, family: usize) -> bool {
        let vocabulary = &self.ledger.vocabulary;
        let schedules = vocabulary
            .tool_families("schedule", true)
            .iter()
            .any(|scheduling| self.nouns.families.contains(scheduling));
        if self.tool.integrity.action != ActionClass::Financial
            || !schedules
            || !vocabulary.tool_families("pay", true).contains(&family)
        {
            return false;
        }
        let dated = Scope::of_licence(message, licence).nearest(|shape| {
            matches!(shape, Shape::Date(_) | Shape::Relative(_) | Shape::Weekday(_)).then_some(())
        });
        !dated.is_empty()
            || message
                .text
                .lexemes
                .get(licence.first..licence.last)
                .unwrap_or_default()
                .iter()
                .filter(|lexeme| lexeme.is_word() && lexeme.quote.is_none())
                .any(|lexeme| {
                    ["monthly", "weekly", "daily", "yearly"]
                        .iter()
                        .any(|mode| vocabulary.names_mode(mode, &lexeme.folded))
                })
    }

    /// `Open the report` reads it; `open an issue` makes one.
    fn is_rather_reading(&self, licence: &Licence) -> bool {
        let vocabulary = &self.ledger.vocabulary;
        vocabulary.in_list(&licence.verb, List::Reading)
            && ["file", "page", "email", "note"]
                .iter()
                .flat_map(|kind| vocabulary.tool_object_classes(kind))
                .any(|kind| self.nouns.classes.contains(kind))
    }

    fn objects_fit(&self, message: &OwnerMessage, licence: &Licence, usual: &[usize]) -> bool {
        let classes = &self.nouns.classes;
        if licence.objects.iter().any(|object| classes.contains(object)) {
            return true;
        }
        let scope = Scope::of_licence(message, licence);
        let clause = message
            .text
            .lexemes
            .get(licence.first..licence.last)
            .unwrap_or_default();
        let said = clause.iter().any(|lexeme| {
            lexeme.is_word()
                && lexeme.quote.is_none()
                && lexeme.folded != licence.verb
                && self
                    .nouns
                    .words
                    .iter()
                    .any(|noun| noun == singular(&lexeme.folded))
        });
        let refers = licence.objects.is_empty()
            && clause.iter().any(|lexeme| {
                lexeme.quote.is_none() && self.ledger.vocabulary.in_list(&lexeme.folded, List::Refers)
            })
            && message.text.lexemes.iter().enumerate().any(|(index, lexeme)| {
                lexeme.is_word()
                    && lexeme.quote.is_none()
                    && scope.holds(index)
                    && self
                        .nouns
                        .words
                        .iter()
                        .any(|noun| noun == singular(&lexeme.folded))
            });
        // `#general` is a channel, `report.pdf` a file, whatever the owner calls them.
        let typed = |kind: &str, is: &dyn Fn(&str) -> bool| {
            vocabulary_has(self.ledger.vocabulary.tool_object_classes(kind), classes)
                && clause
                    .iter()
                    .any(|lexeme| lexeme.is_word() && lexeme.quote.is_none() && is(&lexeme.text))
        };
        if typed("channel", &|text| {
            text.strip_prefix('#')
                .is_some_and(|name| name.chars().any(char::is_alphabetic))
        }) || (licence.objects.is_empty() && typed("file", &is_file_name))
        {
            return true;
        }
        // `publish it at www.site.example` makes a page there.
        let page = vocabulary_has(self.ledger.vocabulary.tool_object_classes("page"), classes)
            && (licence.first..licence.last).any(|index| {
                let is = |at: Option<usize>, wanted: &dyn Fn(&crate::licence::Lexeme) -> bool| {
                    at.and_then(|at| message.text.lexemes.get(at)).is_some_and(wanted)
                };
                is(Some(index), &|lexeme| {
                    lexeme.kind == Kind::Url && lexeme.quote.is_none()
                }) && is(index.checked_sub(1), &|before| {
                    matches!(
                        before.folded.as_str(),
                        "at" | "to"
                            | "on"
                            | "under"
                            | "auf"
                            | "unter"
                            | "sur"
                            | "à"
                            | "en"
                            | "a"
                            | "在"
                            | "到"
                    )
                }) && !message.is_source(index, index + 1, &self.ledger.vocabulary)
            });
        if page {
            return true;
        }
        let own_word_only = self.nouns.words.iter().all(|noun| *noun == licence.verb) && classes.is_empty();
        // `buy_item` buys whatever is bought.
        let any_goods = self.tool.integrity.action == ActionClass::Financial
            && classes.is_empty()
            && !self.nouns.words.is_empty()
            && self
                .nouns
                .words
                .iter()
                .all(|noun| matches!(noun.as_str(), "item" | "product" | "article" | "good"));
        if said || refers || own_word_only || any_goods {
            return true;
        }
        if usual.iter().any(|object| classes.contains(object)) {
            // `send Alice the report` sends a message; `send an email` no chat message; and `write the file` is what
            // writing means for files, whomever one could write to.
            let files = self.ledger.vocabulary.tool_object_classes("file");
            let is_meant_otherwise = licence
                .families
                .iter()
                .filter_map(|family| self.ledger.vocabulary.families.get(*family))
                .filter(|family| !family.classes.contains(&self.tool.integrity.action))
                .any(|family| {
                    let mut objects = licence.objects.iter();
                    objects.any(|object| files.contains(object) && family.objects.contains(object))
                });
            return !is_meant_otherwise && !licence.objects.iter().any(|object| usual.contains(object));
        }
        licence.objects.is_empty()
            && usual.is_empty()
            && clause
                .iter()
                .any(|lexeme| lexeme.quote.is_some() || lexeme.text.contains(['.', '_', '@', '/']))
    }

    /// Where the clause fixes a text, the call carries it, whole.
    fn literals_kept(
        &self,
        message: &OwnerMessage,
        licence: &Licence,
        scope: &Scope<'_>,
    ) -> Result<(), String> {
        if self.values.content.is_empty() {
            return Ok(());
        }
        for literal in scope.literals(message, licence, &self.ledger.vocabulary) {
            let carried = self
                .values
                .content
                .iter()
                .chain(self.values.control.iter().map(|given| &given.text))
                .any(|text| super::content::is_literal(&literal, text));
            if !carried {
                return Err(format!(
                    "the text {} is not what it carries",
                    shown_clause(&literal)
                ));
            }
        }
        Ok(())
    }
}

fn vocabulary_has(kinds: &[usize], classes: &[usize]) -> bool {
    kinds.iter().any(|kind| classes.contains(kind))
}

/// What tells two calls under one licence apart.
pub(crate) fn signature(values: &[ControlValue]) -> Vec<(String, String)> {
    values
        .iter()
        .map(|value| (value.argument.clone(), value.value.clone()))
        .collect()
}

/// A clause in quotes, escaped, its middle cut out where it is long.
fn shown_clause(clause: &str) -> String {
    const LONGEST: usize = 160;
    let clause = clause.trim();
    let length = clause.chars().count();
    if length <= LONGEST {
        return crate::escape::quoted(clause);
    }
    let beginning: String = clause.chars().take(LONGEST - 40).collect();
    let end: String = clause.chars().skip(length - 30).collect();
    format!(
        "{} … {}",
        crate::escape::quoted(&beginning),
        crate::escape::quoted(&end)
    )
}
