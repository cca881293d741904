//! What the configuration names: itself, providers, tiers, the user.

use super::component::{Component, State};
use crate::environment;
use crate::output;
use std::time::Duration;
use tidegate_policy::Classification;
use tidegate_runtime::config::{self, FilePlace, LOCAL_USER, Loaded, ProviderKind};
use tidegate_runtime::{DataFolder, Runtime, user_config_folder};
use url::Url;

/// How long a provider may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Models that are named at most.
const MOST_NAMES: usize = 8;

/// The file, and what is to be known of it.
pub(super) fn configuration(loaded: &Loaded) -> Vec<Component> {
    let about = match &loaded.file {
        Some(file) => {
            let place = match file.place {
                FilePlace::Named => "named with --config",
                FilePlace::WorkingFolder => "of this folder, trusted as it is now",
                FilePlace::UserFolder => "of the user's configuration folder",
            };
            format!("{} ({place})", file.path.display())
        }
        None => {
            let folder =
                user_config_folder().map_or_else(String::new, |folder| format!(" in {}", folder.display()));
            return vec![Component::new(
                State::Warn,
                "configuration",
                format!("no tidegate.toml in this folder, none{folder}: defaults only"),
                "tidegate init writes one",
            )];
        }
    };
    // That a tier has no model is told with the tiers.
    let notes = config::notes(loaded)
        .into_iter()
        .filter(|note| !note.starts_with("tier "));
    let mut components = vec![Component::ok("configuration", about)];
    components.extend(notes.map(|note| Component::new(State::Warn, "configuration", note, "")));
    components
}

/// Each provider: where it is, whether it answers, what it may get.
pub(super) async fn providers(loaded: &Loaded, data: &DataFolder) -> Vec<Component> {
    let variables = environment::variables();
    let mut components = Vec::new();
    for (name, settings) in &loaded.configuration.providers {
        let clearance = loaded
            .values()
            .into_iter()
            .find(|shown| shown.key == format!("providers.{name}.clearance"))
            .and_then(|shown| shown.value.as_str().map(str::to_owned))
            .unwrap_or_default();
        let (kind, place) = match settings.kind {
            ProviderKind::Openai => (
                "openai",
                address(settings.base_url.as_deref().unwrap_or_default()),
            ),
            ProviderKind::Scripted => ("scripted", settings.scenario.clone()),
            ProviderKind::Gemini => ("gemini", String::new()),
            ProviderKind::Anthropic => ("anthropic", String::new()),
        };
        let key = match (&settings.api_key_env, &settings.api_key_file) {
            (Some(variable), _) => format!("key from variable {variable}"),
            (None, Some(_)) => "key from a file".to_owned(),
            (None, None) => "no key".to_owned(),
        };
        let what = format!("{kind} {place} · {key} · cleared for {clearance}");
        let title = format!("provider {name}");
        components.push(
            match Runtime::models_of(loaded, data, name, &variables, PATIENCE).await {
                Err(error) => {
                    let why = output::with_causes(&error.into());
                    Component::new(
                        State::Fail,
                        title,
                        format!("{what}\n{why}"),
                        "mend that, then run tidegate doctor again",
                    )
                }
                Ok(None) if settings.kind == ProviderKind::Scripted => {
                    Component::ok(title, format!("{what}\nits scenario can be played"))
                }
                Ok(None) => Component::ok(title, format!("{what}\nit answers; it has no list of models")),
                Ok(Some(models)) => {
                    let missing = missing(loaded, name, &models);
                    let about = format!("{what}\nit answers, with {}", listed(&models));
                    if missing.is_empty() {
                        Component::ok(title, about)
                    } else {
                        Component::new(
                            State::Warn,
                            title,
                            format!("{about}\nit does not name: {}", missing.join(", ")),
                            "check the names in [tiers]; some servers take any name",
                        )
                    }
                }
            },
        );
    }
    components
}

/// The address without what could be secret in it.
fn address(text: &str) -> String {
    Url::parse(text).map_or_else(
        |_| String::new(),
        |mut url| {
            url.set_query(None);
            url.set_fragment(None);
            // An address with user or password was refused before.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.to_string()
        },
    )
}

fn listed(models: &[String]) -> String {
    match models.len() {
        0 => "no models".to_owned(),
        1..=MOST_NAMES => format!("the models {}", models.join(", ")),
        more => format!("{more} models"),
    }
}

/// The models of this provider in the tiers that it does not name.
fn missing(loaded: &Loaded, provider: &str, models: &[String]) -> Vec<String> {
    let tiers = &loaded.configuration.tiers;
    let prefix = format!("{provider}:");
    let mut missing: Vec<String> = [&tiers.lite, &tiers.flash, &tiers.pro]
        .into_iter()
        .flatten()
        .filter_map(|model| model.strip_prefix(&prefix))
        .filter(|model| !models.iter().any(|known| known == model))
        .map(str::to_owned)
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// What each tier uses.
pub(super) fn tiers(loaded: &Loaded) -> Component {
    let tiers = &loaded.configuration.tiers;
    let named: Vec<String> = [
        ("LITE", &tiers.lite),
        ("FLASH", &tiers.flash),
        ("PRO", &tiers.pro),
    ]
    .into_iter()
    .filter(|(_, models)| !models.is_empty())
    .map(|(tier, models)| format!("{tier} {}", models.join(", ")))
    .collect();
    let policy = &loaded.configuration.agent.model_policy;
    let starts_at_lite = matches!(policy.as_str(), "auto" | "auto_pro");
    if named.is_empty() && !policy.contains(':') {
        return Component::new(
            State::Fail,
            "tiers",
            "no model is configured: nothing can run",
            "tidegate init, or see it work without a model: tidegate demo",
        );
    }
    if tiers.lite.is_empty() && starts_at_lite {
        return Component::new(
            State::Fail,
            "tiers",
            format!(
                "{}; LITE has no model, and policy {policy} starts there",
                named.join(" · ")
            ),
            "set lite in [tiers], or another model_policy in [agent]",
        );
    }
    Component::ok("tiers", format!("{} · policy {policy}", named.join(" · ")))
}

/// In whose name the command line works.
pub(super) fn user(loaded: &Loaded) -> Component {
    let users = &loaded.configuration.users;
    let role = users.role(LOCAL_USER).map_or("none", |role| role.as_str());
    let clearance = users.clearance(LOCAL_USER).unwrap_or(Classification::Public);
    let sessions = loaded.configuration.policy.clearance.min(clearance);
    Component::ok(
        "user",
        format!("{LOCAL_USER}, {role}, clearance {clearance}; a new session reads up to {sessions} at most"),
    )
}
