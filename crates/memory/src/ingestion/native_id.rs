//! The ids of resources.

use crate::ids::uuid_of;
use tidegate_policy::{Label, SourceId, UserId};

/// Letters and digits that stand for a user or a conversation.
const LENGTH: usize = 6;

/// The native id of a resource, as in `U_abc123_C_xyz789_T_1748246400`: user, conversation, seconds since 1970. Users and
/// conversations are hashed: ids are shown to models.
pub(super) fn native_id(user: &UserId, chat: &str, label: Label, seconds: i64) -> SourceId {
    // With the label: that somebody above gave a file in the same second must not tell.
    let chat = short(&serde_json::json!([
        "chat",
        user,
        chat,
        label.classification,
        label.integrity
    ]));
    let user = short(&serde_json::json!(["user", user]));
    SourceId::new(format!("U_{user}_C_{chat}_T_{seconds}"))
}

/// Six characters of a hash, in letters and digits.
fn short(value: &serde_json::Value) -> String {
    const DIGITS: [char; 36] = [
        'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't',
        'u', 'v', 'w', 'x', 'y', 'z', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
    ];
    let mut number = uuid_of(value).as_u128() >> 8;
    let mut text = String::with_capacity(LENGTH);
    for _ in 0..LENGTH {
        let place = usize::try_from(number % 36).unwrap_or(0);
        text.push(DIGITS.get(place).copied().unwrap_or('a'));
        number /= 36;
    }
    text
}
