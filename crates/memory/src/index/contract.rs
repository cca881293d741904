//! The trait.

use super::point::{IndexFilter, IndexPoint};
use crate::IndexError;
use std::sync::Arc;
use tidegate_policy::Classification;
use tidegate_store::{Collection, ModelRecord, PointId, SparseVector};
use tidegate_tools::BoxFuture;

/// One change of the journal, for an index.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexChange {
    /// The point is as given from now on.
    Upsert(Box<IndexPoint>),
    /// The point is not there any more, if it ever was.
    Delete {
        /// The collection.
        collection: Collection,
        /// Its id.
        id: PointId,
    },
}

/// By what is searched.
#[derive(Clone, Debug, PartialEq)]
pub enum Leg {
    /// By the dense vector, of length 1; scores are cosines.
    Dense(Arc<[f32]>),
    /// By the learned sparse vector; scores are scalar products.
    Sparse(Arc<SparseVector>),
}

/// A search.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSearch {
    /// Where.
    pub collection: Collection,
    /// By what.
    pub leg: Leg,
    /// Among which points.
    pub filter: IndexFilter,
    /// At most so many of them, the best.
    pub limit: usize,
    /// None with a smaller score than this one.
    pub least: Option<f32>,
}

/// A point that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexHit {
    /// Its id.
    pub id: PointId,
    /// The larger, the better.
    pub score: f32,
}

/// An index of vectors. It is derived from the records and follows their journal: [`apply`](Self::apply) is called
/// with changes in order, from behind [`position`](Self::position). After a crash, changes may come again.
///
/// Words are not its business: the lexical leg is always searched beside it, over what may be seen, since the weight
/// of a word would tell of items that may not. [`IndexPoint::lexical`] is there for an index that keeps it for others.
///
/// `tidegate_testing::conformance::vector_index` checks an implementation.
pub trait VectorIndex: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// The highest level of what may be put into it and asked of it. Points above are kept out of it, and contexts above
    /// are answered without it; both are searched exactly. Default: RESTRICTED, for an index that does not leave the machine.
    fn clearance(&self) -> Classification {
        Classification::Restricted
    }

    /// Opens it for vectors of `model`; a new one is empty at position 0. Called once, before anything else.
    ///
    /// # Errors
    /// [`IndexError::OtherModel`] if it holds vectors of another one and nothing was changed;
    /// [`IndexError::InUse`], [`IndexError::Unreachable`].
    fn open(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>>;

    /// The journal's number up to which every change is in it, durably: after a crash it is not less. 0 if nothing is.
    ///
    /// # Errors
    /// [`IndexError`].
    fn position(&self) -> BoxFuture<'_, Result<u64, IndexError>>;

    /// Applies changes in order, of which `position` is the last one's number. They can be found when it returns.
    /// Applying them again changes nothing.
    ///
    /// # Errors
    /// [`IndexError`]; some may have been applied then.
    fn apply(&self, changes: Vec<IndexChange>, position: u64) -> BoxFuture<'_, Result<(), IndexError>>;

    /// Makes durable what was applied.
    ///
    /// # Errors
    /// [`IndexError`].
    fn flush(&self) -> BoxFuture<'_, Result<(), IndexError>>;

    /// Does now what makes searching fast and otherwise happens by itself later, as building a graph; says whether there
    /// was something to do. For use after many changes at once. Default: there is nothing.
    ///
    /// # Errors
    /// [`IndexError`].
    fn optimise(&self) -> BoxFuture<'_, Result<bool, IndexError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// The best points, best first; of equal scores the smaller id first. Points without such a vector are not found.
    ///
    /// # Errors
    /// [`IndexError`].
    fn search(&self, search: IndexSearch) -> BoxFuture<'_, Result<Vec<IndexHit>, IndexError>>;

    /// How many points of `collection` pass `filter`.
    ///
    /// # Errors
    /// [`IndexError`].
    fn count(&self, collection: Collection, filter: IndexFilter) -> BoxFuture<'_, Result<u64, IndexError>>;

    /// Empties it for vectors of `model`, at position 0.
    ///
    /// # Errors
    /// [`IndexError`].
    fn reset(&self, model: &ModelRecord) -> BoxFuture<'_, Result<(), IndexError>>;
}
