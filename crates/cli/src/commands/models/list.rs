//! `tidegate models list`.

use crate::args::Global;
use crate::environment;
use crate::memory::models_folder;
use crate::output;
use serde::Serialize;
use tidegate_embed::fetch::known;
use tidegate_embed::{InstalledModel, ModelState, installed};
use tidegate_policy::escaped;

/// What is printed with `--json`.
#[derive(Serialize)]
struct ShownModel {
    name: String,
    /// `here`, `damaged` or `can_be_fetched`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

pub(super) fn run(global: &Global) -> anyhow::Result<()> {
    let folder = models_folder(&environment::data_folder(global)?);
    let mut here = installed(&folder)?;
    let mut models: Vec<ShownModel> = known()
        .into_iter()
        .map(|model| {
            let place = here.iter().position(|installed| installed.name == model.name);
            let installed = place.map(|place| here.remove(place));
            ShownModel {
                dimension: model.dimension,
                description: Some(model.description),
                source: Some(model.source),
                ..shown(model.name, installed)
            }
        })
        .collect();
    models.extend(
        here.into_iter()
            .map(|model| shown(model.name.clone(), Some(model))),
    );
    // What is here stands first.
    models.sort_by_key(|model| model.folder.is_none());
    if global.json {
        let folder = folder.display().to_string();
        return output::json(&serde_json::json!({ "folder": folder, "models": models }));
    }
    output::line(&format!("models folder {}", folder.display()))?;
    let width = models
        .iter()
        .map(|model| model.name.len())
        .max()
        .unwrap_or_default();
    for model in &models {
        let state = match model.state {
            "here" => "here   ",
            "damaged" => "DAMAGED",
            _ => "       ",
        };
        let dimension = model
            .dimension
            .map_or_else(String::new, |dimension| format!(" · {dimension} values"));
        let size = model.bytes.map_or_else(String::new, |bytes| {
            format!(" · {} MB", bytes.div_ceil(1_000_000))
        });
        output::line(&format!(
            "{state}  {:<width$}  {}{dimension}{size}",
            escaped(&model.name),
            model.description.as_deref().unwrap_or_default(),
        ))?;
        if let Some(problem) = &model.problem {
            output::line(&format!("         {problem}"))?;
        }
    }
    output::line("\nto get one: tidegate models fetch NAME")
}

fn shown(name: String, installed: Option<InstalledModel>) -> ShownModel {
    let (state, problem) = match installed.as_ref().map(|model| &model.state) {
        None => ("can_be_fetched", None),
        Some(ModelState::Whole) => ("here", None),
        Some(ModelState::Damaged { problem }) => ("damaged", Some(problem.clone())),
    };
    let manifest = installed.as_ref().and_then(|model| model.manifest.as_ref());
    ShownModel {
        name,
        state,
        bytes: manifest.map(|manifest| manifest.files.values().map(|file| file.bytes).sum()),
        folder: installed.as_ref().map(|model| model.folder.display().to_string()),
        problem,
        dimension: None,
        description: None,
        source: None,
    }
}
