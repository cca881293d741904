//! The system prompt: built once a session, stored, and replayed byte for byte.

use crate::RuntimeError;
use jiff::civil::Date;
use minijinja::{Environment, UndefinedBehavior, context};

const SYSTEM: &str = include_str!("../templates/system.j2");

/// Instructions a template may use: far more than the built-in one needs, far fewer than a loop that hurts.
const FUEL: u64 = 50_000;

/// Renders the system prompt. No clock and no counter: the date is the day the session began.
pub(crate) fn system_prompt(date: Date, files: bool) -> Result<String, RuntimeError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment
        .render_str(SYSTEM, context! { date => date.to_string(), files })
        .map_err(RuntimeError::Template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_prompt_reads_like_this() {
        let day = jiff::civil::date(2026, 11, 29);
        insta::assert_snapshot!(system_prompt(day, true).unwrap());
    }

    #[test]
    fn without_file_tools_it_does_not_speak_of_level_folders() {
        let day = jiff::civil::date(2026, 11, 29);
        assert!(!system_prompt(day, false).unwrap().contains("public/"));
    }
}
