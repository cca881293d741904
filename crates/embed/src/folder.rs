//! What a folder of a model says about itself.

use crate::installed::{check_sizes, read_all};
use crate::manifest::Manifest;
use crate::{EmbedError, ManifestKind, Prefixes};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tidegate_store::ModelRecord;

/// Where the model may lie in its folder, as exporters name it. The first that is there counts.
const MODEL_FILES: [&str; 8] = [
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model_optimized.onnx",
    "onnx/model_optimized.onnx",
    "model_int8.onnx",
    "onnx/model_int8.onnx",
];

/// Longer texts are cut unless more is configured: what attention needs grows with the square.
const USUAL_MOST_TOKENS: usize = 2048;

/// Fewer would leave nothing beside special tokens and prefixes.
const LEAST_TOKENS: usize = 32;

/// Which outputs a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Vectors of tokens or texts: nearly all models.
    Text,
    /// bge-m3: dense, sparse and ColBERT vectors.
    BgeM3,
}

/// How one vector is made of those of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first.
    Cls,
}

/// What is configured about a folder instead of read from it. Default: nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FolderOptions {
    /// The model's id, under which vectors are stored. Without one it is the model's name and a hash of its files, which
    /// changes when they do.
    pub id: Option<String>,
    /// Which outputs it has. Without: seen from the file.
    pub kind: Option<ModelKind>,
    /// How it is pooled. Without: as `1_Pooling/config.json` says.
    pub pooling: Option<Pooling>,
    /// The most tokens of a text, special ones included. Without: what `sentence_bert_config.json`,
    /// `tokenizer_config.json` and `config.json` say, at most 2,048.
    pub most_tokens: Option<usize>,
    /// The prefixes. Without: as `config_sentence_transformers.json` says, or as is known of a model of this name.
    pub prefixes: Option<Prefixes>,
    /// The share of the dense vectors in a fused score, from 0 to 1. Without: 0.5.
    pub dense_share: Option<f32>,
    /// Threads a model computes with. Without: one for each processor.
    pub threads: Option<usize>,
}

/// A folder with a model, read and understood, not loaded.
#[derive(Clone, Debug)]
pub struct ModelFolder {
    path: PathBuf,
    pub(crate) model_file: PathBuf,
    record: ModelRecord,
    kind: ModelKind,
    pub(crate) pooling: Option<Pooling>,
    most_tokens: usize,
    pub(crate) prefixes: Prefixes,
    pub(crate) dense_share: f32,
    pub(crate) threads: Option<usize>,
}

/// The parts of `config.json` that matter here. Architectures give them different names.
struct Config {
    dimension: Option<usize>,
    positions: Option<usize>,
    model_type: Option<String>,
    name: Option<String>,
}

impl Config {
    fn read(folder: &Path) -> Result<Self, EmbedError> {
        let config: Value = json(folder, "config.json")?;
        let number = |names: &[&str]| {
            let number = |name: &&str| config.get(*name).and_then(Value::as_u64);
            names
                .iter()
                .find_map(number)
                .and_then(|number| usize::try_from(number).ok())
        };
        let text = |name: &str| config.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            dimension: number(&["hidden_size", "d_model", "dim", "n_embd"]),
            positions: number(&["max_position_embeddings", "n_positions"]),
            model_type: text("model_type"),
            // A path or a repository, of which the last part is the name.
            name: text("_name_or_path")
                .map(|path| plain_name(&path))
                .filter(|name| !name.is_empty()),
        })
    }
}

impl ModelFolder {
    /// Reads what `folder` says. Blocks: the files of a folder that was not fetched are hashed, a second for half a
    /// gigabyte.
    ///
    /// It needs `model.onnx` (or `onnx/model.onnx`, or one of the usual names of quantised models), `tokenizer.json`,
    /// `tokenizer_config.json` and `config.json`; `special_tokens_map.json`, `1_Pooling/config.json`,
    /// `sentence_bert_config.json` and `config_sentence_transformers.json` are read where they are.
    ///
    /// # Errors
    /// [`EmbedError::BadFolder`] says what is missing; [`EmbedError::Damaged`] if a fetched folder was changed.
    pub fn read(folder: &Path, options: &FolderOptions) -> Result<Self, EmbedError> {
        let bad = |problem: String| EmbedError::BadFolder {
            folder: folder.to_owned(),
            problem,
            cause: None,
        };
        if !folder.is_dir() {
            return Err(bad("it is not there, or is no folder".to_owned()));
        }
        let manifest = Manifest::read(folder)?;
        if let Some(manifest) = &manifest {
            check_sizes(folder, manifest)?;
            if manifest.kind == ManifestKind::OnnxRuntime {
                return Err(bad(
                    "it holds ONNX Runtime, which models need beside them".to_owned()
                ));
            }
        }
        let model_file = MODEL_FILES
            .iter()
            .map(|name| folder.join(name))
            .chain(manifest.iter().flat_map(|manifest| in_manifest(folder, manifest)))
            .find(|path| path.is_file())
            .ok_or_else(|| bad("it has neither model.onnx nor onnx/model.onnx".to_owned()))?;
        let config = Config::read(folder)?;
        let tokenizer_config: Value = json(folder, "tokenizer_config.json")?;

        let (fingerprint, seen) = match &manifest {
            Some(manifest) => (of_manifest(manifest), None),
            None => of_files(folder, &model_file)?,
        };
        let kind = options.kind.or(seen).unwrap_or(match &manifest {
            Some(manifest) if manifest.kind == ManifestKind::BgeM3 => ModelKind::BgeM3,
            _ => ModelKind::Text,
        });
        let pooling = match kind {
            ModelKind::BgeM3 => None,
            ModelKind::Text => Some(
                match options.pooling.or(manifest.as_ref().and_then(|it| it.pooling)) {
                    Some(pooling) => pooling,
                    None => pooling_of(folder)?,
                },
            ),
        };
        let dimension = config
            .dimension
            .filter(|dimension| *dimension > 0)
            .ok_or_else(|| bad("its config.json has no hidden_size, the length of its vectors".to_owned()))?;
        let most_tokens = most_tokens(folder, options, &config, &tokenizer_config)?;

        let name = manifest
            .as_ref()
            .map(|manifest| manifest.model.clone())
            .or(config.name)
            .or(config.model_type)
            .unwrap_or_else(|| "model".to_owned());
        let prefixes = options.prefixes.clone().unwrap_or_else(|| {
            let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            let names = [Some(name.clone()), folder_name].into_iter().flatten();
            names
                .map(|name| Prefixes::of(folder, &name))
                .find(|prefixes| !prefixes.is_empty())
                .unwrap_or_default()
        });
        let id = options
            .id
            .clone()
            .unwrap_or_else(|| identified(&name, &fingerprint, pooling));
        Ok(Self {
            path: folder.to_owned(),
            model_file,
            record: ModelRecord {
                id,
                dimension,
                prefixes: prefixes.scheme(),
            },
            kind,
            pooling,
            most_tokens,
            prefixes,
            dense_share: options.dense_share.unwrap_or(0.5).clamp(0.0, 1.0),
            threads: options.threads.filter(|threads| *threads > 0),
        })
    }

    /// The model, as vectors are stored under it. The dimension is what `config.json` says.
    pub fn record(&self) -> &ModelRecord {
        &self.record
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which outputs it has.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// The most tokens of a text, special ones included.
    pub fn most_tokens(&self) -> usize {
        self.most_tokens
    }

    /// The file of this name in the folder, or beside the model.
    pub(crate) fn file(&self, name: &str) -> Result<Vec<u8>, EmbedError> {
        let path = self.path.join(name);
        std::fs::read(&path).map_err(EmbedError::file("read", path))
    }

    /// Whether the model quantises what it computes by what it sees: then a text's vector depends on its batch.
    pub(crate) fn is_dynamic(&self) -> Result<bool, EmbedError> {
        let mut missing: Vec<&[u8]> = vec![b"DynamicQuantizeLinear"];
        strike_out(&self.model_file, &mut missing, |_| {})?;
        Ok(missing.is_empty())
    }

    pub(crate) fn bad_model(&self, problem: impl Into<String>, cause: Option<crate::Cause>) -> EmbedError {
        EmbedError::BadModel {
            folder: self.path.clone(),
            problem: problem.into(),
            cause,
        }
    }
}

/// The ONNX files that a manifest names, whatever they are called.
fn in_manifest(folder: &Path, manifest: &Manifest) -> Vec<PathBuf> {
    let is_model = |name: &&String| name.ends_with(".onnx");
    manifest
        .files
        .keys()
        .filter(is_model)
        .map(|name| folder.join(name))
        .collect()
}

fn json<T: serde::de::DeserializeOwned>(folder: &Path, name: &str) -> Result<T, EmbedError> {
    let bad = |problem: String, cause| EmbedError::BadFolder {
        folder: folder.to_owned(),
        problem,
        cause,
    };
    let bytes = match std::fs::read(folder.join(name)) {
        Ok(bytes) => bytes,
        Err(cause) => return Err(bad(format!("its {name} cannot be read"), Some(Box::new(cause)))),
    };
    serde_json::from_slice(&bytes).map_err(|cause| {
        bad(
            format!("its {name} is not what it should be"),
            Some(Box::new(cause)),
        )
    })
}

/// `json` of a file that may be missing.
fn optional_json<T: serde::de::DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, EmbedError> {
    if folder.join(name).is_file() {
        json(folder, name).map(Some)
    } else {
        Ok(None)
    }
}

#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    /// Newer files name one mode.
    pooling_mode: Option<String>,
}

fn pooling_of(folder: &Path) -> Result<Pooling, EmbedError> {
    const FILE: &str = "1_Pooling/config.json";
    let bad = |problem: String| EmbedError::BadFolder {
        folder: folder.to_owned(),
        problem,
        cause: None,
    };
    let Some(config) = optional_json::<PoolingConfig>(folder, FILE)? else {
        return Err(bad(format!(
            "nothing says how its vectors are pooled. Write {{\"pooling_mode_mean_tokens\": true}} or \
             {{\"pooling_mode_cls_token\": true}} into its {FILE}, as the model's page says"
        )));
    };
    let named = |name: &str| config.pooling_mode.as_deref() == Some(name);
    let mean = config.pooling_mode_mean_tokens || named("mean");
    let cls = config.pooling_mode_cls_token || named("cls");
    match (mean, cls) {
        (true, false) => Ok(Pooling::Mean),
        (false, true) => Ok(Pooling::Cls),
        _ => Err(bad(format!(
            "its {FILE} asks for a pooling that is neither the mean of the tokens nor the first token alone; such \
             models cannot be used"
        ))),
    }
}

fn most_tokens(
    folder: &Path,
    options: &FolderOptions,
    config: &Config,
    tokenizer_config: &Value,
) -> Result<usize, EmbedError> {
    #[derive(Deserialize)]
    struct SentenceBert {
        max_seq_length: Option<usize>,
    }
    // RoBERTa's positions begin behind the padding's: two of them are no token's.
    let lost = match &config.model_type {
        Some(model_type) if model_type.contains("roberta") || model_type == "mpnet" => 2,
        _ => 0,
    };
    let positions = config.positions.map(|positions| positions.saturating_sub(lost));
    // Exporters write 10^30 where there is no limit; such numbers are not whole.
    let of_tokenizer = tokenizer_config
        .get("model_max_length")
        .and_then(Value::as_u64)
        .and_then(|length| usize::try_from(length).ok());
    let of_sentences = optional_json::<SentenceBert>(folder, "sentence_bert_config.json")?
        .and_then(|sentences| sentences.max_seq_length);
    let possible = positions
        .unwrap_or(usize::MAX)
        .min(of_tokenizer.unwrap_or(usize::MAX));
    let most = match options.most_tokens {
        Some(wanted) => {
            if wanted > possible {
                let problem = format!("it takes at most {possible} tokens, and {wanted} are configured");
                return Err(EmbedError::BadFolder {
                    folder: folder.to_owned(),
                    problem,
                    cause: None,
                });
            }
            wanted
        }
        None => of_sentences
            .unwrap_or(USUAL_MOST_TOKENS)
            .min(possible)
            .min(USUAL_MOST_TOKENS),
    };
    if most < LEAST_TOKENS {
        return Err(EmbedError::BadFolder {
            folder: folder.to_owned(),
            problem: format!("it would see {most} tokens of a text, and at least {LEAST_TOKENS} are needed"),
            cause: None,
        });
    }
    Ok(most)
}

/// Names a model by what its vectors depend on.
fn identified(name: &str, fingerprint: &[(String, String)], pooling: Option<Pooling>) -> String {
    let mut hash = Sha256::new();
    for (file, sha256) in fingerprint {
        hash.update(format!("{file} {sha256}\n"));
    }
    hash.update(match pooling {
        None => "",
        Some(Pooling::Mean) => "mean",
        Some(Pooling::Cls) => "cls",
    });
    let hash = hexadecimal(&hash.finalize());
    format!("{name}@{}", hash.get(..12).unwrap_or(&hash))
}

/// The files whose content decides what the vectors are, with their SHA-256, sorted: model, weights beside it, tokenizer.
type Fingerprint = Vec<(String, String)>;

/// That of a folder that was fetched.
fn of_manifest(manifest: &Manifest) -> Fingerprint {
    let decides = |name: &str| name == "tokenizer.json" || name.ends_with(".onnx") || is_weights(name);
    let mut files: Fingerprint = manifest
        .files
        .iter()
        .filter(|(name, _)| decides(name))
        .map(|(name, file)| (plain_name(name), file.sha256.clone()))
        .collect();
    files.sort();
    files
}

/// The same of a folder without manifest, and which kind of model it looks like.
fn of_files(folder: &Path, model_file: &Path) -> Result<(Fingerprint, Option<ModelKind>), EmbedError> {
    let (model, kind) = hashed(model_file)?;
    let mut files = vec![(plain_name(&model_file.to_string_lossy()), model)];
    for path in weights_beside(model_file)? {
        files.push((plain_name(&path.to_string_lossy()), hashed(&path)?.0));
    }
    files.push((
        "tokenizer.json".to_owned(),
        hashed(&folder.join("tokenizer.json"))?.0,
    ));
    files.sort();
    Ok((files, kind))
}

/// The name without folders.
fn plain_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// Whether a file beside a model holds weights that were too large for it.
fn is_weights(name: &str) -> bool {
    let name = plain_name(name);
    name.ends_with(".onnx_data") || name.ends_with(".onnx.data") || name.starts_with("Constant_")
}

/// The files with weights beside a model, sorted.
pub(crate) fn weights_beside(model_file: &Path) -> Result<Vec<PathBuf>, EmbedError> {
    let Some(folder) = model_file.parent() else {
        return Ok(Vec::new());
    };
    let entries = std::fs::read_dir(folder).map_err(EmbedError::file("read", folder))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(EmbedError::file("read", folder))?.path();
        if path.is_file() && is_weights(&path.to_string_lossy()) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What fastembed's export of bge-m3 calls its second and third output.
const OUTPUTS_OF_BGE_M3: [&[u8]; 2] = [b"sparse_vecs", b"colbert_vecs"];

/// SHA-256 of a file in hexadecimal, and whether it names the outputs of bge-m3.
fn hashed(path: &Path) -> Result<(String, Option<ModelKind>), EmbedError> {
    let mut missing: Vec<&[u8]> = OUTPUTS_OF_BGE_M3.to_vec();
    let mut hash = Sha256::new();
    strike_out(path, &mut missing, |piece| hash.update(piece))?;
    let kind = missing.is_empty().then_some(ModelKind::BgeM3);
    Ok((hexadecimal(&hash.finalize()), kind))
}

/// Reads a file, gives it to `also` piece by piece, and leaves in `missing` what is nowhere in it.
fn strike_out(path: &Path, missing: &mut Vec<&[u8]>, mut also: impl FnMut(&[u8])) -> Result<(), EmbedError> {
    let longest = missing.iter().map(|name| name.len()).max().unwrap_or(0);
    // Begins with the end of the piece before, since a name may lie across two.
    let mut window: Vec<u8> = Vec::new();
    read_all(path, |piece| {
        also(piece);
        window.extend_from_slice(piece);
        missing.retain(|name| memmem::find(&window, name).is_none());
        window.drain(..window.len().saturating_sub(longest));
    })
}

/// Bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string does not fail.
            let _written = write!(text, "{byte:02x}");
            text
        })
}
