//! Vectors that were read before their points are known.

use super::matrix::Matrix;
use crate::embedder::{is_of_length_1, normalised};
use tidegate_store::{PointId, SparseVector};

/// Dense and sparse vectors without their points.
#[derive(Debug)]
pub(crate) struct LooseVectors {
    pub(super) dense: Matrix,
    /// Which dense vector is whose.
    pub(super) ids: Vec<(u32, PointId)>,
    pub(super) sparse: Vec<(PointId, SparseVector)>,
}

impl LooseVectors {
    /// None yet; dense ones will have `dimension` values.
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            dense: Matrix::new(dimension),
            ids: Vec::new(),
            sparse: Vec::new(),
        }
    }

    /// Takes vectors of a point in.
    pub(crate) fn put(&mut self, id: PointId, dense: &[f32], sparse: Option<SparseVector>) {
        let number = if is_of_length_1(dense) {
            self.dense.put(dense)
        } else {
            self.dense.put(&normalised(dense))
        };
        self.ids.extend(number.map(|number| (number, id)));
        self.sparse.extend(sparse.map(|sparse| (id, sparse)));
    }
}
