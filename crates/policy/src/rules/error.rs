//! What can be wrong with rules.

use crate::escaped;
use std::fmt;

/// Everything that is wrong with the rules of one source, in file order. Nothing of it is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RuleErrors {
    errors: Vec<RuleError>,
}

impl RuleErrors {
    pub(super) fn new(errors: Vec<RuleError>) -> Self {
        Self { errors }
    }

    /// Each error; there is at least one.
    pub fn errors(&self) -> &[RuleError] {
        &self.errors
    }
}

/// One error a line.
impl fmt::Display for RuleErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a rule: where, in which, what, and what is valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RuleError {
    /// The file, or what else the rules come from.
    pub source_name: String,
    /// The line, from 1; none for rules that come from no text.
    pub line: Option<usize>,
    /// The rule: its id, or else its place among the rules, from 1. None if no single rule is to blame.
    pub rule: Option<String>,
    /// What is wrong and what is valid.
    pub problem: RuleProblem,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", escaped(&self.source_name))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some(rule) = &self.rule {
            write!(f, "rule {rule}: ")?;
        }
        write!(f, "{}", self.problem)
    }
}

/// What is wrong. All names in it are escaped where it is shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleProblem {
    /// The text is no TOML.
    #[error("{}", escaped(message))]
    NotToml {
        /// What the parser says.
        message: String,
    },
    /// `policy` or `policy.rules` is something else.
    #[error("`{key}` is {found}; write the rules as [[policy.rules]]")]
    NotRules {
        /// Which of the two.
        key: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A key no rule or condition has.
    #[error("unknown key {}; {of} has: {known}", shown(key))]
    UnknownKey {
        /// The key.
        key: String,
        /// `a rule` or `a condition`.
        of: &'static str,
        /// The keys there are.
        known: String,
    },
    /// A key every rule or condition has is not there.
    #[error("`{key}` is missing; {expected}")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// What to write.
        expected: String,
    },
    /// A value of the wrong type.
    #[error("`{key}` is {found}; write {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// What it is.
        found: &'static str,
        /// What is valid.
        expected: &'static str,
    },
    /// A text that is none of the valid ones.
    #[error("unknown {what} {}; write one of {known}", shown(given))]
    UnknownWord {
        /// `hook`, `action` or `operator`.
        what: &'static str,
        /// What stands there.
        given: String,
        /// What is valid.
        known: String,
    },
    /// A field the hook does not have.
    #[error("unknown field {}; {hook} has: {known}", shown(field))]
    UnknownField {
        /// The field.
        field: String,
        /// The hook.
        hook: crate::Hook,
        /// The fields there are.
        known: String,
    },
    /// An operator that does not fit the type of the field.
    #[error("{operator} does not fit the field {field} ({kind}); these do: {fitting}")]
    OperatorDoesNotFit {
        /// The operator.
        operator: super::Operator,
        /// The field.
        field: String,
        /// The type of its values.
        kind: String,
        /// The operators that fit.
        fitting: String,
    },
    /// A value that cannot be compared with the field.
    #[error("the value of {field} {operator} is {found}; write {expected}")]
    BadValue {
        /// The field.
        field: String,
        /// The operator.
        operator: super::Operator,
        /// What stands there.
        found: String,
        /// What is valid.
        expected: String,
    },
    /// A regular expression that cannot be used.
    #[error(
        "the regular expression of `{key}` cannot be used: {}; {LANGUAGE}",
        escaped(message)
    )]
    BadRegex {
        /// `value` or `pattern`.
        key: &'static str,
        /// What the parser says.
        message: String,
    },
    /// An id with other characters, or too long.
    #[error(
        "the id {} cannot be used; write 1 to 64 letters A-Z a-z, digits, _, - or .",
        shown(given)
    )]
    BadId {
        /// The id.
        given: String,
    },
    /// An id that is the name of a built-in rule.
    #[error("this is the name of a built-in rule, which nothing overrides; use another name than: {names}")]
    BuiltInId {
        /// The names of the built-in rules.
        names: String,
    },
    /// An id two rules have.
    #[error("another rule{} has this id; each rule needs its own", line.map(|line| format!(" in line {line}")).unwrap_or_default())]
    DuplicateId {
        /// The line of the first.
        line: Option<usize>,
    },
    /// REDACT without `pattern`.
    #[error("REDACT needs a `pattern`: the regular expression for what is to be replaced")]
    NoPattern,
    /// `pattern` without REDACT.
    #[error(
        "`pattern` is for REDACT alone, and this rule's action is {action}; for a condition use `matches`"
    )]
    PatternWithoutRedact {
        /// The action.
        action: super::Action,
    },
    /// A pattern that matches where there is nothing.
    #[error(
        "the `pattern` also matches the empty text, which cannot be replaced; let it match at least one character"
    )]
    EmptyMatch,
    /// REDACT at a hook without a text.
    #[error("nothing can be redacted at {hook}; REDACT works at {hooks}")]
    CannotRedact {
        /// The hook.
        hook: crate::Hook,
        /// Those with a text.
        hooks: String,
    },
}

const LANGUAGE: &str = "it may be up to 2,000 bytes long, without look-around and back references, and not too \
    large once it is compiled";

/// What a file says, in quotes and escaped, and cut if it is long.
pub(super) fn shown(given: &str) -> String {
    const LONGEST: usize = 80;
    if given.chars().nth(LONGEST).is_none() {
        return crate::escape::quoted(given);
    }
    let beginning: String = given.chars().take(LONGEST).collect();
    format!("{}…", crate::escape::quoted(&beginning))
}
