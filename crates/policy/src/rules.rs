//! The rule language: what a rule is, how rules are read, and what they say of a flow.
//!
//! ```toml
//! [[policy.rules]]
//! id = "card-numbers"
//! hook = "PRE_OUTPUT"
//! priority = 500                        # highest first; default 0
//! when = [{ field = "text", op = "matches", value = '\b\d{16}\b' }]
//! action = "REDACT"                     # ALLOW | BLOCK | REDACT | REQUIRE_APPROVAL
//! pattern = '\b\d{16}\b'                # REDACT alone
//! message = "card numbers stay here"
//! ```
//!
//! **When a rule matches.** When every condition of `when` is met; without conditions, always.
//!
//! **In doubt against the flow.** A rule's action decides how a condition is read where it could be read two ways.
//! ALLOW reads strictly: of several values every one has to meet the condition, and what cannot be compared or is
//! not known does not meet it. The other actions read widely: one value is enough, and what cannot be compared or
//! is not known counts as met. So a recipient added to a list, or a number written as words, does not get past a
//! rule. What is not there meets nothing but `exists` with `value = false`.
//!
//! **Order.** Highest priority first, ties in file order. The first ALLOW, BLOCK or REQUIRE_APPROVAL that
//! matches ends it. Every REDACT that matches until then is applied. All look at the text as it came, so a
//! redaction never hides anything from a later rule.

mod arguments;
mod condition;
mod error;
mod evaluate;
mod facts;
mod load;
mod model;
mod values;

pub use condition::Operator;
pub use error::{RuleError, RuleErrors, RuleProblem};
pub use evaluate::{CustomOutcome, CustomVerdict};
pub use facts::{Fact, Facts};
pub use model::{Action, Rule, RuleSet, RuleWarning};

pub(crate) use arguments::text_of as text_of_arguments;
