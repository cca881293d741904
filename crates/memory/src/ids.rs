//! Ids that are computed from what they stand for.

use serde_json::Value;
use tidegate_policy::{Label, MemoryId, UserId};
use tidegate_store::PointId;
use uuid::Uuid;

/// The id of a memory: UUIDv5 in the DNS namespace of the JSON array `["user","CLASSIFICATION","INTEGRITY","memory_id"]`.
///
/// JSON keeps the parts apart: ("a", "b_c") and ("a_b", "c") joined with a plain `_` would be one.
///
/// ```
/// use tidegate_memory::memory_point_id;
/// use tidegate_policy::Label;
///
/// let id = memory_point_id(&"ada".into(), Label::BOTTOM, &"likes-tea".into());
/// assert_eq!(id.to_string(), "75b668d1-f6bf-5a8e-8733-0fd3c351ee53");
/// ```
pub fn memory_point_id(user: &UserId, label: Label, memory_id: &MemoryId) -> PointId {
    uuid_of(&serde_json::json!([
        user,
        label.classification,
        label.integrity,
        memory_id
    ]))
}

/// UUIDv5 of the value's JSON.
pub(crate) fn uuid_of(value: &Value) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_DNS, value.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    #[test]
    fn the_namespace_is_that_of_dns() {
        let id = Uuid::new_v5(&Uuid::NAMESPACE_DNS, b"python.org");
        assert_eq!(id.to_string(), "886313e1-3b8a-5372-9b90-0c9aee199e5d");
    }
}
