//! Reading rules: everything is checked, and everything that is wrong is told at once.

use super::condition::{Condition, Operand, Operator, Test};
use super::error::{RuleError, RuleErrors, RuleProblem};
use super::model::{Action, Rule, RuleSet};
use super::values::{expected, fields, found, operand, operands, regex, written};
use crate::{Field, FieldName, Hook, RuleId, rule};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const RULE_KEYS: &[&str] = &["id", "hook", "priority", "when", "action", "pattern", "message"];
const CONDITION_KEYS: &[&str] = &["field", "op", "value"];

type Table<'t> = DeTable<'t>;
type Value<'t> = Spanned<DeValue<'t>>;

impl RuleSet {
    /// Reads `[[policy.rules]]` of a TOML text, such as that of `tidegate.toml`; everything else in it is
    /// left to others. `source_name` is what errors call it: the path of the file.
    ///
    /// # Errors
    /// Everything that is wrong with the rules, each with its line; or that the text is no TOML.
    pub fn parse(source_name: &str, text: &str) -> Result<Self, RuleErrors> {
        let mut reader = Reader::new(source_name, Some(text));
        let rules = match DeTable::parse(text) {
            Ok(table) => reader.rules_of(table.get_ref()),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.blame(
                    at,
                    None,
                    RuleProblem::NotToml {
                        message: error.message().to_owned(),
                    },
                );
                Vec::new()
            }
        };
        reader.end(rules)
    }

    /// Reads rules that are tables already, as from a variable. Errors have no lines.
    ///
    /// # Errors
    /// Everything that is wrong with the rules.
    pub fn of_tables(source_name: &str, rules: &[toml::Table]) -> Result<Self, RuleErrors> {
        let mut reader = Reader::new(source_name, None);
        let rules = toml::Value::Array(rules.iter().cloned().map(toml::Value::Table).collect());
        let policy: toml::Table = [("rules".to_owned(), rules)].into_iter().collect();
        let whole: toml::Table = [("policy".to_owned(), toml::Value::Table(policy))]
            .into_iter()
            .collect();
        // What was read can be written and read again.
        let text = whole.to_string();
        let rules = match DeTable::parse(&text) {
            Ok(table) => reader.rules_of(table.get_ref()),
            Err(error) => {
                reader.blame(
                    0,
                    None,
                    RuleProblem::NotToml {
                        message: error.message().to_owned(),
                    },
                );
                Vec::new()
            }
        };
        reader.end(rules)
    }
}

/// Reads, and collects what is wrong.
struct Reader<'t> {
    source_name: &'t str,
    /// Where each line begins; empty for rules without lines.
    lines: Vec<usize>,
    errors: Vec<(usize, RuleError)>,
    /// The lines of ids met so far.
    ids: BTreeMap<String, Option<usize>>,
}

impl<'t> Reader<'t> {
    fn new(source_name: &'t str, text: Option<&'t str>) -> Self {
        let starts = |text: &str| {
            let after = text.match_indices('\n').map(|(at, _)| at + 1);
            std::iter::once(0).chain(after).collect()
        };
        Self {
            source_name,
            lines: text.map(starts).unwrap_or_default(),
            errors: Vec::new(),
            ids: BTreeMap::new(),
        }
    }

    fn line(&self, offset: usize) -> Option<usize> {
        (!self.lines.is_empty()).then(|| self.lines.partition_point(|start| *start <= offset))
    }

    fn blame(&mut self, offset: usize, rule: Option<&str>, problem: RuleProblem) {
        let error = RuleError {
            source_name: self.source_name.to_owned(),
            line: self.line(offset),
            rule: rule.map(str::to_owned),
            problem,
        };
        self.errors.push((offset, error));
    }

    fn end(mut self, rules: Vec<Rule>) -> Result<RuleSet, RuleErrors> {
        if self.errors.is_empty() {
            return Ok(RuleSet::new(rules));
        }
        self.errors.sort_by_key(|(offset, _)| *offset);
        Err(RuleErrors::new(
            self.errors.into_iter().map(|(_, error)| error).collect(),
        ))
    }

    fn rules_of(&mut self, whole: &Table<'_>) -> Vec<Rule> {
        let Some(policy) = whole.get("policy") else {
            return Vec::new();
        };
        let Some(policy_table) = policy.get_ref().as_table() else {
            let found = found(policy.get_ref());
            self.blame(
                policy.span().start,
                None,
                RuleProblem::NotRules { key: "policy", found },
            );
            return Vec::new();
        };
        let Some(rules) = policy_table.get("rules") else {
            return Vec::new();
        };
        let Some(list) = rules.get_ref().as_array() else {
            let found = found(rules.get_ref());
            self.blame(
                rules.span().start,
                None,
                RuleProblem::NotRules {
                    key: "policy.rules",
                    found,
                },
            );
            return Vec::new();
        };
        // A rule without a single key says nothing that would have to be enforced.
        let says_something =
            |entry: &Value<'_>| entry.get_ref().as_table().is_none_or(|table| !table.is_empty());
        let tables = list.iter().enumerate();
        tables
            .filter(|(_, entry)| says_something(entry))
            .filter_map(|(index, entry)| self.rule(index + 1, entry))
            .collect()
    }

    /// One rule; nothing if anything is wrong with it.
    fn rule(&mut self, number: usize, entry: &Value<'_>) -> Option<Rule> {
        let start = entry.span().start;
        let before = self.errors.len();
        let Some(table) = entry.get_ref().as_table() else {
            let found = found(entry.get_ref());
            self.blame(
                start,
                Some(&number.to_string()),
                RuleProblem::NotRules {
                    key: "policy.rules",
                    found,
                },
            );
            return None;
        };
        let name = match table.get("id").map(|id| id.get_ref()) {
            Some(DeValue::String(id)) => format!("`{}`", crate::escaped(id)),
            _ => number.to_string(),
        };
        let mut this = RuleReader {
            reader: self,
            name,
            start,
        };
        this.unknown_keys(table, "a rule", RULE_KEYS);
        let id = this.id(table);
        let hook = this.word(
            table,
            "hook",
            "hook",
            &Hook::ALL.map(|hook| (hook.as_str(), hook)),
        );
        let action = this.word(
            table,
            "action",
            "action",
            &Action::ALL.map(|action| (action.as_str(), action)),
        );
        let priority = this.priority(table);
        let when = this.when(table, hook);
        let pattern = this.pattern(table, action);
        let message = this.text(table, "message");
        if let (Some(hook), Some(Action::Redact)) = (hook, action)
            && !hook.can_redact()
        {
            let hooks: Vec<&str> = Hook::ALL
                .into_iter()
                .filter(|hook| hook.can_redact())
                .map(Hook::as_str)
                .collect();
            let hooks = hooks.join(", ");
            this.blame_at(table, "action", RuleProblem::CannotRedact { hook, hooks });
        }
        if self.errors.len() > before {
            return None;
        }
        Some(Rule {
            id: id?,
            hook: hook?,
            priority,
            when: when.into_boxed_slice(),
            action: action?,
            pattern,
            message: message.map(Arc::from),
            line: self.line(start),
        })
    }
}

/// Reads the parts of one rule.
struct RuleReader<'r, 't> {
    reader: &'r mut Reader<'t>,
    /// What errors call the rule.
    name: String,
    start: usize,
}

impl RuleReader<'_, '_> {
    fn blame(&mut self, offset: usize, problem: RuleProblem) {
        let name = std::mem::take(&mut self.name);
        self.reader.blame(offset, Some(&name), problem);
        self.name = name;
    }

    /// Blames the value of a key, or where there is none, the rule.
    fn blame_at(&mut self, table: &Table<'_>, key: &str, problem: RuleProblem) {
        let offset = table.get(key).map_or(self.start, |value| value.span().start);
        self.blame(offset, problem);
    }

    fn unknown_keys(&mut self, table: &Table<'_>, of: &'static str, known: &[&str]) {
        for key in table.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                let problem = RuleProblem::UnknownKey {
                    key: key.get_ref().to_string(),
                    of,
                    known: known.join(", "),
                };
                self.blame(key.span().start, problem);
            }
        }
    }

    /// A text, if the key is there.
    fn text(&mut self, table: &Table<'_>, key: &'static str) -> Option<String> {
        let value = table.get(key)?;
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.to_string());
        }
        let problem = RuleProblem::WrongType {
            key,
            found: found(value.get_ref()),
            expected: "a text",
        };
        self.blame(value.span().start, problem);
        None
    }

    /// A text that has to be there and to be one of `words`.
    fn word<T: Copy>(
        &mut self,
        table: &Table<'_>,
        key: &'static str,
        what: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        if !table.contains_key(key) {
            let problem = RuleProblem::MissingKey {
                key,
                expected: format!("write one of {}", known()),
            };
            self.blame(self.start, problem);
            return None;
        }
        let given = self.text(table, key)?;
        let matching = words.iter().find(|(word, _)| *word == given);
        if matching.is_none() {
            let known = known();
            self.blame_at(table, key, RuleProblem::UnknownWord { what, given, known });
        }
        matching.map(|(_, value)| *value)
    }

    fn id(&mut self, table: &Table<'_>) -> Option<RuleId> {
        if !table.contains_key("id") {
            let problem = RuleProblem::MissingKey {
                key: "id",
                expected: "give each rule a name of its own".to_owned(),
            };
            self.blame(self.start, problem);
            return None;
        }
        let id = self.text(table, "id")?;
        let valid = (1..=64).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        if !valid {
            self.blame_at(table, "id", RuleProblem::BadId { given: id });
            return None;
        }
        if rule::ALL.iter().any(|name| name.eq_ignore_ascii_case(&id)) {
            let names = rule::ALL.join(", ");
            self.blame_at(table, "id", RuleProblem::BuiltInId { names });
            return None;
        }
        let line = self.reader.line(self.start);
        if let Some(first) = self.reader.ids.get(&id) {
            let problem = RuleProblem::DuplicateId { line: *first };
            self.blame_at(table, "id", problem);
            return None;
        }
        self.reader.ids.insert(id.clone(), line);
        Some(RuleId::new(id))
    }

    fn priority(&mut self, table: &Table<'_>) -> i64 {
        let Some(value) = table.get("priority") else {
            return 0;
        };
        let whole = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        whole.unwrap_or_else(|| {
            let problem = RuleProblem::WrongType {
                key: "priority",
                found: found(value.get_ref()),
                expected: "a whole number of at most 64 bits; the highest is looked at first",
            };
            self.blame(value.span().start, problem);
            0
        })
    }

    fn pattern(&mut self, table: &Table<'_>, action: Option<Action>) -> Option<Regex> {
        let pattern = self.text(table, "pattern");
        match (action, table.contains_key("pattern")) {
            (Some(Action::Redact), false) => self.blame_at(table, "action", RuleProblem::NoPattern),
            (Some(Action::Redact) | None, _) | (_, false) => {}
            (Some(action), true) => {
                self.blame_at(table, "pattern", RuleProblem::PatternWithoutRedact { action });
            }
        }
        let offset = table
            .get("pattern")
            .map_or(self.start, |value| value.span().start);
        let pattern = self.regex("pattern", offset, &pattern?)?;
        if pattern.is_match("") {
            self.blame(offset, RuleProblem::EmptyMatch);
        }
        Some(pattern)
    }

    fn regex(&mut self, key: &'static str, offset: usize, pattern: &str) -> Option<Regex> {
        match regex(pattern) {
            Ok(regex) => Some(regex),
            Err(message) => {
                self.blame(offset, RuleProblem::BadRegex { key, message });
                None
            }
        }
    }

    fn when(&mut self, table: &Table<'_>, hook: Option<Hook>) -> Vec<Condition> {
        let Some(when) = table.get("when") else {
            return Vec::new();
        };
        let Some(list) = when.get_ref().as_array() else {
            let problem = RuleProblem::WrongType {
                key: "when",
                found: found(when.get_ref()),
                expected: "a list of conditions { field = …, op = …, value = … }, or nothing for a rule that \
                    always matches",
            };
            self.blame(when.span().start, problem);
            return Vec::new();
        };
        let conditions: Vec<_> = list
            .iter()
            .filter_map(|entry| self.condition(entry, hook))
            .collect();
        conditions
    }

    fn condition(&mut self, entry: &Value<'_>, hook: Option<Hook>) -> Option<Condition> {
        let start = entry.span().start;
        let Some(table) = entry.get_ref().as_table() else {
            let problem = RuleProblem::WrongType {
                key: "when",
                found: found(entry.get_ref()),
                expected: "each condition as { field = …, op = …, value = … }",
            };
            self.blame(start, problem);
            return None;
        };
        // What is missing of a condition is told with the line of the condition.
        let rule_start = std::mem::replace(&mut self.start, start);
        self.unknown_keys(table, "a condition", CONDITION_KEYS);
        let operator = self.word(
            table,
            "op",
            "operator",
            &Operator::ALL.map(|operator| (operator.as_str(), operator)),
        );
        let field = self.field(table, hook);
        let condition = match (field, operator) {
            (Some((field, name)), Some(operator)) => self.test(table, field, &name, operator),
            (None, Some(Operator::Matches)) => {
                // Whatever the field is, the expression has to be one.
                if let Some(value) = table.get("value")
                    && let Some(pattern) = value.get_ref().as_str()
                {
                    self.regex("value", value.span().start, pattern);
                }
                None
            }
            _ => None,
        };
        self.start = rule_start;
        condition
    }

    /// The field of a condition, and how it was written.
    fn field(&mut self, table: &Table<'_>, hook: Option<Hook>) -> Option<(&'static Field, String)> {
        if !table.contains_key("field") {
            let expected = match hook {
                Some(hook) => format!("{hook} has: {}", fields(hook)),
                None => "which there are depends on the hook".to_owned(),
            };
            self.blame(
                self.start,
                RuleProblem::MissingKey {
                    key: "field",
                    expected,
                },
            );
            return None;
        }
        let given = self.text(table, "field")?;
        // Without a hook nobody knows which fields there are; that it is wrong was said.
        let hook = hook?;
        let path = given.strip_prefix("arguments.");
        let matching = hook.fields().find(|field| match field.name {
            FieldName::Argument => path.is_some_and(|path| path.split('.').all(|name| !name.is_empty())),
            name => name.as_str() == given,
        });
        if matching.is_none() {
            let known = fields(hook);
            self.blame_at(
                table,
                "field",
                RuleProblem::UnknownField {
                    field: given.clone(),
                    hook,
                    known,
                },
            );
        }
        matching.map(|field| (field, given))
    }

    fn test(
        &mut self,
        table: &Table<'_>,
        field: &'static Field,
        name: &str,
        operator: Operator,
    ) -> Option<Condition> {
        if !operator.fits(field.kind) {
            let fitting = Operator::ALL
                .into_iter()
                .filter(|operator| operator.fits(field.kind));
            let fitting: Vec<&str> = fitting.map(Operator::as_str).collect();
            let problem = RuleProblem::OperatorDoesNotFit {
                operator,
                field: name.to_owned(),
                kind: field.kind.to_string(),
                fitting: fitting.join(", "),
            };
            self.blame_at(table, "op", problem);
            return None;
        }
        let expected = expected(field.kind, operator);
        let Some(value) = table.get("value") else {
            if operator == Operator::Exists {
                return Some(condition(field.name, name, operator, Test::Exists(true), "true"));
            }
            self.blame(
                self.start,
                RuleProblem::MissingKey {
                    key: "value",
                    expected: format!("write {expected}"),
                },
            );
            return None;
        };
        let offset = value.span().start;
        let test = match operator {
            Operator::Exists => value.get_ref().as_bool().map(Test::Exists),
            Operator::Contains => {
                let text = value.get_ref().as_str().filter(|text| !text.is_empty());
                text.map(|text| Test::Contains(text.into()))
            }
            Operator::Matches => match value.get_ref().as_str() {
                Some(pattern) => Some(Test::Matches(Box::new(self.regex("value", offset, pattern)?))),
                None => None,
            },
            Operator::In => value
                .get_ref()
                .as_array()
                .and_then(|list| operands(list, field.kind))
                .map(Test::In),
            Operator::Equals | Operator::NotEquals => {
                operand(value.get_ref(), field.kind).map(|operand| Test::Compare(operator, operand))
            }
            Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
                operand(value.get_ref(), field.kind)
                    .filter(|operand| !matches!(operand, Operand::Text(_) | Operand::Boolean(_)))
                    .map(|operand| Test::Compare(operator, operand))
            }
        };
        let Some(test) = test else {
            let problem = RuleProblem::BadValue {
                field: name.to_owned(),
                operator,
                found: written(value.get_ref(), true),
                expected,
            };
            self.blame(offset, problem);
            return None;
        };
        Some(condition(
            field.name,
            name,
            operator,
            test,
            &written(value.get_ref(), false),
        ))
    }
}

fn condition(field: FieldName, name: &str, operator: Operator, test: Test, value: &str) -> Condition {
    let path = match field {
        FieldName::Argument => name.strip_prefix("arguments.").unwrap_or_default(),
        _ => "",
    };
    let name = crate::escaped(name);
    let short: String = match value.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    };
    Condition {
        field,
        path: path.into(),
        test,
        text: format!("{name} {operator} {value}").into(),
        unmet: format!("not met: {name} {operator} {short}").into(),
        in_doubt: format!("in doubt, which counts as met: {name} {operator} {short}").into(),
    }
}
