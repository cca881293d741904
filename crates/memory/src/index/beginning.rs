//! The beginning: all items at once, which is much faster than the journal from its first number.

use super::follower::Follower;
use super::loose::LooseVectors;
use super::point::WORDS_FORM;
use super::table::Table;
use crate::MemoryError;
use std::sync::{Arc, Mutex, PoisonError};
use tidegate_policy::Classification;
use tidegate_store::{Collection, ItemVisitor, VectorsVisitor};

/// What two threads make at once.
struct Both<T> {
    memories: T,
    chunks: T,
}

impl<T> Both<T> {
    fn of(mut make: impl FnMut() -> T) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            memories: make(),
            chunks: make(),
        }))
    }

    fn of_collection(&mut self, collection: Collection) -> &mut T {
        match collection {
            Collection::MetaArtifacts => &mut self.memories,
            Collection::SessionRag => &mut self.chunks,
        }
    }
}

/// Nothing is half done where a visitor may panic.
fn with<T, R>(shared: &Mutex<Both<T>>, change: impl FnOnce(&mut Both<T>) -> R) -> R {
    change(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Follower {
    /// Takes in what is there, as far as the records can tell it at once; the journal tells the rest.
    ///
    /// Items and vectors are read side by side, each from a view of its own: what was changed between the two is behind
    /// the lesser of their numbers, and is read again there.
    pub(super) async fn begin(&self) -> Result<(), MemoryError> {
        let (indexed, clearance) = self.read(|state| (state.indexed, state.clearance));
        // An index that has nothing yet gets everything from the journal, which it is told in order.
        if self.index.is_some() && indexed == 0 {
            return Ok(());
        }
        let dimension = self.model.dimension;
        let tables = Both::of(|| Table::new(dimension));
        let vectors = Both::of(|| LooseVectors::new(dimension));
        let into = Arc::clone(&tables);
        let item: ItemVisitor = Box::new(move |item| {
            with(&into, |tables| {
                tables.of_collection(item.collection).take_in(&item)
            });
        });
        let items = self.records.scan_items(WORDS_FORM, item);
        let position = if self.index.is_none() {
            let into = Arc::clone(&vectors);
            let visit: VectorsVisitor = Box::new(move |found| {
                with(&into, |vectors| {
                    let vectors = vectors.of_collection(found.collection);
                    vectors.put(found.id, found.dense, found.sparse);
                });
            });
            let (items, vectors) = tokio::join!(items, self.records.scan_vectors(&self.model.id, visit));
            items?.zip(vectors?).map(|(items, vectors)| items.min(vectors))
        } else {
            match items.await? {
                // The index has these; what is above its clearance is searched here.
                Some(items) if clearance != Classification::Restricted => {
                    let above = self.scan_above(&tables, &vectors, clearance).await?;
                    above.map(|above| items.min(above).min(indexed))
                }
                items => items.map(|items| items.min(indexed)),
            }
        };
        let Some(position) = position else {
            return Ok(());
        };
        let adopt = move || {
            let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
            let mut vectors = vectors.lock().unwrap_or_else(PoisonError::into_inner);
            [Collection::MetaArtifacts, Collection::SessionRag].map(|collection| {
                let loose =
                    std::mem::replace(vectors.of_collection(collection), LooseVectors::new(dimension));
                let mut table = std::mem::replace(tables.of_collection(collection), Table::new(dimension));
                table.adopt(loose);
                table
            })
        };
        let [memories, chunks] = crate::off_thread(adopt)
            .await
            .map_err(|cause| MemoryError::Stopped { cause })?;
        self.write(|state| state.begin_with(memories, chunks, position));
        Ok(())
    }

    /// Vectors of the items in `tables` that are above `clearance`.
    async fn scan_above(
        &self,
        tables: &Arc<Mutex<Both<Table>>>,
        vectors: &Arc<Mutex<Both<LooseVectors>>>,
        clearance: Classification,
    ) -> Result<Option<u64>, MemoryError> {
        let (tables, into) = (Arc::clone(tables), Arc::clone(vectors));
        let visit: VectorsVisitor = Box::new(move |found| {
            let is_above = |tables: &mut Both<Table>| {
                tables
                    .of_collection(found.collection)
                    .is_above(found.id, clearance)
            };
            if with(&tables, is_above) {
                with(&into, |vectors| {
                    let vectors = vectors.of_collection(found.collection);
                    vectors.put(found.id, found.dense, found.sparse);
                });
            }
        });
        Ok(self.records.scan_vectors(&self.model.id, visit).await?)
    }
}
