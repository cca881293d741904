//! What types cannot say: references, ranges, and what this version cannot do.

use super::error::ConfigError;
use super::layers::Layer;
use super::load::{FilePlace, Loaded, join};
use super::model::{
    CompactionThreshold, Configuration, PolicySettings, ProviderKind, ProviderSettings, Reserved,
};
use super::wording::listed;
use std::path::Path;
use tidegate_message::{ModelId, ModelPolicy, Tier};
use tidegate_policy::{Classification, HostRules, PathRules};
use url::Url;

/// The clearance of a provider nobody configured one for.
pub(crate) fn default_clearance(provider: &ProviderSettings) -> Classification {
    match provider.kind {
        ProviderKind::Scripted => Classification::Restricted,
        ProviderKind::Openai | ProviderKind::Gemini | ProviderKind::Anthropic => provider
            .base_url
            .as_deref()
            .and_then(|url| Url::parse(url).ok())
            .map_or(Classification::Internal, |url| {
                tidegate_policy::default_provider_clearance(&url)
            }),
    }
}

/// What is wrong: the dotted key, and what is valid.
type Wrong = (String, String);

/// Checks `loaded`; `limits` are the clearances of a user's file that another file stands in for.
pub(super) fn check(loaded: &Loaded, limits: &Layer) -> Result<(), ConfigError> {
    check_values(&loaded.configuration).map_err(|(key, message)| ConfigError::Value {
        origin: loaded.place(&key),
        key,
        message,
    })?;
    match &loaded.file {
        Some(file) if file.place == FilePlace::WorkingFolder => only_lowers(loaded, &file.path, limits),
        Some(_) | None => Ok(()),
    }
}

fn check_values(configuration: &Configuration) -> Result<(), Wrong> {
    for (name, provider) in &configuration.providers {
        let section = join("providers", name);
        check_name(name).map_err(|message| (section.clone(), message))?;
        check_provider(provider).map_err(|(part, message)| (join(&section, part), message))?;
    }
    for (tier, models) in tiers(configuration) {
        for model in models {
            check_model(configuration, model).map_err(|message| (join("tiers", tier), message))?;
        }
    }
    for model in configuration.models.keys() {
        let parsed = model.parse::<ModelId>().map(drop);
        parsed.map_err(|error| (join("models", model), error.to_string()))?;
    }
    let key = || "agent.model_policy".to_owned();
    match configuration.agent.model_policy.parse::<ModelPolicy>() {
        Err(error) => return Err((key(), error.to_string())),
        Ok(ModelPolicy::Model(model)) => {
            check_model(configuration, &model.to_string()).map_err(|message| (key(), message))?;
        }
        Ok(ModelPolicy::Auto | ModelPolicy::AutoPro | ModelPolicy::Tier(_)) => {}
    }
    check_ranges(configuration)?;
    super::memory::check(&configuration.memory)
        .map_err(|(part, message)| (format!("memory.{part}"), message))?;
    check_policy(&configuration.policy)
}

fn check_ranges(configuration: &Configuration) -> Result<(), Wrong> {
    let agent = &configuration.agent;
    let prompt = &configuration.prompt;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let max_output_chars = count(agent.max_output_chars);
    for (key, value, range) in [
        ("agent.max_rounds", u64::from(agent.max_rounds), 1..=1_000),
        ("agent.tool_timeout_s", agent.tool_timeout_s, 1..=86_400),
        ("agent.turn_timeout_s", agent.turn_timeout_s, 1..=604_800),
        (
            "policy.approval_timeout_s",
            configuration.policy.approval_timeout_s,
            1..=604_800,
        ),
        ("agent.max_output_chars", max_output_chars, 200..=100_000_000),
        ("prompt.protect_first", count(prompt.protect_first), 0..=1_000),
        ("prompt.protect_last", count(prompt.protect_last), 1..=10_000),
        ("prompt.image_tokens", prompt.image_tokens, 0..=1_000_000),
    ] {
        if !range.contains(&value) {
            let message = format!(
                "{value} is out of range; write {} to {}",
                range.start(),
                range.end()
            );
            return Err((key.into(), message));
        }
    }
    if let CompactionThreshold::Share(share) = prompt.compaction_threshold
        && !(0.1..=0.95).contains(&share)
    {
        let message = format!("{share} is out of range; write \"auto\", or 0.1 to 0.95");
        return Err(("prompt.compaction_threshold".into(), message));
    }
    for (name, model) in &configuration.models {
        if model.context_window.is_some_and(|window| window < 1_000) {
            let key = join(&join("models", name), "context_window");
            return Err((key, "a window has 1000 tokens at least".into()));
        }
    }
    Ok(())
}

/// A provider's name is the part before the colon of `provider:model`.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!(
            "{name:?} is no provider's name: write 1 to 64 letters A-Z a-z, digits, `_`, `-` or `.`"
        ));
    }
    Ok(())
}

fn tiers(configuration: &Configuration) -> [(&'static str, &Vec<String>); 4] {
    let tiers = &configuration.tiers;
    [
        ("lite", &tiers.lite),
        ("flash", &tiers.flash),
        ("pro", &tiers.pro),
        ("auxiliary", &tiers.auxiliary),
    ]
}

fn check_model(configuration: &Configuration, model: &str) -> Result<(), String> {
    let model: ModelId = model
        .parse()
        .map_err(|error: tidegate_message::ParseModelError| error.to_string())?;
    if configuration.providers.contains_key(model.provider().as_str()) {
        return Ok(());
    }
    let known: Vec<&str> = configuration.providers.keys().map(String::as_str).collect();
    Err(if known.is_empty() {
        format!(
            "no provider {} is configured; add [providers.{}]",
            model.provider(),
            model.provider()
        )
    } else {
        format!(
            "no provider {} is configured; there are: {}",
            model.provider(),
            known.join(", ")
        )
    })
}

fn check_provider(provider: &ProviderSettings) -> Result<(), (&'static str, String)> {
    if provider.timeout_s == 0 || provider.timeout_s > 86_400 {
        return Err((
            "timeout_s",
            format!("{} is out of range; write 1 to 86400", provider.timeout_s),
        ));
    }
    if provider.max_concurrent == 0 || provider.max_concurrent > 1_024 {
        return Err((
            "max_concurrent",
            format!("{} is out of range; write 1 to 1024", provider.max_concurrent),
        ));
    }
    match provider.kind {
        ProviderKind::Gemini | ProviderKind::Anthropic => Err((
            "kind",
            "this kind is not in this version; write \"openai\" with the provider's OpenAI-compatible base_url".into(),
        )),
        ProviderKind::Scripted if provider.scenario.is_empty() => Err((
            "scenario",
            "a scripted provider needs the path of its scenario file".into(),
        )),
        ProviderKind::Scripted => Ok(()),
        ProviderKind::Openai => {
            let Some(text) = &provider.base_url else {
                return Err((
                    "base_url",
                    "an openai provider needs one, as in http://127.0.0.1:8080/v1".into(),
                ));
            };
            match Url::parse(text) {
                // It would be shown wherever the address is.
                Ok(url) if !url.username().is_empty() || url.password().is_some() => Err((
                    "base_url",
                    "an address here has no user name or password in it; name the key with api_key_env or api_key_file".into(),
                )),
                Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(()),
                Ok(url) => Err((
                    "base_url",
                    format!("{} is no http or https address", url.scheme()),
                )),
                Err(error) => Err(("base_url", format!("{text:?} is no address: {error}"))),
            }
        }
    }
}

fn check_policy(policy: &PolicySettings) -> Result<(), Wrong> {
    for (pattern, level) in &policy.paths {
        // Patterns are relative to the workspace; any will do to read them.
        let rules = PathRules::builder("/").pattern(pattern.as_str(), *level).build();
        rules.map_err(|error| located("policy.paths", pattern, &error))?;
    }
    for (pattern, level) in &policy.hosts {
        let rules = HostRules::new([(pattern.as_str(), *level)]);
        rules.map_err(|error| located("policy.hosts", pattern, &error))?;
    }
    Ok(())
}

/// The error of one pattern: its message names the section and the pattern itself, which the key does too.
fn located(section: &str, pattern: &str, error: &dyn std::error::Error) -> Wrong {
    let message = error.to_string();
    let named = format!("[{section}] ");
    let message = message.strip_prefix(&named).unwrap_or(&message);
    (join(section, pattern), message.to_owned())
}

/// A file found in the working folder came with the work, not from the owner: trusted for its wording, it
/// still cannot let data go where the owner's own configuration would not.
fn only_lowers(loaded: &Loaded, file: &Path, limits: &Layer) -> Result<(), ConfigError> {
    let configuration = &loaded.configuration;
    let defaults = PolicySettings::default();
    let policy = |name: &'static str| vec!["policy", name];
    let mut clearances = vec![
        (
            policy("clearance"),
            configuration.policy.clearance,
            defaults.clearance,
        ),
        (
            policy("owner_named"),
            configuration.policy.owner_named,
            defaults.owner_named,
        ),
    ];
    for (name, provider) in &configuration.providers {
        if let Some(given) = provider.clearance {
            let keys = vec!["providers", name.as_str(), "clearance"];
            clearances.push((keys, given, default_clearance(provider)));
        }
    }
    for (name, user) in &configuration.users.0 {
        if let Some(given) = user.clearance {
            let default = super::Users::default().clearance(name);
            let keys = vec!["users", name.as_str(), "clearance"];
            clearances.push((keys, given, default.unwrap_or(Classification::Internal)));
        }
    }
    let (remote, index) = (&configuration.memory.remote, &configuration.memory.index);
    for (section, given, usual) in [
        (
            "remote",
            remote.clearance,
            super::MemoryRemoteSettings {
                clearance: None,
                ..remote.clone()
            }
            .effective_clearance(),
        ),
        (
            "index",
            index.clearance,
            super::MemoryIndexSettings {
                clearance: None,
                ..index.clone()
            }
            .effective_clearance(),
        ),
    ] {
        if let Some(given) = given {
            clearances.push((vec!["memory", section, "clearance"], given, usual));
        }
    }
    for (keys, given, default) in clearances {
        let limit = limits
            .get(&keys)
            .and_then(|value| value.clone().into_string().ok()?.parse().ok())
            .unwrap_or(default);
        let key = keys.iter().fold(String::new(), |key, name| join(&key, name));
        let origin = loaded.origin(&key);
        if origin.starts_with(&*file.to_string_lossy()) && given > limit {
            return Err(ConfigError::Raises {
                origin,
                key,
                given,
                limit,
            });
        }
    }
    Ok(())
}

/// The tools of this version, which `[policy.tools]` can name.
pub(super) const TOOLS: [&str; 18] = [
    "ask_user",
    "current_time",
    "delete_meta_artifact_item",
    "delete_session_context_source",
    "edit_file",
    "get_tool_schema",
    "http_get",
    "list_files",
    "list_tools",
    "query_registry",
    "read_file",
    "run_command",
    "save_session_context",
    "search_files",
    "search_meta_artifacts",
    "search_sessions_context",
    "update_meta_artifact",
    "write_file",
];

/// Keys that are read and checked, and that nothing acts on.
const QUIET: [&str; 5] = [
    "policy.owner_named",
    "policy.integrity",
    "policy.integrity_action",
    "policy.languages",
    "store.retain_days",
];

/// What is set but has no effect in this version, and what is missing, a line each: `tidegate config check`
/// shows them.
pub fn notes(loaded: &Loaded) -> Vec<String> {
    let configuration = &loaded.configuration;
    let sections: [(&str, &Reserved); 7] = [
        ("delegate", &configuration.delegate),
        ("sessions", &configuration.sessions),
        ("subagent", &configuration.subagent),
        ("council", &configuration.council),
        ("channels", &configuration.channels),
        ("server", &configuration.server),
        ("mcp", &configuration.mcp),
    ];
    let no_effect = |key: &str| format!("{key} has no effect in this version ({})", loaded.origin(key));
    let mut notes: Vec<String> = sections
        .iter()
        .filter(|(_, section)| !section.0.is_empty())
        .map(|(name, _)| format!("[{name}] has no effect in this version"))
        .collect();
    for (name, model) in &configuration.models {
        let prices = [
            ("price_input_per_mtok", model.price_input_per_mtok),
            ("price_output_per_mtok", model.price_output_per_mtok),
        ];
        for (price, _) in prices.iter().filter(|(_, price)| price.is_some()) {
            notes.push(no_effect(&join(&join("models", name), price)));
        }
    }
    notes.extend(
        QUIET
            .iter()
            .filter(|key| loaded.origin(key) != "default")
            .map(|key| no_effect(key)),
    );
    notes.extend(loaded.rules.warnings().iter().map(|warning| {
        let line = warning
            .line
            .map_or_else(String::new, |line| format!(" (line {line})"));
        format!("rule `{}`{line}: {}", warning.rule, warning.message)
    }));
    for name in configuration.policy.tools.keys() {
        if !TOOLS.contains(&name.as_str()) {
            let key = join("policy.tools", name);
            notes.push(format!(
                "[{key}] names a tool that is not in this version ({}); there are: {}",
                loaded.origin(&key),
                listed(TOOLS)
            ));
        }
    }
    for name in configuration.users.0.keys() {
        if name != super::LOCAL_USER {
            notes.push(no_effect(&join("users", name)));
        }
    }
    for tier in Tier::ALL {
        if models_of(configuration, tier).is_empty() {
            notes.push(format!(
                "tier {tier} has no model; to use it, set {} in [tiers]",
                tier.as_str().to_ascii_lowercase()
            ));
        }
    }
    notes
}

fn models_of(configuration: &Configuration, tier: Tier) -> &[String] {
    match tier {
        Tier::Lite => &configuration.tiers.lite,
        Tier::Flash => &configuration.tiers.flash,
        Tier::Pro => &configuration.tiers.pro,
    }
}
