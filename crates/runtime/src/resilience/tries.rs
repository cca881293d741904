//! What was tried, for the error that ends a call.

use super::LONGEST_WAIT;
use indexmap::IndexMap;
use std::time::Duration;
use tidegate_message::ModelId;
use tidegate_policy::Classification;
use tidegate_providers::{ErrorClass, ProviderError};

/// The candidates of one call and what became of each, in the order they were dealt with.
#[derive(Debug, Default)]
pub(crate) struct Tries(IndexMap<ModelId, Tried>);

#[derive(Debug, Default)]
struct Tried {
    /// The classes of its errors, in order.
    classes: Vec<ErrorClass>,
    /// What the last error said.
    said: Option<String>,
    /// Why it was not asked, or not asked again: a clause.
    passed_over: Option<String>,
}

impl Tries {
    fn of(&mut self, model: &ModelId) -> &mut Tried {
        self.0.entry(model.clone()).or_default()
    }

    /// A try failed.
    pub(crate) fn failed(&mut self, model: &ModelId, error: &ProviderError) {
        let tried = self.of(model);
        tried.classes.push(error.class);
        tried.said = Some(error.to_string());
        tried.passed_over = None;
    }

    /// The context may not flow to a candidate.
    pub(crate) fn not_cleared(&mut self, model: &ModelId, level: Classification) {
        self.of(model).passed_over = Some(format!("it is not cleared for {level}"));
    }

    /// A candidate's provider asks to be left alone for longer than is waited.
    pub(crate) fn asks_to_wait(&mut self, model: &ModelId, wait: Duration) {
        self.of(model).passed_over = Some(format!(
            "its provider asks to be left alone for another {}, and a call waits {} at most",
            shown(wait),
            shown(LONGEST_WAIT)
        ));
    }

    /// A candidate's endpoint has not answered several times in a row.
    pub(crate) fn does_not_answer(&mut self, model: &ModelId, wait: Duration) {
        self.of(model).passed_over = Some(format!(
            "its provider has not answered any session lately; it is asked again in {}",
            shown(wait)
        ));
    }

    /// The error that ends the call: what was tried how often, what each candidate said, and what to do.
    pub(crate) fn message(&self) -> String {
        let tried: Vec<String> = self
            .0
            .iter()
            .filter(|(_, tried)| !tried.classes.is_empty())
            .map(|(model, tried)| {
                let times = times(tried.classes.len());
                format!("{model} {times} ({})", listed(&tried.classes))
            })
            .collect();
        let mut message = if tried.is_empty() {
            "no model could be asked".to_owned()
        } else {
            format!("the model call failed: tried {}", tried.join(", then "))
        };
        for (model, tried) in &self.0 {
            if let Some(said) = &tried.said {
                message.push_str(&format!("\n  {said}"));
            }
            if let Some(why) = &tried.passed_over {
                let again = if tried.classes.is_empty() { "" } else { " again" };
                message.push_str(&format!("\n  {model} was not asked{again}: {why}"));
            }
        }
        message.push_str("\n  the task is kept: resume the session to try again");
        message
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".into(),
        2 => "twice".into(),
        count => format!("{count} times"),
    }
}

/// Equal neighbours once: `timeout, transport`.
fn listed(classes: &[ErrorClass]) -> String {
    let mut names: Vec<&str> = classes.iter().map(|class| class.as_str()).collect();
    names.dedup();
    names.join(", ")
}

fn shown(wait: Duration) -> String {
    let seconds = wait.as_secs_f64().ceil();
    format!("{seconds} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str) -> ModelId {
        name.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn fail(tries: &mut Tries, name: &str, class: ErrorClass, says: &str) {
        let model = model(name);
        tries.failed(&model, &ProviderError::new(model.provider().clone(), class, says));
    }

    #[test]
    fn the_error_says_what_was_tried_how_often_and_what_to_do() {
        let mut tries = Tries::default();
        for class in [ErrorClass::Timeout, ErrorClass::Timeout, ErrorClass::Transport] {
            fail(&mut tries, "local:small", class, "cannot be reached");
        }
        fail(
            &mut tries,
            "remote:small",
            ErrorClass::RateLimited,
            "too many requests",
        );
        tries.asks_to_wait(&model("remote:small"), Duration::from_millis(3_599_001));
        tries.not_cleared(&model("far:big"), Classification::Confidential);
        fail(&mut tries, "near:big", ErrorClass::Auth, "no such key");
        fail(&mut tries, "near:big", ErrorClass::Auth, "no such key");
        insta::assert_snapshot!(tries.message(), @r"
        the model call failed: tried local:small 3 times (timeout, transport), then remote:small once (rate_limited), then near:big twice (auth)
          local: cannot be reached
          remote: too many requests
          remote:small was not asked again: its provider asks to be left alone for another 3600 s, and a call waits 600 s at most
          far:big was not asked: it is not cleared for CONFIDENTIAL
          near: no such key
          the task is kept: resume the session to try again
        ");
    }

    #[test]
    fn without_a_try_it_says_why_nobody_was_asked() {
        let mut tries = Tries::default();
        tries.asks_to_wait(&model("remote:small"), Duration::from_secs(3_000));
        insta::assert_snapshot!(tries.message(), @r"
        no model could be asked
          remote:small was not asked: its provider asks to be left alone for another 3000 s, and a call waits 600 s at most
          the task is kept: resume the session to try again
        ");
    }
}
