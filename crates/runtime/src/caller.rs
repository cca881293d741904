//! Who is behind a session, as rules see them.

use tidegate_policy::{Caller, Role, SessionName, UserId};

/// The user of a session with this name, or without one; `attended` if somebody is there to be asked.
pub(crate) fn caller<'a>(
    user: &'a UserId,
    role: Role,
    session_name: Option<&'a SessionName>,
    attended: bool,
) -> Caller<'a> {
    Caller {
        user: Some(user.as_str()),
        role: Some(role),
        session_name: session_name.map(SessionName::as_str),
        // The command line is the only one there is, and it is none.
        channel: None,
        attended,
    }
}
