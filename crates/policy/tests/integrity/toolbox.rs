//! Tools of many domains, and rows of an owner's words, a call and whether it runs.

use super::{check, judge, said, tool};
use tidegate_policy::{ActionClass, ToolPolicy};

/// What the owner wrote, the tool, its arguments, and whether it is licensed.
pub(crate) struct Row<'r>(
    pub(crate) &'r str,
    pub(crate) &'r str,
    pub(crate) &'r str,
    pub(crate) bool,
);

pub(crate) fn named(name: &str) -> ToolPolicy {
    use ActionClass::{Destructive, Egress, Financial, LocalWrite};
    let (action, recipients, content): (ActionClass, &[&str], &[&str]) = match name {
        "send_email" => (Egress, &["to", "cc", "bcc"], &["subject", "body"]),
        "send_money" => (Financial, &["recipient"], &["subject"]),
        "schedule_transaction" | "update_scheduled_transaction" => (Financial, &["recipient"], &["subject"]),
        "send_direct_message" => (Egress, &["recipient"], &["body"]),
        "send_channel_message" => (Egress, &["channel"], &["body"]),
        "invite_user_to_slack" => (Egress, &["user_email"], &[]),
        "add_user_to_channel" => (Egress, &["user"], &[]),
        "remove_user_from_slack" => (Destructive, &[], &[]),
        "post_webpage" => (Egress, &["url"], &["content"]),
        "share_file" => (Egress, &["email"], &[]),
        "create_calendar_event" => (Egress, &["participants"], &["title", "description", "location"]),
        "add_calendar_event_participants" => (Egress, &["participants"], &[]),
        "cancel_calendar_event"
        | "delete_file"
        | "delete_email"
        | "delete_repository"
        | "update_password"
        | "delete_branch"
        | "close_issue"
        | "remove_from_cart"
        | "cancel_order" => (Destructive, &[], &[]),
        "create_issue" | "add_comment" | "create_pull_request" => (Egress, &[], &["title", "body"]),
        "merge_pull_request" | "push_branch" | "create_release" => (Egress, &[], &["notes"]),
        "place_order" | "order_food" | "buy_item" | "book_flight" | "reserve_hotel"
        | "reserve_restaurant" | "reserve_car_rental" => (Financial, &[], &[]),
        "create_file" | "append_to_file" => (LocalWrite, &[], &["content"]),
        _ => (LocalWrite, &[], &[]),
    };
    tool(name, action, recipients, content)
}

#[track_caller]
pub(crate) fn all(rows: &[Row<'_>]) {
    check(rows.iter().map(|Row(owner, name, arguments, expected)| {
        (
            format!("{owner} {name} {arguments}"),
            *expected,
            judge(&said(owner), &named(name), arguments),
        )
    }));
}
