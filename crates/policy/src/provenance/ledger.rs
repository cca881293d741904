//! What a session knows about its values.

use super::nouns::{ToolNouns, nouns_of};
use super::structure::{Node, scalar};
use crate::licence::{ActionWords, Licence, OwnerMessage, Shape, Vocabulary, normalised, pieces_of};
use crate::{ActionClass, CallId, IntegrityVerdict, LicenceUse, ToolName, ToolPolicy};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What came of a tool call.
#[derive(Clone, Copy, Debug)]
pub enum ToolOutcome<'a> {
    /// A result, as text: JSON, YAML or plain.
    Text(&'a str),
    /// A result that is JSON already.
    Json(&'a Value),
    /// An error: it endorses nothing.
    Error(&'a str),
}

/// What one session knows about its values: the owner's words and the licences in them, the configuration's values,
/// trusted fields, named rows, new objects.
///
/// It is rebuilt by replaying the session's entries in order; the same entries make the same ledger.
#[derive(Clone, Debug)]
pub struct ProvenanceLedger {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) messages: Vec<OwnerMessage>,
    /// Every licence: the message and its number in it.
    pub(crate) licences: Vec<(usize, usize)>,
    /// Calls that used a licence, by its number.
    pub(crate) used: BTreeMap<usize, Vec<Use>>,
    pub(crate) configuration: BTreeSet<String>,
    /// Days since 1970-01-01.
    pub(crate) today: Option<i64>,
    pub(crate) fields: Vec<TrustedField>,
    pub(crate) rows: Vec<Row>,
    pub(crate) new_objects: Vec<NewObject>,
    pub(crate) results: Vec<ResultText>,
    /// Ids and arguments that occurred.
    seen: BTreeSet<String>,
}

/// A use of a licence.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    call: CallId,
    pub(crate) values: Vec<(String, String)>,
}

/// A trusted value of a result.
#[derive(Clone, Debug)]
pub(crate) struct TrustedField {
    pub(crate) call: CallId,
    pub(crate) tool: ToolName,
    pub(crate) value: String,
    /// Names beside it: what a person may call it.
    pub(crate) names: Vec<String>,
}

/// A row of a listing.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) call: CallId,
    pub(crate) tool: ToolName,
    pub(crate) nouns: ToolNouns,
    pub(crate) id: String,
    /// Names by field, the tool's order.
    pub(crate) names: Vec<(String, String)>,
    pub(crate) sender: Option<String>,
    /// Its dates, in days since 1970-01-01.
    pub(crate) days: Vec<i64>,
    /// Whether both id and name stood in the call's own arguments: then it tells nothing.
    pub(crate) echo: bool,
}

/// An object a consequential call made.
#[derive(Clone, Debug)]
pub(crate) struct NewObject {
    pub(crate) call: CallId,
    pub(crate) tool: ToolName,
    pub(crate) nouns: ToolNouns,
    pub(crate) id: String,
}

/// A result's text, for telling where a value stood.
#[derive(Clone, Debug)]
pub(crate) struct ResultText {
    pub(crate) call: CallId,
    pub(crate) tool: ToolName,
    pub(crate) text: String,
    /// Its web addresses, whole.
    pub(crate) urls: BTreeSet<String>,
}

impl Default for ProvenanceLedger {
    fn default() -> Self {
        Self::with(Vocabulary::built_in())
    }
}

impl ProvenanceLedger {
    /// An empty ledger that reads licences with `words`.
    pub fn new(words: &ActionWords) -> Self {
        Self::with(Arc::new(Vocabulary::new(words)))
    }

    /// An empty ledger with the vocabulary of this one.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self::with(Arc::clone(&self.vocabulary))
    }

    fn with(vocabulary: Arc<Vocabulary>) -> Self {
        Self {
            vocabulary,
            messages: Vec::new(),
            licences: Vec::new(),
            used: BTreeMap::new(),
            configuration: BTreeSet::new(),
            today: None,
            fields: Vec::new(),
            rows: Vec::new(),
            new_objects: Vec::new(),
            results: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// What the owner typed. Fenced blocks, quoted lines and forwarded messages in it are left out; pasted or attached
    /// text must not be given here.
    pub fn owner_text(&mut self, text: &str) {
        let message = OwnerMessage::read(text, &self.vocabulary);
        let number = self.messages.len();
        self.licences
            .extend((0..message.licences.len()).map(|licence| (number, licence)));
        self.messages.push(message);
    }

    /// Values of the configuration that calls may use: the owner's addresses, default recipients, folders.
    pub fn configuration_values<'v>(&mut self, values: impl IntoIterator<Item = &'v str>) {
        self.configuration.extend(values.into_iter().map(normalised));
    }

    /// The day it is for the owner, `YYYY-MM-DD`, from a clock the program trusts: what `today` and `tomorrow` mean.
    /// A text that is no date is no day.
    pub fn set_today(&mut self, date: &str) {
        self.today = self.day_of(date);
    }

    fn day_of(&self, text: &str) -> Option<i64> {
        match pieces_of(text, &self.vocabulary).as_slice() {
            [Shape::Date(date)] => date.days(),
            _ => None,
        }
    }

    pub(crate) fn licence(&self, number: usize) -> Option<(&OwnerMessage, &Licence)> {
        let (message, licence) = self.licences.get(number)?;
        let message = self.messages.get(*message)?;
        Some((message, message.licences.get(*licence)?))
    }

    /// Every licence read from the owner's words so far, used or not.
    pub fn licences(&self) -> Vec<LicenceUse> {
        self.licences
            .iter()
            .enumerate()
            .filter_map(|(number, (message_number, _))| {
                let (message, licence) = self.licence(number)?;
                let (start, end, clause) = message.words(licence.first, licence.last);
                Some(LicenceUse {
                    licence: number,
                    clause: clause.to_owned(),
                    message: *message_number,
                    start,
                    end,
                })
            })
            .collect()
    }

    /// A call that ran, and what came of it, when that enters the context.
    pub fn tool_result(
        &mut self,
        call: &CallId,
        tool: &ToolPolicy,
        arguments: &Value,
        outcome: ToolOutcome<'_>,
    ) {
        let given = argument_texts(arguments);
        let (text, node, error) = match outcome {
            ToolOutcome::Text(text) => (text.to_owned(), Node::of_text(text), is_error(text)),
            ToolOutcome::Json(value) => (value.to_string(), Node::of_json(value, 0), false),
            ToolOutcome::Error(text) => (text.to_owned(), None, true),
        };
        let text = normalised(&text);
        let nouns = nouns_of(tool.name.as_str(), &self.vocabulary);
        if !error {
            if tool.consequential || tool.integrity.action != ActionClass::None {
                self.note_new_object(call, tool, &nouns, &given, node.as_ref());
            } else {
                self.note_fields(call, tool, &given, node.as_ref(), &text);
                if let Some(node) = &node {
                    self.note_rows(call, tool, &nouns, &given, node);
                }
            }
        }
        if let Some(node) = &node {
            for fields in node.mappings() {
                self.seen.extend(id_of(tool, fields).map(str::to_owned));
            }
        }
        self.seen.extend(given);
        let urls = web_addresses(&text, &self.vocabulary);
        self.results.push(ResultText {
            call: call.clone(),
            tool: tool.name.clone(),
            text,
            urls,
        });
    }

    fn note_new_object(
        &mut self,
        call: &CallId,
        tool: &ToolPolicy,
        nouns: &ToolNouns,
        given: &[String],
        node: Option<&Node>,
    ) {
        let fields = match node {
            Some(Node::Mapping(fields)) => fields.as_slice(),
            _ => return,
        };
        let Some(id) = id_of(tool, fields) else { return };
        if id.is_empty() || self.seen.contains(id) || echoes(given, id) {
            return;
        }
        self.new_objects.push(NewObject {
            call: call.clone(),
            tool: tool.name.clone(),
            nouns: nouns.clone(),
            id: id.to_owned(),
        });
    }

    fn note_fields(
        &mut self,
        call: &CallId,
        tool: &ToolPolicy,
        given: &[String],
        node: Option<&Node>,
        text: &str,
    ) {
        let trusted = &tool.integrity.trusted_fields;
        let echoed = |value: &str| echoes(given, value);
        let mut add = |value: &str, names: Vec<String>| {
            let value = normalised(value.trim());
            if !value.is_empty() && !echoed(&value) {
                self.fields.push(TrustedField {
                    call: call.clone(),
                    tool: tool.name.clone(),
                    value,
                    names,
                });
            }
        };
        match node {
            Some(node) => {
                for leaf in node.leaves() {
                    if trusted.contains(leaf.field) {
                        let names = tool
                            .integrity
                            .rows
                            .name
                            .iter()
                            .filter_map(|name| scalar(leaf.around, name))
                            .map(str::to_owned)
                            .collect();
                        add(leaf.text, names);
                    }
                }
            }
            // A result that is one value is a field of its own; prose is not.
            None => {
                let value = text.trim();
                if trusted.contains(None) && !value.contains(['\n', ' ']) {
                    add(value, Vec::new());
                    if let (true, Some(day)) = (given.is_empty(), self.day_of(value)) {
                        self.today = Some(day);
                    }
                }
            }
        }
    }

    fn note_rows(
        &mut self,
        call: &CallId,
        tool: &ToolPolicy,
        nouns: &ToolNouns,
        given: &[String],
        node: &Node,
    ) {
        for fields in node.mappings() {
            let Some(id) = id_of(tool, fields).filter(|id| !id.is_empty()) else {
                continue;
            };
            let names: Vec<(String, String)> = tool
                .integrity
                .rows
                .name
                .iter()
                .filter_map(|field| Some((field.clone(), normalised(scalar(fields, field)?))))
                .filter(|(_, name)| !name.trim().is_empty())
                .collect();
            let echoed = |value: &str| echoes(given, value);
            let days = fields
                .iter()
                .filter_map(|(_, value)| match value {
                    Node::Scalar(text) if text.len() <= 40 => pieces_of(text, &self.vocabulary)
                        .into_iter()
                        .find_map(|shape| match shape {
                            Shape::Date(date) => date.days(),
                            _ => None,
                        }),
                    _ => None,
                })
                .collect();
            let sender = tool
                .integrity
                .rows
                .sender
                .as_deref()
                .and_then(|field| scalar(fields, field));
            self.rows.push(Row {
                call: call.clone(),
                tool: tool.name.clone(),
                nouns: nouns.clone(),
                id: id.to_owned(),
                echo: echoed(id) && names.iter().any(|(_, name)| echoed(name)),
                names,
                sender: sender.map(normalised),
                days,
            });
        }
    }

    /// Uses up the licence of a call that is about to run. Not for a call that was refused, asked about or granted.
    pub fn consume(&mut self, call: &CallId, verdict: &IntegrityVerdict) {
        if let (true, Some(used)) = (verdict.satisfied, &verdict.licence) {
            let uses = self.used.entry(used.licence).or_default();
            // Replaying an entry twice uses nothing up twice.
            if uses.iter().all(|earlier| earlier.call != *call) {
                uses.push(Use {
                    call: call.clone(),
                    values: crate::integrity::signature(&verdict.values),
                });
            }
        }
    }

    /// Whether `value` is in the owner's words as a whole typed token, or a name the owner used for a row of a trusted
    /// tool holds it. Recipients of which this is true have the level `policy.owner_named`.
    pub fn is_owner_named(&self, value: &str) -> bool {
        let value = normalised(value.trim());
        crate::integrity::owner_named(self, &value)
    }
}

/// Whether a value stands in one of the call's own arguments: anywhere, but a short one only as a word of its own.
fn echoes(given: &[String], value: &str) -> bool {
    const SHORT: usize = 4;
    given.iter().any(|argument| {
        argument.match_indices(value).any(|(at, found)| {
            let before = argument.get(..at).and_then(|text| text.chars().next_back());
            let after = argument
                .get(at + found.len()..)
                .and_then(|text| text.chars().next());
            value.chars().count() >= SHORT
                || ![before, after].into_iter().flatten().any(char::is_alphanumeric)
        })
    })
}

/// The id of a row: the first of the tool's id fields it has, else the only field whose name ends like one.
fn id_of<'n>(tool: &ToolPolicy, fields: &'n [(String, Node)]) -> Option<&'n str> {
    let declared = &tool.integrity.rows.id;
    if declared.is_empty() {
        return None;
    }
    declared.iter().find_map(|name| scalar(fields, name)).or_else(|| {
        let mut ending = fields.iter().filter(|(name, value)| {
            matches!(value, Node::Scalar(_)) && (name.ends_with("_id") || name.ends_with("Id"))
        });
        match (ending.next(), ending.next()) {
            (Some((_, Node::Scalar(id))), None) => Some(id.as_str()),
            _ => None,
        }
    })
}

/// Every text and number among the arguments, normalised.
pub(crate) fn argument_texts(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![arguments];
    while let Some(value) = todo.pop() {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => found.push(number.to_string()),
            Value::String(text) if text.trim().is_empty() => {}
            Value::String(text) => found.push(normalised(text.trim())),
            Value::Array(items) => todo.extend(items.iter().rev()),
            Value::Object(fields) => todo.extend(fields.values().rev()),
        }
    }
    found
}

/// Results that say they are errors where the caller could not tell.
fn is_error(text: &str) -> bool {
    let start: String = text
        .trim_start()
        .chars()
        .take(40)
        .collect::<String>()
        .to_lowercase();
    [
        "error",
        "exception",
        "traceback",
        "failed",
        "valueerror",
        "keyerror",
        "permissionerror",
        "not found",
    ]
    .iter()
    .any(|word| start.starts_with(word))
}

fn web_addresses(text: &str, vocabulary: &Vocabulary) -> BTreeSet<String> {
    if !text.contains('.') {
        return BTreeSet::new();
    }
    crate::licence::web_addresses(text, vocabulary)
}
