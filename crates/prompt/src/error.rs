//! What can go wrong.

use crate::compaction::TooLarge;
use tidegate_message::TranscriptError;
use tidegate_policy::TurnId;

/// Why a prompt, a turn or a shorter transcript could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file among the overriding templates that overrides nothing.
    #[error("{file}: there is no template of this name to override; there are: {valid}")]
    UnknownTemplate {
        /// The file.
        file: String,
        /// The names there are.
        valid: String,
    },
    /// A template that is none.
    #[error("{file}:{line}: {what}; correct the template, or remove the file to use the built-in one")]
    TemplateSyntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// The engine's own words.
        #[source]
        cause: Box<minijinja::Error>,
    },
    /// A template that names a variable which does not exist.
    #[error("{file}:{line}: there is no variable `{variable}` here; there are: {valid}")]
    UnknownVariable {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The variable.
        variable: String,
        /// The variables there are.
        valid: String,
    },
    /// A template that does not show what it is there for.
    #[error(
        "{file}: the text of `{variable}` does not come out of it, so that it would be lost; show it, or remove the \
         file to use the built-in template"
    )]
    TemplateDrops {
        /// The file.
        file: String,
        /// What has to be shown.
        variable: String,
    },
    /// A template that cannot be rendered: an attribute that is not there, more work than is allowed.
    #[error("{file}:{line}: {what}; its variables: {valid}")]
    TemplateRender {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// The variables there are.
        valid: String,
        /// The engine's own words.
        #[source]
        cause: Box<minijinja::Error>,
    },
    /// A date that is none.
    #[error("{year}-{month}-{day} is no date; write a year from 1 to 9999, a month and a day of it")]
    Date {
        /// The year given.
        year: i16,
        /// The month given.
        month: i8,
        /// The day given.
        day: i8,
    },
    /// A system prompt or a transcript that is too large, whatever is done.
    #[error(transparent)]
    TooLarge(#[from] Box<TooLarge>),
    /// A step of a builder was answered that was not asked.
    #[error(
        "{given} was handed in, but {expected} is what is needed now; ask for the need first and answer that"
    )]
    Misuse {
        /// What was handed in.
        given: &'static str,
        /// What was needed.
        expected: &'static str,
    },
    /// The transcript that came back from compaction does not have the turn's message.
    #[error("turn {turn} has lost its user message; it stops here rather than answer another one")]
    NoCurrentMessage {
        /// The turn.
        turn: TurnId,
    },
    /// A sequence of messages that no provider would accept.
    #[error("the messages of turn {turn} cannot stand in this order")]
    Transcript {
        /// The turn.
        turn: TurnId,
        /// The rule that was broken.
        #[source]
        cause: TranscriptError,
    },
}
