//! Memories for benchmarks: the same ones in every run, and how times are told.

mod material;
mod measure;

pub use material::{
    DIMENSION, NOW_MS, Prepared, fact, label, model, question, record, scope, user, vector, writes,
};
pub use measure::{Sample, writes_a_second};
