//! Questions of the model to the owner, at the terminal.

use crate::output;
use crate::terminal;
use std::io;
use tidegate_builtins::{Answered, Asker, Question};
use tidegate_policy::escaped;
use tidegate_tools::BoxFuture;

/// The owner at the terminal, if somebody is there.
pub(crate) struct TerminalAsker {
    is_attended: bool,
}

impl TerminalAsker {
    /// `is_attended`: somebody is there to be asked.
    pub(crate) fn new(is_attended: bool) -> Self {
        Self { is_attended }
    }
}

impl Asker for TerminalAsker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answered> {
        Box::pin(async move {
            if !self.is_attended {
                return Answered::Later;
            }
            let put = terminal::Question::put().await;
            let answered = ask(&question).await.unwrap_or(Answered::NobodyThere);
            put.answered();
            answered
        })
    }
}

async fn ask(question: &Question) -> io::Result<Answered> {
    output::styled("\n── the model asks ──", terminal::QUESTION);
    // Marked line by line: a question must not look like one of the program's own.
    for line in question.text.trim().lines() {
        output::tell(&format!("│ {line}"));
    }
    for (place, choice) in question.choices.iter().enumerate() {
        output::tell(&format!("  {}  {}", place + 1, escaped(choice)));
    }
    let minutes = question.expires.as_secs().div_ceil(60);
    let hint = if question.choices.is_empty() {
        format!("(within {minutes} min) ")
    } else {
        format!("(a number or your own words, within {minutes} min) ")
    };
    terminal::prompt(&hint);
    Ok(match terminal::answer().await? {
        None => Answered::NobodyThere,
        Some(answer) => Answered::of(answer, &question.choices),
    })
}
