//! The best hits, in a settled order.

use std::collections::BTreeMap;
use tidegate_memory::{IndexChange, IndexHit, IndexPoint};
use tidegate_store::{Collection, PointId};

/// Hits asked for beyond those that are wanted, so that a tie at the cut is seen without asking again.
const BEYOND: usize = 8;

/// The most hits that are asked for to settle a tie.
const MOST_BEYOND: usize = 4_096;

/// An engine gives hits of equal score in any order, and cuts among them as it likes. Here the smaller id comes first,
/// also at the cut: as long as the last one asked for ties with the last one wanted, more are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    wanted: usize,
    beyond: usize,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    /// These are the ones.
    Done(Vec<IndexHit>),
    /// More have to be asked for.
    More(Cut),
}

impl Cut {
    pub(crate) fn new(wanted: usize) -> Self {
        Self {
            wanted,
            beyond: BEYOND,
        }
    }

    /// How many to ask for.
    pub(crate) fn ask(self) -> usize {
        self.wanted.saturating_add(self.beyond)
    }

    /// Looks at the answer.
    pub(crate) fn settle(self, mut hits: Vec<IndexHit>, least: Option<f32>) -> Next {
        hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        let is_full = hits.len() >= self.ask();
        let last_wanted = self.wanted.checked_sub(1).and_then(|place| hits.get(place));
        let is_tied = match (last_wanted, hits.last()) {
            (Some(wanted), Some(last)) => wanted.score.total_cmp(&last.score).is_eq(),
            _ => false,
        };
        if is_full && is_tied && self.beyond < MOST_BEYOND {
            return Next::More(Self {
                beyond: self.beyond.saturating_mul(8),
                ..self
            });
        }
        hits.truncate(self.wanted);
        hits.retain(|hit| least.is_none_or(|least| hit.score >= least));
        Next::Done(hits)
    }
}

/// What changes in a collection: of each point, the last change alone.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub(crate) upserts: Vec<IndexPoint>,
    pub(crate) deletes: Vec<PointId>,
}

impl Changed {
    pub(crate) fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.deletes.is_empty()
    }
}

/// Sorts changes by collection. In an order of their own: the last change of a point decides, and points are independent.
pub(crate) fn by_collection(changes: Vec<IndexChange>) -> BTreeMap<Collection, Changed> {
    let mut last: BTreeMap<(Collection, PointId), Option<Box<IndexPoint>>> = BTreeMap::new();
    for change in changes {
        match change {
            IndexChange::Upsert(point) => last.insert((point.collection, point.id), Some(point)),
            IndexChange::Delete { collection, id } => last.insert((collection, id), None),
        };
    }
    let mut sorted: BTreeMap<Collection, Changed> = BTreeMap::new();
    for ((collection, id), point) in last {
        let changed = sorted.entry(collection).or_default();
        match point {
            Some(point) => changed.upserts.push(*point),
            None => changed.deletes.push(id),
        }
    }
    sorted
}
