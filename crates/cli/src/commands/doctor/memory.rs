//! The memories: which embedder makes their vectors, which index finds them.

use super::component::{Component, State};
use crate::memory::{Circumstances, pick_index, recorded_model};
use crate::output;
use std::sync::Arc;
use tidegate_memory::{HashedEmbedder, IndexError, VectorIndex};
use tidegate_runtime::config::{EmbedderChoice, Loaded};
use tidegate_runtime::{DataFolder, Runtime};
use tidegate_store::{ModelRecord, Records as _};

pub(super) async fn components(loaded: &Loaded, data: &DataFolder) -> Vec<Component> {
    if !loaded.configuration.memory.enabled {
        let about = "switched off ([memory] enabled = false): nothing is remembered or recalled";
        return vec![Component::ok("memory", about)];
    }
    match recorded_model(loaded, data).await {
        Ok(recorded) => vec![
            embedder(loaded, data, recorded.clone()).await,
            index(loaded, data, recorded).await,
        ],
        Err(error) => vec![Component::new(
            State::Fail,
            "memory",
            output::with_causes(&error),
            "mend the store first",
        )],
    }
}

/// It is loaded: only then it is known to work.
async fn embedder(loaded: &Loaded, data: &DataFolder, recorded: Option<ModelRecord>) -> Component {
    let title = "embedder";
    let choice = &loaded.configuration.memory.embedder;
    let circumstances = Circumstances {
        loaded,
        data,
        recorded: recorded.clone(),
    };
    let picked = match circumstances.pick(choice).await {
        Ok(picked) => picked.loaded().await,
        Err(error) => Err(error),
    };
    let picked = match picked {
        Ok(picked) => picked,
        Err(error) => {
            let todo = "tidegate models list shows what is here; [memory] embedder chooses";
            return Component::new(State::Fail, title, output::with_causes(&error), todo);
        }
    };
    let model = picked.embedder.model();
    let about = format!(
        "{} ({} values) · {} · may see texts up to {}",
        model.id,
        model.dimension,
        picked.why,
        picked.embedder.clearance()
    );
    if let Some(recorded) = recorded.filter(|recorded| recorded != model) {
        let about = format!(
            "{about}\nbut the memories were embedded with {}, so they are not opened",
            recorded.id
        );
        let todo = format!(
            "configure {} again, or embed all anew: tidegate memory reembed",
            recorded.id
        );
        return Component::new(State::Fail, title, about, todo);
    }
    let is_makeshift = model.id == HashedEmbedder::MODEL && *choice != EmbedderChoice::Hashed;
    let state = if is_makeshift { State::Warn } else { State::Ok };
    Component::new(state, title, about, picked.better.unwrap_or_default())
}

async fn index(loaded: &Loaded, data: &DataFolder, recorded: Option<ModelRecord>) -> Component {
    let title = "memory index";
    let index = match pick_index(loaded, data) {
        Ok(Some(index)) => index,
        Ok(None) => {
            let about = "exact: everything is compared, which is good up to about 20,000 items";
            return Component::ok(title, about);
        }
        Err(error) => {
            let todo = "mend [memory.index], or write kind = \"exact\"";
            return Component::new(State::Fail, title, output::with_causes(&error), todo);
        }
    };
    let name = index.name().to_owned();
    let Some(model) = recorded else {
        return Component::ok(title, format!("{name} · nothing is remembered yet"));
    };
    match looked_at(&index, &model, loaded, data).await {
        Ok(about) => Component::ok(title, format!("{name} · {about}")),
        Err(error) => {
            let todo = match error.downcast_ref::<IndexError>() {
                Some(IndexError::InUse { .. }) => {
                    "nothing, if that is another tidegate: this one searches the records meanwhile"
                }
                Some(IndexError::OtherModel { .. }) => {
                    "the next command fills it anew; or: tidegate memory reindex"
                }
                Some(IndexError::Unreachable { .. }) => {
                    "start it or mend [memory.index] url; searches go on from the records meanwhile"
                }
                _ => "tidegate memory reindex builds it anew from the records",
            };
            Component::new(State::Warn, title, output::with_causes(&error), todo)
        }
    }
}

async fn looked_at(
    index: &Arc<dyn VectorIndex>,
    model: &ModelRecord,
    loaded: &Loaded,
    data: &DataFolder,
) -> anyhow::Result<String> {
    index.open(model).await?;
    let position = index.position().await?;
    let records = Runtime::open_records(&loaded.configuration, data)?;
    let last = records.statistics().await?.sequence;
    Ok(if position >= last {
        "it has everything".to_owned()
    } else {
        // How many would tell of memories that the reader may not see.
        "it lacks changes; they are caught up when the memories are next used".to_owned()
    })
}
