//! One thing that was looked at.

use crate::output;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::IsTerminal as _;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It works.
    Ok,
    /// It works, and something about it should be known.
    Warn,
    /// It does not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub(super) struct Component {
    /// What it is called.
    pub(super) component: String,
    /// How it is.
    pub(super) state: State,
    /// What it is, and what was found.
    pub(super) about: String,
    /// What to do, if something is to be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) todo: String,
}

impl Component {
    pub(super) fn new(
        state: State,
        component: impl Into<String>,
        about: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        Self {
            component: component.into(),
            state,
            about: about.into(),
            todo: todo.into(),
        }
    }

    /// One with nothing to do.
    pub(super) fn ok(component: impl Into<String>, about: impl Into<String>) -> Self {
        Self::new(State::Ok, component, about, "")
    }
}

/// Prints them, one after the other.
pub(super) fn show(components: &[Component]) -> anyhow::Result<()> {
    let width = components
        .iter()
        .map(|component| component.component.chars().count())
        .max()
        .unwrap_or_default();
    for component in components {
        let about = component
            .about
            .replace('\n', &format!("\n      {:<width$}  ", ""));
        output::line(&format!(
            "{}  {:<width$}  {about}",
            mark(component.state),
            component.component
        ))?;
        if !component.todo.is_empty() {
            output::line(&format!("      {:<width$}  → {}", "", component.todo))?;
        }
    }
    let count = |state| {
        components
            .iter()
            .filter(|component| component.state == state)
            .count()
    };
    let (warn, fail) = (count(State::Warn), count(State::Fail));
    let summary = match (fail, warn) {
        (0, 0) => "everything works".to_owned(),
        (0, warn) => format!("it works; {warn} to know about"),
        (fail, _) => format!("{fail} to mend"),
    };
    if std::io::stderr().is_terminal() {
        let color = if fail > 0 {
            AnsiColor::Red
        } else {
            AnsiColor::Green
        };
        output::styled(&summary, Style::new().fg_color(Some(color.into())));
        Ok(())
    } else {
        output::line(&summary)
    }
}

fn mark(state: State) -> &'static str {
    match state {
        State::Ok => "ok  ",
        State::Warn => "warn",
        State::Fail => "FAIL",
    }
}
