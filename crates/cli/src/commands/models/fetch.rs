//! `tidegate models fetch`.

use crate::args::{Global, ModelsFetchArgs};
use crate::environment;
use crate::exit::Exit;
use crate::interrupts;
use crate::memory::Circumstances;
use crate::output;
use crate::progress::Progress;
use anyhow::Context as _;
use tidegate_embed::fetch::{self, Fetch, ONNX_RUNTIME};

pub(super) async fn run(global: &Global, args: &ModelsFetchArgs) -> anyhow::Result<Exit> {
    let loaded = environment::configuration(global, Vec::new())?;
    let data = environment::data_folder(global)?;
    let circumstances = Circumstances {
        loaded: &loaded,
        data: &data,
        recorded: None,
    };
    let configured = &loaded.configuration.memory.model_hub;
    let hub = match &args.hub {
        Some(hub) => Some(hub.clone()),
        None if configured.is_empty() => None,
        None => Some(
            configured
                .parse()
                .with_context(|| format!("[memory] model_hub {configured:?} is no address"))?,
        ),
    };
    let cancel = interrupts::cancelling()?;
    let progress = Progress::begin("fetching");
    let tells = !global.json;
    let fetch = Fetch::new(circumstances.models())
        .library(circumstances.library())
        .cancel(std::sync::Arc::clone(&cancel))
        .progress(move |step| told(&progress, step, tells));
    let fetch = match &hub {
        Some(hub) => fetch.hub(hub),
        None => fetch,
    };
    let fetched = fetch.named(&args.name).await;
    // The last of it takes the bar away.
    drop(fetch);
    let fetched = match fetched {
        Err(_) if cancel.is_cancelled() => {
            output::tell("cancelled; what has arrived is kept where it can go on: the same command does");
            return Ok(Exit::Cancelled);
        }
        other => other?,
    };
    let folder = fetched.folder.display().to_string();
    if global.json {
        output::json(&serde_json::json!({
            "name": args.name,
            "folder": folder,
            "was_there": fetched.was_there,
        }))?;
        return Ok(Exit::Ok);
    }
    let how = if fetched.was_there {
        "is there already"
    } else {
        "fetched"
    };
    output::line(&format!("{} {how}: {folder}", args.name))?;
    if args.name != ONNX_RUNTIME {
        output::line(&format!(
            "  to see it work: tidegate models test {name}\n  to use it for memories that are there already: tidegate memory \
             reembed",
            name = args.name
        ))?;
    }
    Ok(Exit::Ok)
}

fn told(progress: &Progress, step: fetch::Progress, tells: bool) {
    match step {
        fetch::Progress::Bytes { done, total, .. } => progress.bytes(done, total),
        fetch::Progress::Started { what, bytes } if tells => {
            let size = bytes.map_or_else(String::new, |bytes| {
                format!(" ({} MB)", bytes.div_ceil(1_000_000))
            });
            progress.aside(&format!("fetching {what}{size}"));
        }
        fetch::Progress::Again { what, problem } if tells => {
            progress.aside(&format!("{what}: {problem}; it goes on where it was"));
        }
        _ => progress.tick(),
    }
}
