//! A runtime under a changed configuration: hot keys are taken over, the others stay as they were until a restart.

use crate::config::{Configuration, Loaded, MemorySettings, default_clearance};
use crate::memory::CaughtUp;
use crate::provenance::IntegrityCheck;
use crate::runtime::{ProviderSlot, Shared};
use crate::{DataFolder, Runtime, RuntimeError, prompt, secrets};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidegate_message::{ModelId, ModelPolicy, Tier};
use tidegate_policy::Gate;

/// A runtime under another configuration.
#[derive(Clone)]
pub struct Reconfigured {
    /// It shares store, events, locks, providers with what is known of them, and tools with the one before. What is opened
    /// by it goes by the new configuration; sessions that are open go on by the one they were opened with.
    pub runtime: Runtime,
    /// The keys that differ and need a restart, sorted: they are as before. A whole section stands for what came or went.
    pub restart: Vec<String>,
}

impl Runtime {
    /// The same runtime under `loaded`.
    ///
    /// # Errors
    /// If it cannot be used: a model of a provider that is not there before a restart, templates or rules that are wrong.
    /// This runtime stays as it is in any case.
    pub fn reconfigured(&self, loaded: &Loaded, data: &DataFolder) -> Result<Reconfigured, RuntimeError> {
        let before = &self.shared;
        let (configuration, restart) = merged(&before.configuration, &loaded.configuration);
        let mut providers = BTreeMap::new();
        for (id, slot) in &before.providers {
            let settings = configuration.providers.get(id.as_str());
            let slot = ProviderSlot {
                provider: Arc::clone(&slot.provider),
                clearance: settings.map_or(slot.clearance, |settings| {
                    settings.clearance.unwrap_or_else(|| default_clearance(settings))
                }),
                permits: Arc::clone(&slot.permits),
                account: Arc::clone(&slot.account),
            };
            providers.insert(id.clone(), slot);
        }
        let models = |names: &[String]| -> Result<Vec<ModelId>, RuntimeError> {
            // Loading has checked that each name parses.
            let models: Vec<ModelId> = names.iter().filter_map(|name| name.parse().ok()).collect();
            match models
                .iter()
                .find(|model| !providers.contains_key(model.provider()))
            {
                None => Ok(models),
                Some(model) => Err(RuntimeError::NeedsRestart {
                    model: model.clone(),
                    provider: model.provider().clone(),
                }),
            }
        };
        if let Ok(ModelPolicy::Model(model)) = configuration.agent.model_policy.parse() {
            models(&[model.to_string()])?;
        }
        // What a program put together by hand stays as it did, as long as the file says nothing else.
        let (tiers, auxiliary) = if configuration.tiers == before.configuration.tiers {
            (before.tiers.clone(), before.auxiliary.clone())
        } else {
            let mut tiers = BTreeMap::new();
            for (tier, names) in [
                (Tier::Lite, &configuration.tiers.lite),
                (Tier::Flash, &configuration.tiers.flash),
                (Tier::Pro, &configuration.tiers.pro),
            ] {
                let models = models(names)?;
                if !models.is_empty() {
                    tiers.insert(tier, models);
                }
            }
            (tiers, models(&configuration.tiers.auxiliary)?)
        };
        // Templates of the program's own, unless there is or was a folder of others.
        let folders =
            [&before.configuration, &loaded.configuration].map(|of| of.prompt.templates_dir.is_empty());
        let templates = match folders {
            [true, true] => before.templates.clone(),
            _ => prompt::templates(loaded, data)?,
        };
        let gate = Gate::default()
            .with_rules(loaded.rules.clone())
            .with_secrets(secrets::scopes(&configuration)?);
        let mut own_files = before.own_files.clone();
        own_files
            .extend(prompt::templates_folder(loaded).and_then(|folder| std::path::absolute(folder).ok()));
        own_files.extend(loaded.file.as_ref().map(|file| file.path.clone()));
        own_files.sort();
        own_files.dedup();
        let shared = Shared {
            store: Arc::clone(&before.store),
            providers,
            tiers,
            tools: before.tools.clone(),
            file_tools: before.file_tools,
            extras: before.extras.clone(),
            own_files,
            session_workspaces: before.session_workspaces.clone(),
            gate,
            integrity: IntegrityCheck::of(&configuration.policy),
            configuration,
            secrets: before.secrets.clone(),
            bus: before.bus.clone(),
            locks: Arc::clone(&before.locks),
            jitter: Arc::clone(&before.jitter),
            templates,
            auxiliary,
            hooks: before.hooks.clone(),
            trusted_files: before.trusted_files.clone(),
            memory: before.memory.clone(),
            memory_auxiliary: before.memory_auxiliary.clone(),
            records: before.records.clone(),
            caught_up: CaughtUp::default(),
        };
        let shared = Arc::new(shared);
        if let Some(auxiliary) = &shared.memory_auxiliary {
            auxiliary.set(&shared);
        }
        Ok(Reconfigured {
            runtime: Self { shared },
            restart,
        })
    }
}

/// The new configuration with the old values of keys that need a restart, and which of those differ.
fn merged(before: &Configuration, new: &Configuration) -> (Configuration, Vec<String>) {
    let mut merged = new.clone();
    let mut restart = Vec::new();
    let mut differs = |key: &str, differs: bool| {
        if differs {
            restart.push(key.to_owned());
        }
    };
    merged.providers.retain(|name, settings| {
        let Some(old) = before.providers.get(name) else {
            differs(&format!("providers.{name}"), true);
            return false;
        };
        let key = |key: &str| format!("providers.{name}.{key}");
        differs(&key("kind"), settings.kind != old.kind);
        differs(&key("base_url"), settings.base_url != old.base_url);
        differs(&key("api_key_env"), settings.api_key_env != old.api_key_env);
        differs(&key("api_key_file"), settings.api_key_file != old.api_key_file);
        differs(&key("scenario"), settings.scenario != old.scenario);
        differs(&key("timeout_s"), settings.timeout_s != old.timeout_s);
        differs(
            &key("max_concurrent"),
            settings.max_concurrent != old.max_concurrent,
        );
        let clearance = settings.clearance;
        *settings = old.clone();
        settings.clearance = clearance;
        true
    });
    for (name, old) in &before.providers {
        if !new.providers.contains_key(name) {
            differs(&format!("providers.{name}"), true);
            merged.providers.insert(name.clone(), old.clone());
        }
    }
    merged.secrets.retain(|name, settings| {
        let Some(old) = before.secrets.get(name) else {
            differs(&format!("secrets.{name}"), true);
            return false;
        };
        differs(&format!("secrets.{name}.env"), settings.env != old.env);
        differs(&format!("secrets.{name}.file"), settings.file != old.file);
        settings.env.clone_from(&old.env);
        settings.file.clone_from(&old.file);
        true
    });
    // A secret that went is gone at once: that takes away and needs nothing.
    differs(
        "store.durability",
        new.store.durability != before.store.durability,
    );
    differs("store.path", new.store.path != before.store.path);
    merged.store.durability = before.store.durability;
    merged.store.path.clone_from(&before.store.path);
    restart.extend(memory_for_restart(before, new));
    merged.memory = MemorySettings {
        recall_limit: new.memory.recall_limit,
        recall_max_chars: new.memory.recall_max_chars,
        recall_timeout_ms: new.memory.recall_timeout_ms,
        renew: new.memory.renew,
        consolidate: new.memory.consolidate,
        extract: new.memory.extract,
        extract_every: new.memory.extract_every,
        put_aside_chars: new.memory.put_aside_chars,
        ..before.memory.clone()
    };
    restart.sort();
    (merged, restart)
}

/// The keys of `[memory]` that differ and need a restart: embedder and index stay open.
fn memory_for_restart(before: &Configuration, new: &Configuration) -> Vec<String> {
    const HOT: [&str; 8] = [
        "memory.recall_limit",
        "memory.recall_max_chars",
        "memory.recall_timeout_ms",
        "memory.renew",
        "memory.consolidate",
        "memory.extract",
        "memory.extract_every",
        "memory.put_aside_chars",
    ];
    let (old, new) = (values(&before.memory), values(&new.memory));
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter()
        .filter(|key| !HOT.contains(&key.as_str()) && old.get(*key) != new.get(*key))
        .cloned()
        .collect()
}

/// Each value under its dotted key.
fn values(settings: &MemorySettings) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    // Settings that were read are settings that can be written.
    let mut left = vec![(
        "memory".to_owned(),
        serde_json::to_value(settings).unwrap_or_default(),
    )];
    while let Some((key, value)) = left.pop() {
        match value {
            Value::Object(members) => {
                left.extend(
                    members
                        .into_iter()
                        .map(|(name, value)| (format!("{key}.{name}"), value)),
                );
            }
            value => {
                found.insert(key, value);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Every key that the schema marks as one for a restart, with names of its own.
    fn restart_keys() -> Vec<String> {
        fn walk(schema: &Value, node: &Value, key: &str, found: &mut Vec<String>) {
            let name = node
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|path| path.strip_prefix("#/$defs/"));
            let node = name
                .and_then(|name| schema.get("$defs")?.get(name))
                .unwrap_or(node);
            if let Some(members) = node.get("additionalProperties") {
                walk(schema, members, &format!("{key}.n"), found);
            }
            for (name, property) in node
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                if property.get("x-hot") == Some(&json!(false)) {
                    found.push(key.clone());
                }
                walk(schema, property, &key, found);
            }
        }
        let (schema, mut found) = (crate::config::schema(), Vec::new());
        walk(&schema, &schema, "", &mut found);
        found.sort();
        found
    }

    fn read(text: &str) -> Configuration {
        toml::from_str(text).unwrap()
    }

    const BEFORE: &str = r#"
[providers.n]
kind = "scripted"
scenario = "a"
clearance = "INTERNAL"
[providers.gone]
kind = "scripted"
[secrets.n]
env = "A"
tools = ["http_get"]
"#;

    const AFTER: &str = r#"
[providers.n]
kind = "openai"
base_url = "http://127.0.0.1:1/v1"
api_key_env = "KEY"
api_key_file = "key"
scenario = "b"
timeout_s = 7
max_concurrent = 9
clearance = "PUBLIC"
[providers.new]
kind = "scripted"
[secrets.n]
file = "b"
tools = ["run_command"]
[store]
durability = "process"
path = "other.db"
[agent]
max_rounds = 7
[memory]
enabled = false
embedder = "hashed"
model_dir = "models"
model_hub = "http://127.0.0.1:1/"
recall = "escalate"
recall_limit = 3
artifact_names = ["likes"]
lifetime_days = [1, 2, 3, 4, 5]
chunk_tokens = 100
[memory.remote]
base_url = "http://127.0.0.1:1/v1"
api_key_env = "KEY"
api_key_file = "key"
clearance = "PUBLIC"
dimensions = 3
[memory.index]
kind = "exact"
url = "http://127.0.0.1:2"
api_key_env = "KEY"
api_key_file = "key"
clearance = "PUBLIC"
replication = 2
shards = 2
"#;

    #[test]
    fn keys_for_a_restart_stay_and_are_named_and_all_others_are_taken_over() {
        let (before, after) = (read(BEFORE), read(AFTER));
        let (merged, restart) = merged(&before, &after);
        let mut expected = restart_keys();
        expected.extend(["providers.gone".to_owned(), "providers.new".to_owned()]);
        expected.sort();
        assert_eq!(restart, expected, "every key for a restart is looked at");
        let mut taken = before;
        taken.agent.max_rounds = 7;
        taken.memory.recall_limit = 3;
        taken.providers["n"].clearance = Some(tidegate_policy::Classification::Public);
        taken.secrets["n"].tools = vec!["run_command".into()];
        let in_order = |configuration: &Configuration| serde_json::to_value(configuration).unwrap();
        assert_eq!(in_order(&merged), in_order(&taken));
    }
}
