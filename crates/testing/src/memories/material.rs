//! Memories and questions, the same ones in every run, and an embedder for them.

use std::collections::HashMap;
use std::sync::Mutex;
use tidegate_memory::{
    EmbedWork, Embedder, EmbedderError, Embedding, Scope, estimated_tokens, memory_point_id,
};
use tidegate_policy::{Classification, Label, MemoryId, UserId};
use tidegate_store::{Expected, MemoryRecord, MemoryState, ModelRecord, Provenance, RecordWrite, Vectors};
use tidegate_tools::BoxFuture;

/// Values of a vector, as of small models.
pub const DIMENSION: usize = 384;

/// Different words in all facts.
const VOCABULARY: u64 = 20_000;

/// Subjects around which the vectors lie.
const SUBJECTS: u64 = 500;

/// When the memories were written, in milliseconds since 1970 (UTC).
pub const NOW_MS: i64 = 1_790_000_000_000;

/// Splitmix64: random enough, and the same everywhere.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        share
    }
}

/// A word; small numbers come often, as with words of a language.
fn word(random: &mut Random) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "co", "di", "fe", "gu", "ha", "jo", "ki", "le", "mu", "na", "po", "ri", "se", "tu", "va", "wo",
        "xi", "ye", "zu",
    ];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a number of a word"
    )]
    let mut number = (random.share().powi(3) * VOCABULARY as f64) as u64;
    let mut word = String::new();
    for _ in 0..3 {
        let place = usize::try_from(number % 20).unwrap_or(0);
        word.push_str(SYLLABLES.get(place).copied().unwrap_or_default());
        number /= 20;
    }
    word
}

/// The fact of that number: about 14 words.
pub fn fact(number: u64) -> String {
    let mut random = Random::of(number);
    let words = 10 + random.next() % 9;
    let words: Vec<String> = (0..words).map(|_| word(&mut random)).collect();
    format!("Note {number}: {}", words.join(" "))
}

/// A question: five words.
pub fn question(number: u64) -> String {
    let mut random = Random::of(number ^ 0x5151_5151);
    (0..5).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ")
}

/// A vector for a text: near one of the subjects, of length 1.
pub fn vector(text: &str) -> Vec<f32> {
    let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let (mut subject, mut own) = (Random::of(seed % SUBJECTS), Random::of(seed));
    let values: Vec<f64> = (0..DIMENSION)
        .map(|_| subject.share() - 0.5 + 0.7 * (own.share() - 0.5))
        .collect();
    let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "a value of at most 1")]
    let vector = values.iter().map(|value| (value / length) as f32).collect();
    vector
}

/// The user of all memories.
pub fn user() -> UserId {
    "ada".into()
}

/// The label of all memories.
pub fn label() -> Label {
    Label::trusted(Classification::Internal)
}

/// A session of that user, which may see all memories.
pub fn scope() -> Scope {
    Scope {
        user: user(),
        chat: "s_1".into(),
        label: label(),
        clearance: Classification::Internal,
    }
}

/// The model of the vectors.
pub fn model() -> ModelRecord {
    ModelRecord {
        id: Prepared::MODEL.to_owned(),
        dimension: DIMENSION,
        prefixes: String::new(),
    }
}

/// The memory of that number, with its vector.
pub fn record(number: u64) -> MemoryRecord {
    let (fact, memory_id) = (fact(number), MemoryId::new(format!("note-{number}")));
    let vectors = Vectors {
        model: Prepared::MODEL.into(),
        dense: vector(&fact).into(),
        sparse: None,
    };
    MemoryRecord {
        id: memory_point_id(&user(), label(), &memory_id),
        user: user(),
        chat: "s_1".into(),
        memory_id,
        artifact_name: format!("group {}", number % 12),
        fact,
        importance: 3,
        tags: Vec::new(),
        language: "eng".to_owned(),
        created_ms: NOW_MS,
        updated_ms: NOW_MS,
        expires_ms: i64::MAX,
        label: label(),
        provenance: Provenance::Model,
        supersedes: Vec::new(),
        state: MemoryState::Active,
        version: 1,
        vectors: Some(vectors),
        sequence: 0,
    }
}

/// The same as writes, `from` to before `to`.
pub fn writes(from: u64, to: u64) -> Vec<RecordWrite> {
    (from..to)
        .map(|number| RecordWrite::PutMemory {
            record: Box::new(record(number)),
            expected: Expected::Anything,
        })
        .collect()
}

/// An embedder that costs little and always the same, so that the rest is what is measured. Vectors of questions are
/// prepared.
#[derive(Debug)]
pub struct Prepared {
    model: ModelRecord,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl Prepared {
    const MODEL: &'static str = "prepared";

    /// Knows no question yet.
    pub fn new() -> Self {
        Self {
            model: model(),
            known: Mutex::default(),
        }
    }

    fn embed(&self, text: &str) -> Embedding {
        let mut known = self
            .known
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let dense = known
            .entry(text.to_owned())
            .or_insert_with(|| vector(text))
            .clone();
        Embedding { dense, sparse: None }
    }
}

impl Default for Prepared {
    fn default() -> Self {
        Self::new()
    }
}

impl Embedder for Prepared {
    fn model(&self) -> &ModelRecord {
        &self.model
    }

    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    fn most_tokens(&self) -> usize {
        256
    }

    fn count_tokens(&self, text: &str) -> usize {
        estimated_tokens(text)
    }

    fn embed_documents(
        &self,
        texts: Vec<String>,
        _: EmbedWork,
    ) -> BoxFuture<'_, Result<Vec<Embedding>, EmbedderError>> {
        let embedded = texts.iter().map(|text| self.embed(text)).collect();
        Box::pin(std::future::ready(Ok(embedded)))
    }

    fn embed_query(&self, text: String, _: EmbedWork) -> BoxFuture<'_, Result<Embedding, EmbedderError>> {
        Box::pin(std::future::ready(Ok(self.embed(&text))))
    }
}
