//! What some models want to see before a text.

use crate::batched::Purpose;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a model that tells queries and documents apart wants before each. Empty: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefixes {
    /// Before what is searched for.
    #[serde(default)]
    pub query: String,
    /// Before what is stored.
    #[serde(default)]
    pub document: String,
}

/// Names of models, or parts of them, with their prefixes, as the models' own pages state them. The first that is part of
/// a name counts.
const KNOWN: [(&str, &str, &str); 9] = [
    // These two e5 models were trained with instructions, on the query alone.
    (
        "e5-large-instruct",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
        "",
    ),
    (
        "e5-mistral",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
        "",
    ),
    ("e5-", "query: ", "passage: "),
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("modernbert-embed", "search_query: ", "search_document: "),
    ("snowflake-arctic-embed", QUERY_OF_BGE, ""),
    ("mxbai-embed-large", QUERY_OF_BGE, ""),
    (
        "embeddinggemma",
        "task: search result | query: ",
        "title: none | text: ",
    ),
    // English only: the other bge models need none, or another.
    ("-en-v1.5", QUERY_OF_BGE, ""),
];

const QUERY_OF_BGE: &str = "Represent this sentence for searching relevant passages: ";

/// `config_sentence_transformers.json`, as far as it concerns prefixes.
#[derive(Deserialize)]
struct SentenceTransformers {
    #[serde(default)]
    prompts: std::collections::BTreeMap<String, String>,
}

impl Prefixes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.query.is_empty() && self.document.is_empty()
    }

    /// What stands before a text.
    pub(crate) fn before(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Query => &self.query,
            Purpose::Document => &self.document,
        }
    }

    /// As [`ModelRecord::prefixes`](tidegate_store::ModelRecord::prefixes) has them: empty, or JSON with both.
    pub fn scheme(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let scheme = serde_json::json!({ "document": self.document, "query": self.query });
        scheme.to_string()
    }

    /// Those of a model in a folder: what its `config_sentence_transformers.json` says, else what is known of a model
    /// of this name, else none.
    pub(crate) fn of(folder: &Path, name: &str) -> Self {
        let said = std::fs::read(folder.join("config_sentence_transformers.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<SentenceTransformers>(&bytes).ok());
        let prompt = |names: [&str; 2]| {
            let prompts = said.as_ref().map(|said| &said.prompts)?;
            names.into_iter().find_map(|name| prompts.get(name)).cloned()
        };
        let said = Self {
            query: prompt(["query", "search_query"]).unwrap_or_default(),
            document: prompt(["document", "passage"]).unwrap_or_default(),
        };
        if said.is_empty() { Self::known(name) } else { said }
    }

    fn known(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let is_known = |part: &str| {
            // gte-…-en-v1.5 shares the ending and wants nothing.
            name.contains(part) && (part != "-en-v1.5" || name.contains("bge"))
        };
        KNOWN
            .iter()
            .find(|(part, _, _)| is_known(part))
            .map(|(_, query, document)| Self {
                query: (*query).to_owned(),
                document: (*document).to_owned(),
            })
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_gets_the_prefixes_it_was_trained_with() {
        let bge = QUERY_OF_BGE;
        for (name, query, document) in [
            ("multilingual-e5-small", "query: ", "passage: "),
            ("multilingual-E5-base", "query: ", "passage: "),
            ("nomic-embed-text-v1.5", "search_query: ", "search_document: "),
            ("bge-small-en-v1.5", bge, ""),
            ("gte-base-en-v1.5", "", ""),
            ("bge-m3", "", ""),
            ("all-MiniLM-L6-v2", "", ""),
            ("snowflake-arctic-embed-xs", bge, ""),
        ] {
            let expected = Prefixes {
                query: query.to_owned(),
                document: document.to_owned(),
            };
            assert_eq!(Prefixes::known(name), expected, "{name}");
        }
    }

    #[test]
    fn what_the_folder_says_comes_before_what_is_known() {
        for (file, query, document) in [
            (r#"{"prompts": {"query": "q: ", "passage": "p: "}}"#, "q: ", "p: "),
            (
                r#"{"prompts": {"query": "q: ", "document": "d: "}}"#,
                "q: ",
                "d: ",
            ),
            (
                r#"{"prompts": {"query": "", "document": ""}}"#,
                "query: ",
                "passage: ",
            ),
            (r#"{"__version__": {}}"#, "query: ", "passage: "),
            ("no JSON", "query: ", "passage: "),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("config_sentence_transformers.json"), file).unwrap();
            let prefixes = Prefixes::of(folder.path(), "e5-small");
            assert_eq!(
                (prefixes.query.as_str(), prefixes.document.as_str()),
                (query, document),
                "{file}"
            );
        }
    }

    #[test]
    fn the_scheme_is_empty_or_holds_both() {
        assert_eq!(Prefixes::default().scheme(), "");
        assert_eq!(
            Prefixes::known("e5-small").scheme(),
            r#"{"document":"passage: ","query":"query: "}"#
        );
    }
}
