//! Records around other records.

/// Writes the named methods of [`Records`](tidegate_store::Records) as calls of the same methods of a field: for records
/// in which a test changes some methods. It stands in the `impl` block, before or behind the methods that are written out.
///
/// ```
/// use std::sync::Arc;
/// use tidegate_store::{BoxFuture, MemoryQuery, MemoryRecord, Records, StoreError};
///
/// /// Records in which nothing is remembered.
/// struct Forgetful(Arc<dyn Records>);
///
/// impl Records for Forgetful {
///     tidegate_testing::delegate_records!(0: write, history, chunks, memory_sources, resources, model, unstaged, mark,
///         changes, statistics);
///
///     fn memories(&self, _: MemoryQuery) -> BoxFuture<'_, Result<Vec<MemoryRecord>, StoreError>> {
///         Box::pin(std::future::ready(Ok(Vec::new())))
///     }
/// }
/// ```
#[macro_export]
macro_rules! delegate_records {
    ($field:tt: $($method:ident),+ $(,)?) => {
        $($crate::delegate_records!(@$method $field);)+
    };
    (@write $field:tt) => {
        fn write(
            &self,
            writes: Vec<$crate::store::RecordWrite>,
        ) -> $crate::store::BoxFuture<'_, Result<$crate::store::RecordsCommit, $crate::store::StoreError>> {
            self.$field.write(writes)
        }
    };
    (@memories $field:tt) => {
        fn memories(
            &self,
            query: $crate::store::MemoryQuery,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::MemoryRecord>, $crate::store::StoreError>> {
            self.$field.memories(query)
        }
    };
    (@history $field:tt) => {
        fn history(
            &self,
            id: $crate::store::PointId,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::MemoryVersion>, $crate::store::StoreError>> {
            self.$field.history(id)
        }
    };
    (@chunks $field:tt) => {
        fn chunks(
            &self,
            query: $crate::store::ChunkQuery,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::ChunkRecord>, $crate::store::StoreError>> {
            self.$field.chunks(query)
        }
    };
    (@memory_sources $field:tt) => {
        fn memory_sources(
            &self,
            query: $crate::store::SourceQuery,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::SourceRecord>, $crate::store::StoreError>> {
            self.$field.memory_sources(query)
        }
    };
    (@resources $field:tt) => {
        fn resources(
            &self,
            query: $crate::store::SourceQuery,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::ResourceRecord>, $crate::store::StoreError>> {
            self.$field.resources(query)
        }
    };
    (@model $field:tt) => {
        fn model(
            &self,
        ) -> $crate::store::BoxFuture<'_, Result<Option<$crate::store::ModelRecord>, $crate::store::StoreError>> {
            self.$field.model()
        }
    };
    (@unstaged $field:tt) => {
        fn unstaged(
            &self,
            query: $crate::store::UnstagedQuery,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::Item>, $crate::store::StoreError>> {
            self.$field.unstaged(query)
        }
    };
    (@mark $field:tt) => {
        fn mark<'a>(
            &'a self,
            name: &'a str,
        ) -> $crate::store::BoxFuture<'a, Result<Option<u64>, $crate::store::StoreError>> {
            self.$field.mark(name)
        }
    };
    (@changes $field:tt) => {
        fn changes(
            &self,
            after: u64,
            limit: usize,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::Change>, $crate::store::StoreError>> {
            self.$field.changes(after, limit)
        }
    };
    (@keeps_words $field:tt) => {
        fn keeps_words(&self) -> bool {
            self.$field.keeps_words()
        }
    };
    (@outlines $field:tt) => {
        fn outlines(
            &self,
            query: $crate::store::OutlineQuery,
        ) -> $crate::store::BoxFuture<'_, Result<Vec<$crate::store::OutlinedChange>, $crate::store::StoreError>> {
            self.$field.outlines(query)
        }
    };
    (@scan_items $field:tt) => {
        fn scan_items(
            &self,
            form: u32,
            visit: $crate::store::ItemVisitor,
        ) -> $crate::store::BoxFuture<'_, Result<Option<u64>, $crate::store::StoreError>> {
            self.$field.scan_items(form, visit)
        }
    };
    (@scan_vectors $field:tt) => {
        fn scan_vectors<'a>(
            &'a self,
            model: &'a str,
            visit: $crate::store::VectorsVisitor,
        ) -> $crate::store::BoxFuture<'a, Result<Option<u64>, $crate::store::StoreError>> {
            self.$field.scan_vectors(model, visit)
        }
    };
    (@vectors $field:tt) => {
        fn vectors(
            &self,
            collection: $crate::store::Collection,
            ids: Vec<$crate::store::PointId>,
        ) -> $crate::store::BoxFuture<
            '_,
            Result<Vec<($crate::store::PointId, $crate::store::Vectors)>, $crate::store::StoreError>,
        > {
            self.$field.vectors(collection, ids)
        }
    };
    (@statistics $field:tt) => {
        fn statistics(
            &self,
        ) -> $crate::store::BoxFuture<'_, Result<$crate::store::RecordsStatistics, $crate::store::StoreError>> {
            self.$field.statistics()
        }
    };
}
