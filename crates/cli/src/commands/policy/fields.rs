//! `tidegate policy fields`.

use crate::args::Global;
use crate::exit::Exit;
use crate::output;
use tidegate_policy::{Hook, Operator};

/// Shows what rules may look at: at one hook, or which hooks there are.
pub(super) fn run(global: &Global, hook: Option<Hook>) -> anyhow::Result<Exit> {
    let Some(hook) = hook else {
        return hooks(global);
    };
    let fields: Vec<_> = hook.fields().collect();
    if global.json {
        let shown: Vec<_> = fields
            .iter()
            .map(|field| {
                serde_json::json!({
                    "field": field.name.as_str(),
                    "type": field.kind.to_string(),
                    "operators": operators(field).collect::<Vec<_>>(),
                    "meaning": field.meaning,
                })
            })
            .collect();
        output::json(&serde_json::json!({
            "hook": hook,
            "meaning": hook.meaning(),
            "can_redact": hook.can_redact(),
            "fields": shown,
        }))?;
        return Ok(Exit::Ok);
    }
    output::line(&format!("{hook}: {}", hook.meaning()))?;
    output::line(if hook.can_redact() {
        "actions: ALLOW, BLOCK, REDACT, REQUIRE_APPROVAL\n"
    } else {
        "actions: ALLOW, BLOCK, REQUIRE_APPROVAL\n"
    })?;
    let width = fields
        .iter()
        .map(|field| field.name.as_str().len())
        .max()
        .unwrap_or(0);
    for field in fields {
        output::line(&format!("  {:<width$}  {}", field.name.as_str(), field.meaning))?;
        let operators: Vec<_> = operators(field).collect();
        output::line(&format!(
            "  {:width$}  {} · {}",
            "",
            field.kind,
            operators.join(", ")
        ))?;
    }
    Ok(Exit::Ok)
}

fn operators(field: &tidegate_policy::Field) -> impl Iterator<Item = &'static str> {
    let kind = field.kind;
    Operator::ALL
        .into_iter()
        .filter(move |operator| operator.fits(kind))
        .map(Operator::as_str)
}

fn hooks(global: &Global) -> anyhow::Result<Exit> {
    if global.json {
        let shown: Vec<_> = Hook::ALL
            .iter()
            .map(|hook| serde_json::json!({ "hook": hook, "meaning": hook.meaning() }))
            .collect();
        output::json(&serde_json::json!({ "hooks": shown }))?;
        return Ok(Exit::Ok);
    }
    for hook in Hook::ALL {
        output::line(&format!("{hook:<22}  {}", hook.meaning()))?;
    }
    output::line("\nfields of one: tidegate policy fields HOOK")?;
    Ok(Exit::Ok)
}
