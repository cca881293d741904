//! `tidegate policy check`.

use crate::args::Global;
use crate::environment;
use crate::exit::Exit;
use crate::output;
use std::path::PathBuf;
use tidegate_policy::Rule;

/// Checks the rules of `file`, or of the configuration in effect, and shows them in the order they are looked at.
pub(super) fn run(global: &Global, file: Option<PathBuf>) -> anyhow::Result<Exit> {
    let mut global = global.clone();
    global.config = file.or(global.config);
    let loaded = environment::configuration(&global, Vec::new())?;
    let rules = &loaded.rules;
    let file = loaded.file.as_ref().map(|file| file.path.display().to_string());
    if global.json {
        let shown: Vec<_> = rules
            .iter()
            .map(|rule| {
                serde_json::json!({
                    "id": rule.id(),
                    "hook": rule.hook(),
                    "priority": rule.priority(),
                    "action": rule.action().to_string(),
                    "line": rule.line(),
                })
            })
            .collect();
        let warnings: Vec<_> = rules
            .warnings()
            .iter()
            .map(|warning| {
                serde_json::json!({ "rule": warning.rule, "line": warning.line, "message": warning.message })
            })
            .collect();
        output::json(&serde_json::json!({ "file": file, "ok": true, "rules": shown, "warnings": warnings }))?;
        return Ok(Exit::Ok);
    }
    let count = rules.len();
    let place = file.as_deref().unwrap_or("no tidegate.toml");
    output::line(&match count {
        0 => format!("{place}: ok, no custom rules"),
        1 => format!("{place}: ok, 1 rule"),
        count => format!("{place}: ok, {count} rules, in the order they are looked at:"),
    })?;
    for rule in rules.iter() {
        output::line(&format!("  {}", in_a_line(rule)))?;
    }
    for warning in rules.warnings() {
        let line = warning
            .line
            .map_or_else(String::new, |line| format!(" (line {line})"));
        output::line(&format!(
            "note: rule `{}`{line}: {}",
            warning.rule, warning.message
        ))?;
    }
    Ok(Exit::Ok)
}

fn in_a_line(rule: &Rule) -> String {
    let line = rule
        .line()
        .map_or_else(String::new, |line| format!("  line {line}"));
    format!(
        "{:<22} {:>6}  {:<16}  {}{line}",
        rule.hook(),
        rule.priority(),
        rule.action().to_string(),
        rule.id()
    )
}
