//! Check 10: secrets go only where they may.

use super::wording::{lines, shown};
use super::{Refusal, Verdict};
use crate::{ScopeProblem, SecretScopes, ToolCallFlow, escaped};

pub(super) fn secret_scope(call: &ToolCallFlow<'_>, scopes: &SecretScopes) -> Verdict {
    let Some(arguments) = call.facts.arguments else {
        return Verdict::Passed("no arguments were looked at for secrets".to_owned());
    };
    let refusal = match scopes.check(arguments, call.tool, call.resources) {
        Ok(found) if found.is_empty() => return Verdict::Passed("the call uses no secrets".to_owned()),
        Ok(found) => {
            let mut names: Vec<&str> = found.iter().map(|found| found.secret.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            return Verdict::Passed(format!("{} may go where the call puts it", names.join(", ")));
        }
        Err(refusal) => refusal,
    };
    let tool = shown(call.tool.name.as_str());
    let missing = refusal
        .problems
        .iter()
        .any(|problem| matches!(problem, ScopeProblem::Missing { .. }));
    let possible = if missing {
        "possible: name the secret in [secrets], or correct its name"
    } else {
        "possible: put it where it may go, or change `tools`, `arguments` or `hosts` of [secrets.NAME]"
    };
    let reason = refusal.to_string();
    let reason = escaped(&reason);
    Verdict::Refused(Refusal {
        why: reason.to_string(),
        explanation: lines(
            format!("{tool} cannot have its secrets: {reason}"),
            [possible.to_owned()],
        ),
        told: format!("{tool} cannot have its secrets: {reason}."),
    })
}
