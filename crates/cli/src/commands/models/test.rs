//! `tidegate models test`.

use crate::args::{Global, ModelsTestArgs};
use crate::environment;
use crate::exit::Exit;
use crate::memory::{Circumstances, off_thread, recorded_model};
use crate::output;
use serde::Serialize;
use std::time::Instant;
use tidegate_memory::{EmbedWork, Embedding};
use tidegate_runtime::config::EmbedderChoice;

/// A sentence, one that means nearly the same in other words, and one that has nothing to do with it.
const SENTENCES: [&str; 3] = [
    "The ferry to the island leaves at noon.",
    "Ships sail across to the isle at twelve o'clock.",
    "Bread dough has to rest before it is baked.",
];

/// What is printed with `--json`.
#[derive(Serialize)]
struct Tested {
    model: String,
    dimension: usize,
    /// Whether it has learned sparse vectors too.
    sparse: bool,
    most_tokens: usize,
    /// Files whose checksums were compared; none for a model without a list of them.
    files: Option<usize>,
    load_ms: u64,
    embed_ms: u64,
    /// Cosine of two sentences that mean nearly the same.
    related: f32,
    /// Cosine of two that have nothing to do with each other.
    unrelated: f32,
}

pub(super) async fn run(global: &Global, args: &ModelsTestArgs) -> anyhow::Result<Exit> {
    let loaded = environment::configuration(global, Vec::new())?;
    let data = environment::data_folder(global)?;
    let circumstances = Circumstances {
        loaded: &loaded,
        data: &data,
        recorded: recorded_model(&loaded, &data).await?,
    };
    let named = args.name.clone().map(EmbedderChoice::from);
    let choice = named.as_ref().unwrap_or(&loaded.configuration.memory.embedder);
    let files = match choice {
        EmbedderChoice::BgeM3 | EmbedderChoice::Minilm | EmbedderChoice::Named(_) => {
            let folder = circumstances.folder_of(&choice.to_string())?;
            let has_list = tidegate_embed::installed(&circumstances.models())?
                .iter()
                .any(|model| model.folder == folder);
            let verify = move || tidegate_embed::verify(&folder);
            match has_list {
                true => Some(off_thread("comparing checksums", verify).await??.files.len()),
                false => None,
            }
        }
        EmbedderChoice::Auto | EmbedderChoice::Hashed | EmbedderChoice::Openai(_) => None,
    };
    let begun = Instant::now();
    let embedder = circumstances.pick(choice).await?.loaded().await?.embedder;
    let load_ms = milliseconds(begun);
    let begun = Instant::now();
    let texts = SENTENCES.map(str::to_owned).to_vec();
    let embeddings = embedder.embed_documents(texts, EmbedWork::default()).await?;
    let embed_ms = milliseconds(begun);
    let [first, second, third] = embeddings.as_slice() else {
        anyhow::bail!("the model gave {} vectors for 3 texts", embeddings.len());
    };
    let model = embedder.model();
    let tested = Tested {
        model: model.id.clone(),
        dimension: model.dimension,
        sparse: first.sparse.is_some(),
        most_tokens: embedder.most_tokens(),
        files,
        load_ms,
        embed_ms,
        related: cosine(first, second),
        unrelated: cosine(first, third),
    };
    let works = tested.related > tested.unrelated;
    if global.json {
        output::json(&tested)?;
    } else {
        show(&tested)?;
    }
    if works {
        return Ok(Exit::Ok);
    }
    output::failure(
        "error",
        "two sentences that mean the same are no nearer to each other than two that do not: the files do not belong \
         together, or are pooled in another way",
    );
    Ok(Exit::Error)
}

fn show(tested: &Tested) -> anyhow::Result<()> {
    let files = match tested.files {
        Some(files) => format!("{files} files as they were fetched"),
        None => "no list of checksums".to_owned(),
    };
    let sparse = if tested.sparse {
        " and learned sparse ones"
    } else {
        ""
    };
    for line in [
        format!("model      {} · {files}", tested.model),
        format!(
            "vectors    {} values{sparse}, of at most {} tokens",
            tested.dimension, tested.most_tokens
        ),
        format!(
            "time       {} ms to load, {} ms for 3 sentences",
            tested.load_ms, tested.embed_ms
        ),
        format!(
            "meaning    {:.2} for two sentences that mean the same, {:.2} for two that do not",
            tested.related, tested.unrelated
        ),
    ] {
        output::line(&line)?;
    }
    Ok(())
}

fn milliseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn cosine(left: &Embedding, right: &Embedding) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = product(&left.dense, &left.dense) * product(&right.dense, &right.dense);
    product(&left.dense, &right.dense) / lengths.sqrt()
}
