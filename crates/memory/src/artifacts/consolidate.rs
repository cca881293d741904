//! Making several small memories one.

use crate::embedder::{normalised, scalar_product};
use crate::ids::uuid_of;
use crate::index::memory_text;
use crate::text::language_of;
use crate::{Memory, MemoryError, Scope, memory_point_id};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_policy::{Label, MemoryId, UserId};
use tidegate_store::{
    Expected, MemoryPatch, MemoryQuery, MemoryRecord, MemoryState, Provenance, RecordWrite, RecordsCommit, Vectors,
};
use tidegate_tools::Cancel;

/// A user with fewer memories of importance 1 than this is left alone.
const FEWEST_MEMORIES: usize = 10;

/// A cluster has at least so many.
const SMALLEST_CLUSTER: usize = 3;

/// And at most so many: the text of more would say nothing any more.
const LARGEST_CLUSTER: usize = 12;

/// Memories nearer than this belong together.
const TOGETHER: f32 = 0.75;

/// The longest consolidated text, in characters.
const LONGEST: usize = 4_000;

/// What was consolidated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consolidated {
    /// New memories of importance 2.
    pub made: usize,
    /// Memories of importance 1 that are part of them.
    pub parts: usize,
}

impl Memory {
    /// Makes clusters of a user's memories of importance 1 into memories of importance 2, by group and label. The new one
    /// says all that its parts say; they are kept as its history. Each cluster happens whole or not at all, and running
    /// it again changes nothing more.
    ///
    /// # Errors
    /// [`MemoryError::Cancelled`]; those of embedder and records. Clusters that were done stay done.
    pub async fn consolidate(&self, user: &UserId, cancel: &Arc<dyn Cancel>) -> Result<Consolidated, MemoryError> {
        let now_ms = self.now_ms();
        let query = MemoryQuery {
            user: Some(user.clone()),
            vectors: true,
            ..MemoryQuery::default()
        };
        let mut small = self.inner.records.memories(query).await?;
        small.retain(|memory| {
            memory.state == MemoryState::Active && memory.importance == 1 && memory.expires_ms > now_ms
        });
        let mut done = Consolidated::default();
        if small.len() < FEWEST_MEMORIES {
            return Ok(done);
        }
        let mut groups: BTreeMap<(String, &str, &str), Vec<MemoryRecord>> = BTreeMap::new();
        for memory in small {
            let label = memory.label;
            let key = (memory.artifact_name.clone(), label.classification.as_str(), label.integrity.as_str());
            groups.entry(key).or_default().push(memory);
        }
        for group in groups.into_values() {
            for cluster in clusters(group) {
                if cancel.is_cancelled() {
                    return Err(MemoryError::Cancelled);
                }
                if self.consolidate_cluster(user, &cluster, cancel).await? {
                    done.made += 1;
                    done.parts += cluster.len();
                }
            }
        }
        Ok(done)
    }

    async fn consolidate_cluster(
        &self,
        user: &UserId,
        cluster: &[MemoryRecord],
        cancel: &Arc<dyn Cancel>,
    ) -> Result<bool, MemoryError> {
        let label = Label::join_all(cluster.iter().map(|memory| memory.label));
        let scope = Scope {
            user: user.clone(),
            chat: "".into(),
            label,
            clearance: label.classification,
        };
        let mut facts: Vec<String> = cluster.iter().map(|memory| memory.fact.clone()).collect();
        facts.dedup();
        let fact = match self.merged(&scope, &facts).await {
            Some(merged) => merged,
            None => facts.join("\n"),
        };
        let (Some(first), true) = (cluster.first(), fact.chars().count() <= LONGEST) else {
            return Ok(false);
        };
        let from: Vec<_> = cluster.iter().map(|memory| memory.id).collect();
        let name = uuid_of(&serde_json::json!(["consolidated", from])).simple().to_string();
        let memory_id = MemoryId::new(format!("consolidated-{}", name.chars().take(12).collect::<String>()));
        let id = memory_point_id(user, label, &memory_id);
        let tags: Vec<String> = super::counted(cluster.iter().flat_map(|memory| memory.tags.iter().cloned()))
            .into_iter()
            .map(|(tag, _)| tag)
            .take(3)
            .collect();
        let vectors = match self.vectors_of(&memory_text(&fact, &tags), label, cancel).await {
            Ok(vectors) => vectors,
            Err(MemoryError::Embedder(crate::EmbedderError::Failed { .. })) => centroid(cluster),
            Err(error) => return Err(error),
        };
        let now_ms = self.now_ms();
        let record = MemoryRecord {
            id,
            user: user.clone(),
            chat: Arc::clone(&first.chat),
            memory_id,
            artifact_name: first.artifact_name.clone(),
            language: language_of(&fact).code().to_owned(),
            fact,
            importance: 2,
            tags,
            created_ms: now_ms,
            updated_ms: now_ms,
            expires_ms: self.expiry(2),
            label,
            provenance: Provenance::Consolidation { from },
            supersedes: Vec::new(),
            state: MemoryState::Active,
            version: 1,
            vectors,
            sequence: 0,
        };
        let mut writes = vec![RecordWrite::PutMemory {
            record: Box::new(record),
            expected: Expected::Absent,
        }];
        writes.extend(cluster.iter().map(|memory| RecordWrite::PatchMemory {
            id: memory.id,
            // One that was changed since is not what the new text says.
            expected: Expected::Sequence(memory.sequence),
            patch: MemoryPatch {
                state: Some(MemoryState::Consolidated { by: id }),
                ..MemoryPatch::default()
            },
        }));
        Ok(matches!(self.commit(writes).await?, RecordsCommit::Done { .. }))
    }
}

/// The clusters of a group: what hangs together by pairs that are near enough, whatever the order. Those that are too
/// large are cut by the order of ids.
fn clusters(mut group: Vec<MemoryRecord>) -> Vec<Vec<MemoryRecord>> {
    group.retain(|memory| memory.vectors.is_some());
    group.sort_by_key(|memory| memory.id);
    let vectors: Vec<Vec<f32>> = group
        .iter()
        .map(|memory| memory.vectors.as_ref().map(|vectors| normalised(&vectors.dense)).unwrap_or_default())
        .collect();
    let mut cluster_of: Vec<usize> = (0..group.len()).collect();
    for (left, of_left) in vectors.iter().enumerate() {
        for (right, of_right) in vectors.iter().enumerate().skip(left + 1) {
            if of_left.len() == of_right.len() && scalar_product(of_left, of_right) >= TOGETHER {
                let (from, to) = (cluster_of.get(right).copied(), cluster_of.get(left).copied());
                if let (Some(from), Some(to)) = (from, to) {
                    cluster_of.iter_mut().filter(|cluster| **cluster == from).for_each(|cluster| *cluster = to);
                }
            }
        }
    }
    let mut clusters: BTreeMap<usize, Vec<MemoryRecord>> = BTreeMap::new();
    for (memory, cluster) in group.into_iter().zip(cluster_of) {
        clusters.entry(cluster).or_default().push(memory);
    }
    let mut cut: Vec<Vec<MemoryRecord>> = clusters
        .into_values()
        .flat_map(|cluster| cluster.chunks(LARGEST_CLUSTER).map(<[_]>::to_vec).collect::<Vec<_>>())
        .filter(|cluster| cluster.len() >= SMALLEST_CLUSTER)
        .collect();
    cut.sort_by_key(|cluster| cluster.first().map(|memory| memory.id));
    cut
}

/// The middle of the cluster's vectors, of length 1.
fn centroid(cluster: &[MemoryRecord]) -> Option<Vectors> {
    let vectors: Vec<&Vectors> = cluster.iter().filter_map(|memory| memory.vectors.as_ref()).collect();
    let first = vectors.first()?;
    let mut sum = vec![0.0_f32; first.dense.len()];
    for vector in &vectors {
        for (sum, value) in sum.iter_mut().zip(normalised(&vector.dense)) {
            *sum += value;
        }
    }
    Some(Vectors {
        model: Arc::clone(&first.model),
        dense: normalised(&sum).into(),
        sparse: None,
    })
}
