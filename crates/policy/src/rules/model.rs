//! Rules that were read and found good.

use super::condition::Condition;
use crate::{Hook, RuleId};
use regex::Regex;
use std::fmt;
use std::sync::Arc;

/// What a rule does when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Ends the custom rules; the flow goes on to the checks after them.
    Allow,
    /// Refuses the flow.
    Block,
    /// Replaces what its pattern finds; the next rule is looked at.
    Redact,
    /// Wants the owner to be asked.
    RequireApproval,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Block, Self::Redact, Self::RequireApproval];

    /// The name, as rules write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Block => "BLOCK",
            Self::Redact => "REDACT",
            Self::RequireApproval => "REQUIRE_APPROVAL",
        }
    }

    /// Whether it ends the custom rules.
    pub(super) fn ends(self) -> bool {
        self != Self::Redact
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One custom rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) id: RuleId,
    pub(super) hook: Hook,
    pub(super) priority: i64,
    pub(super) when: Box<[Condition]>,
    pub(super) action: Action,
    /// Of REDACT, and of nothing else.
    pub(super) pattern: Option<Regex>,
    pub(super) message: Option<Arc<str>>,
    pub(super) line: Option<usize>,
}

impl Rule {
    /// Its id.
    pub fn id(&self) -> &RuleId {
        &self.id
    }

    /// Where it is asked.
    pub fn hook(&self) -> Hook {
        self.hook
    }

    /// Its priority; the highest is looked at first. Default 0.
    pub fn priority(&self) -> i64 {
        self.priority
    }

    /// What it does.
    pub fn action(&self) -> Action {
        self.action
    }

    /// What its author says to whoever meets it.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The line of the file it begins in, from 1, if it comes from a file.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Its conditions as texts: field, operator, value. Empty: it always matches.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.when.iter().map(|condition| &*condition.text)
    }

    /// What REDACT replaces.
    pub(crate) fn pattern(&self) -> Option<&Regex> {
        self.pattern.as_ref()
    }
}

/// Something about rules that is allowed, and hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWarning {
    /// The rule.
    pub rule: RuleId,
    /// Its line, if it comes from a file.
    pub line: Option<usize>,
    /// What is odd about it.
    pub message: String,
}

/// All custom rules, checked and in order. The default is none.
///
/// It holds no state: the same facts always have the same outcome, whoever asked before.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// By hook in the order of [`Hook::ALL`], then as they are looked at.
    by_hook: [Box<[Rule]>; Hook::ALL.len()],
    warnings: Vec<RuleWarning>,
}

impl RuleSet {
    /// The set of these rules, in file order.
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let mut lists: [Vec<Rule>; Hook::ALL.len()] = Default::default();
        for rule in rules {
            if let Some(list) = lists.get_mut(rule.hook as usize) {
                list.push(rule);
            }
        }
        let mut warnings = Vec::new();
        let by_hook = lists.map(|mut list| {
            // The sort is stable, so ties stay in file order.
            list.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
            warnings.extend(unreachable(&list));
            list.into_boxed_slice()
        });
        Self { by_hook, warnings }
    }

    /// The rules of a hook in the order in which they are looked at.
    pub fn at(&self, hook: Hook) -> &[Rule] {
        self.by_hook.get(hook as usize).map_or(&[], |rules| rules)
    }

    /// All rules, hook by hook, in the order in which they are looked at.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.by_hook.iter().flatten()
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_hook.iter().all(|rules| rules.is_empty())
    }

    /// What is allowed and hardly meant, such as rules that are never reached.
    pub fn warnings(&self) -> &[RuleWarning] {
        &self.warnings
    }

    /// The rule of this id.
    pub fn get(&self, id: &RuleId) -> Option<&Rule> {
        self.iter().find(|rule| rule.id == *id)
    }
}

/// The rules before which another always ends it.
fn unreachable(rules: &[Rule]) -> Vec<RuleWarning> {
    let mut warnings = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let before = rules.iter().take(index);
        let Some(other) = before.into_iter().find(|other| ends_before(other, rule)) else {
            continue;
        };
        let when = if other.when.is_empty() {
            "always matches"
        } else {
            "matches whenever this one does"
        };
        warnings.push(RuleWarning {
            rule: rule.id.clone(),
            line: rule.line,
            message: format!(
                "it is never reached: `{}` comes before it, {when}, and ends with {}; give this one a higher \
                 priority",
                other.id, other.action
            ),
        });
    }
    warnings
}

/// Whether `earlier` ends it wherever `later` could match. Conditions are the same if they read the same. ALLOW
/// reads them more strictly than the others, so it is certain only of another ALLOW, or without conditions.
fn ends_before(earlier: &Rule, later: &Rule) -> bool {
    let reads_alike =
        earlier.action != Action::Allow || later.action == Action::Allow || earlier.when.is_empty();
    let covers = |condition: &Condition| later.when.iter().any(|other| other.text == condition.text);
    earlier.action.ends() && reads_alike && earlier.when.iter().all(covers)
}
