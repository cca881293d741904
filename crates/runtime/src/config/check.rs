//! What types cannot say: references, ranges, and what this version cannot do.

use super::error::ConfigError;
use super::load::{FilePlace, Loaded};
use super::model::{Configuration, PolicySettings, ProviderKind, ProviderSettings, Reserved};
use tidegate_message::{ModelId, ModelPolicy, Tier};
use tidegate_policy::{Classification, HostRules};
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

pub(super) fn check(loaded: &Loaded) -> Result<(), ConfigError> {
    let configuration = &loaded.configuration;
    let wrong = |key: String, message: String| {
        Err(ConfigError::Value {
            origin: loaded.origin(&key),
            key,
            message,
        })
    };
    for (name, provider) in &configuration.providers {
        if let Err((part, message)) = check_provider(provider) {
            return wrong(format!("providers.{name}.{part}"), message);
        }
    }
    for (tier, models) in tiers(configuration) {
        for model in models {
            if let Err(message) = check_model(configuration, model) {
                return wrong(format!("tiers.{tier}"), message);
            }
        }
    }
    match configuration.agent.model_policy.parse::<ModelPolicy>() {
        Err(error) => return wrong("agent.model_policy".into(), error.to_string()),
        Ok(ModelPolicy::Model(model)) => {
            if let Err(message) = check_model(configuration, &model.to_string()) {
                return wrong("agent.model_policy".into(), message);
            }
        }
        Ok(ModelPolicy::Auto | ModelPolicy::AutoPro | ModelPolicy::Tier(_)) => {}
    }
    for (key, value, range) in [
        (
            "agent.max_rounds",
            u64::from(configuration.agent.max_rounds),
            1..=1_000,
        ),
        (
            "agent.tool_timeout_s",
            configuration.agent.tool_timeout_s,
            1..=86_400,
        ),
        (
            "agent.turn_timeout_s",
            configuration.agent.turn_timeout_s,
            1..=604_800,
        ),
        (
            "agent.max_output_chars",
            configuration.agent.max_output_chars as u64,
            200..=100_000_000,
        ),
    ] {
        if !range.contains(&value) {
            let message = format!(
                "{value} is out of range; write {} to {}",
                range.start(),
                range.end()
            );
            return wrong(key.into(), message);
        }
    }
    check_policy(&configuration.policy).or_else(|(key, message)| wrong(key, message))?;
    if loaded
        .file
        .as_ref()
        .is_some_and(|file| file.place == FilePlace::WorkingFolder)
    {
        only_lowers(loaded)?;
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
            "is not in this version; use `openai` with the provider's OpenAI-compatible base_url".into(),
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

fn check_policy(policy: &PolicySettings) -> Result<(), (String, String)> {
    if !policy.rules.is_empty() {
        return Err((
            "policy.rules".into(),
            "custom rules are not in this version, and rules that are not enforced would be worse than none; remove them".into(),
        ));
    }
    for (name, tool) in &policy.tools {
        if tool.approval {
            return Err((
                format!("policy.tools.{name}.approval"),
                "approvals are not in this version, so the call could not be held; remove it".into(),
            ));
        }
    }
    HostRules::new(
        policy
            .hosts
            .iter()
            .map(|(pattern, level)| (pattern.as_str(), *level)),
    )
    .map_err(|error| ("policy.hosts".to_owned(), error.to_string()))?;
    Ok(())
}

/// A file found in the working folder came with the work, not from the owner: trusted for its wording, it
/// still cannot let data go where the owner's own configuration would not.
fn only_lowers(loaded: &Loaded) -> Result<(), ConfigError> {
    let configuration = &loaded.configuration;
    let defaults = PolicySettings::default();
    let mut limits = vec![
        (
            "policy.clearance".to_owned(),
            configuration.policy.clearance,
            defaults.clearance,
        ),
        (
            "policy.owner_named".to_owned(),
            configuration.policy.owner_named,
            defaults.owner_named,
        ),
    ];
    for (name, provider) in &configuration.providers {
        if let Some(given) = provider.clearance {
            limits.push((
                format!("providers.{name}.clearance"),
                given,
                default_clearance(provider),
            ));
        }
    }
    for (name, user) in &configuration.users.0 {
        if let Some(given) = user.clearance {
            let limit = super::Users::default()
                .clearance(name)
                .unwrap_or(Classification::Internal);
            limits.push((format!("users.{name}.clearance"), given, limit));
        }
    }
    for (key, given, limit) in limits {
        let origin = loaded.origin(&key);
        let from_file = loaded
            .file
            .as_ref()
            .is_some_and(|file| origin.starts_with(&*file.path.to_string_lossy()));
        if from_file && given > limit {
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

/// What is set but has no effect in this version, a line each: `tidegate config check` shows them.
pub fn notes(loaded: &Loaded) -> Vec<String> {
    let configuration = &loaded.configuration;
    let sections: [(&str, &Reserved); 8] = [
        ("delegate", &configuration.delegate),
        ("sessions", &configuration.sessions),
        ("subagent", &configuration.subagent),
        ("council", &configuration.council),
        ("prompt", &configuration.prompt),
        ("channels", &configuration.channels),
        ("memory", &configuration.memory),
        ("mcp", &configuration.mcp),
    ];
    let mut notes: Vec<String> = sections
        .iter()
        .chain([("server", &configuration.server)].iter())
        .filter(|(_, section)| !section.0.is_empty())
        .map(|(name, _)| format!("[{name}] has no effect in this version"))
        .collect();
    let quiet = [
        "policy.owner_named",
        "policy.integrity",
        "policy.integrity_action",
        "policy.unattended",
        "policy.bumpers",
        "policy.languages",
        "agent.turn_timeout_s",
        "store.session_idle_days",
        "store.retain_days",
        "tiers.auxiliary",
    ];
    notes.extend(
        quiet
            .iter()
            .filter(|key| loaded.origins.contains_key(**key))
            .map(|key| format!("{key} has no effect in this version ({})", loaded.origin(key))),
    );
    let model = |tier: Tier| match tier {
        Tier::Lite => &configuration.tiers.lite,
        Tier::Flash => &configuration.tiers.flash,
        Tier::Pro => &configuration.tiers.pro,
    };
    for tier in Tier::ALL {
        if model(tier).is_empty() {
            notes.push(format!(
                "tier {tier} has no model: set [tiers] {}",
                tier.as_str().to_ascii_lowercase()
            ));
        }
    }
    notes
}
