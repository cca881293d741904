//! `tidegate doctor`.

mod component;
mod configured;
mod memory;
mod system;

use crate::args::Global;
use crate::environment;
use crate::exit::Exit;
use crate::output;
use component::{Component, State};
use std::path::PathBuf;
use tidegate_runtime::config::{self, LoadOptions, Loaded};
use tidegate_runtime::{DataFolder, user_config_folder};

pub(crate) async fn run(global: &Global) -> anyhow::Result<Exit> {
    let data = environment::data_folder(global);
    let root = data
        .as_ref()
        .map_or_else(|_| PathBuf::new(), |data| data.root().to_path_buf());
    let (loaded, mut components) = configuration(global, root.clone());
    match &data {
        Ok(data) => {
            components.push(system::data_folder(data));
            components.push(system::store(&loaded.configuration, data));
        }
        Err(error) => components.push(Component::new(
            State::Fail,
            "data folder",
            output::with_causes(error),
            "pass --data-dir DIR or set TIDEGATE_DATA_DIR",
        )),
    }
    // Without a data folder there is no list of trusted files either: nothing that came with the work is played.
    let data = data.unwrap_or_else(|_| DataFolder::new(root));
    components.extend(configured::providers(&loaded, &data).await);
    components.push(configured::tiers(&loaded));
    components.push(configured::user(&loaded));
    components.extend(memory::components(&loaded, &data).await);
    components.push(system::confinement().await);
    components.push(system::terminal());

    let fails = components.iter().any(|component| component.state == State::Fail);
    if global.json {
        output::json(&serde_json::json!({
            "ok": !fails,
            "version": env!("CARGO_PKG_VERSION"),
            "components": components,
        }))?;
    } else {
        component::show(&components)?;
    }
    Ok(if fails { Exit::Error } else { Exit::Ok })
}

/// The configuration in effect, or the defaults if it cannot be read, so that the rest can be looked at.
fn configuration(global: &Global, data_folder: PathBuf) -> (Loaded, Vec<Component>) {
    let options = LoadOptions {
        file: global.config.clone(),
        working_folder: std::env::current_dir().ok(),
        user_folder: user_config_folder(),
        data_folder,
        variables: environment::variables(),
        overrides: Vec::new(),
    };
    match config::load(&options) {
        Ok(loaded) => {
            let components = configured::configuration(&loaded);
            (loaded, components)
        }
        Err(error) => {
            let todo = if matches!(error, config::ConfigError::Untrusted { .. }) {
                "look at the file, then trust it as the line above says"
            } else {
                "mend it; what follows is looked at with the defaults"
            };
            let what = output::with_causes(&error.into());
            let component = Component::new(State::Fail, "configuration", what, todo);
            let defaults = Loaded {
                configuration: config::Configuration::default(),
                file: None,
                origins: Default::default(),
                rules: Default::default(),
            };
            (defaults, vec![component])
        }
    }
}

/// Whether the folder is there.
fn is_folder(folder: &DataFolder) -> bool {
    folder.root().is_dir()
}
