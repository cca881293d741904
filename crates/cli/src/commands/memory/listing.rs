//! `tidegate memory index`.

use super::shown::{self, ShownMemory};
use crate::args::{Global, MemoryIndexArgs};
use crate::memory;
use crate::output;
use serde::Serialize;
use std::collections::BTreeMap;
use tidegate_memory::{ArtifactIndex, MemoryListing};
use tidegate_policy::{Classification, Label, escaped};

/// What is printed with `--json`.
#[derive(Serialize)]
struct ShownIndex<'a> {
    total: usize,
    label: Label,
    themes: Vec<ShownTheme<'a>>,
}

#[derive(Serialize)]
struct ShownTheme<'a> {
    artifact_name: &'a str,
    count: usize,
    tags: BTreeMap<&'a str, usize>,
    items: Vec<ShownMemory<'a>>,
}

pub(super) async fn run(global: &Global, args: &MemoryIndexArgs) -> anyhow::Result<()> {
    let period = memory::period("memory", &args.period);
    let owner = memory::open(global).await?;
    let listing = MemoryListing {
        artifact_name: args.artifact.clone(),
        limit: args.limit,
        period,
        trusted_only: false,
    };
    let scope = owner.scope(Classification::Public);
    let index = owner.memory.memory_index(&scope, listing).await?;
    if global.json {
        return output::json(&shown(&index));
    }
    if index.total == 0 {
        return output::line(
            "nothing is remembered yet; write something: tidegate memory add \"…\" --artifact NAME --id NAME",
        );
    }
    for theme in &index.themes {
        let tags: Vec<String> = theme
            .tags
            .iter()
            .map(|(tag, count)| format!("{} {count}", escaped(tag)))
            .collect();
        let tags = if tags.is_empty() {
            String::new()
        } else {
            format!(" · {}", tags.join(", "))
        };
        output::line(&format!(
            "── {} ({}){tags}",
            escaped(&theme.artifact_name),
            theme.count
        ))?;
        for item in &theme.items {
            shown::line(&item.memory, &item.also_at, 0)?;
        }
    }
    let items = index.themes.iter().flat_map(|theme| &theme.items);
    let listed: usize = items.map(|item| 1 + item.also_at.len()).sum();
    if listed < index.total {
        output::aside(&format!(
            "{} memories in all; --artifact NAME or --from DATE narrows it",
            index.total
        ));
    }
    Ok(())
}

fn shown(index: &ArtifactIndex) -> ShownIndex<'_> {
    let themes = index.themes.iter().map(|theme| ShownTheme {
        artifact_name: &theme.artifact_name,
        count: theme.count,
        tags: theme
            .tags
            .iter()
            .map(|(tag, count)| (tag.as_str(), *count))
            .collect(),
        items: theme
            .items
            .iter()
            .map(|item| ShownMemory::of(&item.memory, &item.also_at))
            .collect(),
    });
    ShownIndex {
        total: index.total,
        label: index.label,
        themes: themes.collect(),
    }
}
