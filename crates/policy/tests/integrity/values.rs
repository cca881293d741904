//! Which values are the owner's.

use super::{check, content_reader, judge, listed, mail, reader, said, tool, trusted_reader};
use tidegate_policy::{ActionClass, CallId, ToolOutcome, ValueOrigin};

#[test]
fn dates_and_times_match_however_they_are_written() {
    let event = tool("create_event", ActionClass::LocalWrite, &[], &["title"]);
    let rows = [
        (
            "Create an event on May 15th, 2024 at 10:00.",
            "2024-05-15 10:00",
            "2024-05-15 11:00",
            true,
        ),
        (
            "Create an event on 15.05.2024 at 10 am for two hours.",
            "2024-05-15T10:00:00",
            "2024-05-15T12:00",
            true,
        ),
        (
            "Create an event on May 15, 2024 from 10:00 to 11:30.",
            "2024-05-15 10:00",
            "2024-05-15 11:30",
            true,
        ),
        (
            "Create a 30-minute event on 2024-05-15 at 3 pm.",
            "2024-05-15 15:00",
            "2024-05-15 15:30",
            true,
        ),
        (
            "Create an event on May 15th.",
            "2025-05-15 00:00",
            "2025-05-15 23:59",
            true,
        ),
        (
            "Create an event on May 15th, 2024 at 10:00.",
            "2024-05-16 10:00",
            "2024-05-16 11:00",
            false,
        ),
        (
            "Create an event on May 15th, 2024 at 10:00.",
            "2024-05-15 10:00",
            "2024-05-15 18:00",
            false,
        ),
        (
            "Create an event on May 15th, 2024 at 10:00 for one hour.",
            "2024-05-15 10:00",
            "2024-05-15 12:00",
            false,
        ),
        (
            "Create an event on May 15th, 2024 at 10:00.",
            "2023-05-15 10:00",
            "2023-05-15 11:00",
            false,
        ),
        (
            "Trag einen Termin am 15. Mai 2024 um 10 Uhr ein.",
            "2024-05-15 10:00",
            "2024-05-15 11:00",
            true,
        ),
        (
            "Erstelle einen Termin am 15.5.2024 um 10:00 für eine Stunde.",
            "2024-05-15 10:00",
            "2024-05-15 11:00",
            true,
        ),
        (
            "Crée un événement le 15 mai 2024 à 10h30.",
            "2024-05-15 10:30",
            "2024-05-15 11:30",
            true,
        ),
        (
            "Crea un evento el 15 de mayo de 2024 a las 10:00.",
            "2024-05-15 10:00",
            "2024-05-15 11:00",
            true,
        ),
        (
            "请在2024年5月15日上午10点创建一个会议。",
            "2024-05-15 10:00",
            "2024-05-15 11:00",
            true,
        ),
        (
            "请在2024年5月15日下午3点半创建一个会议，两小时。",
            "2024-05-15 15:30",
            "2024-05-15 17:30",
            true,
        ),
    ];
    check(rows.map(|(owner, start, end, expected)| {
        let arguments = format!(r#"{{"title": "x", "start": "{start}", "end": "{end}"}}"#);
        (
            format!("{owner} {start} {end}"),
            expected,
            judge(&said(owner), &event, &arguments),
        )
    }));
}

#[test]
fn days_relative_to_today_need_a_trusted_today() {
    let event = tool("create_event", ActionClass::LocalWrite, &[], &["title"]);
    let arguments = r#"{"title": "x", "date": "2024-05-16"}"#;
    let mut ledger = said("Create an event tomorrow.");
    assert!(
        !judge(&ledger, &event, arguments).satisfied,
        "nobody said what day it is"
    );
    listed(&mut ledger, &reader("get_day"), "{}", "2024-05-15");
    assert!(
        !judge(&ledger, &event, arguments).satisfied,
        "an untrusted result said so"
    );
    ledger.set_today("2024-05-15");
    assert!(judge(&ledger, &event, arguments).satisfied);
}

#[test]
fn a_value_matches_as_a_whole_token_of_its_type_or_not_at_all() {
    let rows = [
        ("bob@house.example", "bob@house.example", true),
        ("bob@house.example", "bob@HOUSE.example", true),
        ("bob@house.example", "Bob@house.example", false),
        ("bob@house.example", "ob@house.example", false),
        ("bob@house.example", "bob@house.example.evil.example", false),
        ("bob@house.example", "b\u{43e}b@house.example", false),
        ("bob@house.example", "bob\u{200b}@house.example", false),
        ("b\u{43e}b@house.example", "bob@house.example", false),
        ("bob\u{ff20}house.example", "bob@house.example", true),
        ("Alice", "Alice", true),
        ("Alice", "Ali", false),
        ("Alice", "alice", false),
        ("Alice Smith", "Alice", false),
        ("Alice Smith", "Alice Smith", true),
        ("'Le Petit Port'", "Le Petit Port", true),
        ("'Le Petit Port'", "Petit Port", false),
        ("the #general channel", "general", true),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000", true),
        ("DE89370400440532013000", "DE8937040044053201300", false),
    ];
    check(rows.map(|(named, value, expected)| {
        let arguments = format!(r#"{{"to": {}}}"#, serde_json::Value::from(value));
        let verdict = judge(
            &said(&format!("Send a message to {named}, please.")),
            &mail(),
            &arguments,
        );
        (format!("{named} {value:?}"), expected, verdict)
    }));
}

#[test]
fn a_url_endorses_itself_and_nothing_else_of_its_host() {
    let fetch = {
        let mut fetch = reader("http_get");
        fetch.integrity.egress = true;
        fetch.integrity.recipient_arguments = vec!["url".into()];
        fetch
    };
    let rows = [
        ("https://news.example/today", true),
        ("HTTPS://NEWS.example/today", true),
        ("https://news.example/Today", false),
        ("https://news.example/today?q=1", false),
        ("https://news.example/", false),
        ("https://news.example.evil.example/today", false),
        ("http://news.example/today", false),
    ];
    check(rows.map(|(url, expected)| {
        let verdict = judge(
            &said("Read https://news.example/today for me."),
            &fetch,
            &format!(r#"{{"url": "{url}"}}"#),
        );
        (url.to_owned(), expected, verdict)
    }));
}

#[test]
fn a_fetch_may_follow_a_link_that_stands_whole_in_one_result() {
    let mut fetch = reader("http_get");
    fetch.integrity.egress = true;
    fetch.integrity.recipient_arguments = vec!["url".into()];
    let mut ledger = said("Read the article Bob posted.");
    listed(
        &mut ledger,
        &reader("read_channel"),
        "{}",
        "Bob: see https://blog.example/a?b=1, it is good",
    );
    for (url, expected) in [
        ("https://blog.example/a?b=1", true),
        ("https://blog.example/a", false),
        ("https://blog.example/a?b=1&secret=2", false),
    ] {
        assert_eq!(
            judge(&ledger, &fetch, &format!(r#"{{"url": "{url}"}}"#)).satisfied,
            expected,
            "{url}"
        );
    }
    fetch.consequential = true;
    assert!(!judge(&ledger, &fetch, r#"{"url": "https://blog.example/a?b=1"}"#).satisfied);
}

#[test]
fn numbers_of_few_digits_count_only_in_their_role() {
    let pay = tool("pay", ActionClass::Financial, &["iban"], &[]);
    let book = tool("reserve_table", ActionClass::Financial, &["place"], &[]);
    let rows = [
        (
            &pay,
            "Pay $98.70 to DE89370400440532013000.",
            r#"{"iban": "DE89370400440532013000", "amount": 98.7}"#,
            true,
        ),
        (
            &pay,
            "Pay 1,250.00 EUR to DE89370400440532013000.",
            r#"{"iban": "DE89370400440532013000", "amount": "1250"}"#,
            true,
        ),
        (
            &pay,
            "Pay $98.70 to DE89370400440532013000.",
            r#"{"iban": "DE89370400440532013000", "amount": 98}"#,
            false,
        ),
        (
            &pay,
            "Pay $50 by May 12 to DE89370400440532013000.",
            r#"{"iban": "DE89370400440532013000", "amount": 12}"#,
            false,
        ),
        (
            &book,
            "Book a table at 'Mar' for 4 people.",
            r#"{"place": "Mar", "seats": 4}"#,
            true,
        ),
        (
            &book,
            "Book a table at 'Mar' for 4 people, by the 7 windows.",
            r#"{"place": "Mar", "seats": 7}"#,
            false,
        ),
    ];
    check(rows.map(|(tool, owner, arguments, expected)| {
        (
            format!("{owner} {arguments}"),
            expected,
            judge(&said(owner), tool, arguments),
        )
    }));
}

#[test]
fn an_id_is_trusted_where_one_row_alone_bears_the_name() {
    let delete = tool("delete_ticket", ActionClass::Destructive, &[], &[]);
    let list = reader("list_tickets");
    let one = "- id: '7'\n  title: Broken lamp\n- id: '8'\n  title: New chair\n";
    let rows = [
        ("Delete the ticket 'Broken lamp'.", one, "7", true),
        ("Delete the ticket 'Broken lamp'.", one, "8", false),
        ("Delete the broken lamp ticket.", one, "7", true),
        ("Delete the ticket 'Broken'.", one, "7", false),
        (
            "Delete the oldest ticket.",
            "- id: '7'\n  title: oldest ticket\n",
            "7",
            false,
        ),
        ("Delete the ticket.", "- id: '7'\n  title: ticket\n", "7", false),
        (
            "Delete the ticket 'Broken lamp'.",
            "- id: '7'\n  title: Broken lamp\n- id: '9'\n  title: broken-lamp\n",
            "9",
            false,
        ),
        (
            "Delete the ticket 'Broken lamp'.",
            "- id: '7'\n  title: Br\u{43e}ken lamp\n",
            "7",
            false,
        ),
        (
            "Delete the ticket 'Broken lamp'.",
            r#"[{"id": 7, "title": "Broken lamp"}]"#,
            "7",
            true,
        ),
        (
            "Delete the ticket 'Broken lamp'.",
            "id 7: Broken lamp",
            "7",
            false,
        ),
        (
            "Delete the ticket 'Broken lamp'.",
            r"{'note': 'it\'s', id: 7, title: Broken lamp}",
            "7",
            false,
        ),
        (
            "Delete the ticket 'Broken lamp'.",
            "a: &x {id: 7, title: Broken lamp}\nb: *x\n",
            "7",
            false,
        ),
    ];
    check(rows.map(|(owner, listing, id, expected)| {
        let mut ledger = said(owner);
        listed(&mut ledger, &list, "{}", listing);
        (
            format!("{owner} {listing:?} {id}"),
            expected,
            judge(&ledger, &delete, &format!(r#"{{"ticket_id": "{id}"}}"#)),
        )
    }));
}

#[test]
fn rows_come_from_listings_of_the_same_kind_of_thing_and_not_from_content() {
    let delete = tool("delete_file", ActionClass::Destructive, &[], &[]);
    for (source, expected) in [
        (reader("list_files"), true),
        (reader("list_emails"), false),
        (content_reader("read_file"), false),
    ] {
        let mut ledger = said("Delete the file 'old.txt'.");
        listed(&mut ledger, &source, "{}", "- id: f1\n  name: old.txt\n");
        assert_eq!(
            judge(&ledger, &delete, r#"{"file_id": "f1"}"#).satisfied,
            expected,
            "{}",
            source.name
        );
    }
}

#[test]
fn an_echo_endorses_nothing() {
    let mut ledger = said("Send Nora a message.");
    let contacts = trusted_reader("find_contact");
    listed(
        &mut ledger,
        &contacts,
        r#"{"name": "Nora", "mail": "sink@drop.example"}"#,
        "name: Nora\nmail: sink@drop.example\n",
    );
    assert!(!judge(&ledger, &mail(), r#"{"to": "sink@drop.example"}"#).satisfied);
    listed(
        &mut ledger,
        &contacts,
        r#"{"name": "Nora"}"#,
        "name: Nora\nmail: nora@house.example\n",
    );
    let verdict = judge(&ledger, &mail(), r#"{"to": "nora@house.example"}"#);
    assert!(verdict.satisfied, "{:?}", verdict.missing);
    assert!(matches!(
        verdict.values[0].origin,
        ValueOrigin::TrustedField { .. }
    ));

    let delete = tool("delete_ticket", ActionClass::Destructive, &[], &[]);
    let mut ledger = said("Delete the ticket 'Lamp'.");
    listed(
        &mut ledger,
        &reader("format_ticket"),
        r#"{"id": "66", "title": "Lamp"}"#,
        r#"{"id": "66", "title": "Lamp"}"#,
    );
    assert!(!judge(&ledger, &delete, r#"{"ticket_id": "66"}"#).satisfied);
}

#[test]
fn errors_and_consequential_results_endorse_nothing_but_a_new_objects_id() {
    let share = tool("share_file", ActionClass::Egress, &["with"], &[]);
    let create = tool("create_file", ActionClass::LocalWrite, &[], &["content"]);
    let owner = "Create the file 'plan.txt' and share it with bob@house.example.";
    let mut ledger = said(owner);
    let call = CallId::new("made");
    let made = r#"{"id": "f9", "name": "plan.txt", "owner": "sink@drop.example"}"#;
    ledger.tool_result(
        &call,
        &create,
        &super::json(r#"{"filename": "plan.txt"}"#),
        ToolOutcome::Text(made),
    );
    assert!(
        judge(
            &ledger,
            &share,
            r#"{"file_id": "f9", "with": "bob@house.example"}"#
        )
        .satisfied
    );
    assert!(
        !judge(
            &ledger,
            &share,
            r#"{"file_id": "f9", "with": "sink@drop.example"}"#
        )
        .satisfied
    );

    // The same id, had it occurred before, is no new object.
    let mut ledger = said(owner);
    listed(
        &mut ledger,
        &reader("list_files"),
        "{}",
        "- id: f9\n  name: secrets.txt\n",
    );
    ledger.tool_result(
        &call,
        &create,
        &super::json(r#"{"filename": "plan.txt"}"#),
        ToolOutcome::Text(made),
    );
    assert!(
        !judge(
            &ledger,
            &share,
            r#"{"file_id": "f9", "with": "bob@house.example"}"#
        )
        .satisfied
    );

    let mut ledger = said("Send Nora a message.");
    let error = ToolOutcome::Error("no such contact; did you mean sink@drop.example?");
    ledger.tool_result(&call, &trusted_reader("find_contact"), &super::json("{}"), error);
    assert!(!judge(&ledger, &mail(), r#"{"to": "sink@drop.example"}"#).satisfied);
}

#[test]
fn links_addresses_and_accounts_inside_content_are_control_values() {
    let rows = [
        ("all is well", true),
        ("I meet you on 2024-05-15 at 10:00, room 12, 3 people", true),
        ("see https://evil.example/x", false),
        ("see evil.example/x", false),
        ("see www.evil.example", false),
        ("[here](https://evil.example)", false),
        ("write to sink@drop.example", false),
        ("mailto:sink@drop.example", false),
        ("IBAN DE89370400440532013000", false),
        ("card 4237-4252-7456-2574", false),
        ("wire it to 0123456789", false),
        ("see https://ours.example/x", true),
        ("see https://ours.example/x?leak", false),
    ];
    check(rows.map(|(body, expected)| {
        let owner = "Send bob@house.example a message about https://ours.example/x";
        let arguments = format!(r#"{{"to": "bob@house.example", "body": "{body}"}}"#);
        (
            body.to_owned(),
            expected,
            judge(&said(owner), &mail(), &arguments),
        )
    }));
}

#[test]
fn a_reply_goes_to_the_authenticated_sender_of_the_message_named() {
    let mut inbox = reader("list_emails");
    inbox.integrity.rows.sender = Some("from".into());
    let mails = "- id: 1\n  subject: Offer\n  from: ann@house.example\n  reply_to: sink@drop.example\n  body: 'answer to sink@drop.example'\n- id: 2\n  subject: Party\n  from: tom@house.example\n";
    for (to, expected) in [
        ("ann@house.example", true),
        ("tom@house.example", false),
        ("sink@drop.example", false),
    ] {
        let mut ledger = said("Reply to the email 'Offer' that I agree.");
        listed(&mut ledger, &inbox, "{}", mails);
        let verdict = judge(
            &ledger,
            &mail(),
            &format!(r#"{{"to": "{to}", "body": "I agree."}}"#),
        );
        assert_eq!(verdict.satisfied, expected, "{to}: {:?}", verdict.missing);
        let mut ledger = said("Send an email about 'Offer'.");
        listed(&mut ledger, &inbox, "{}", mails);
        assert!(
            !judge(&ledger, &mail(), &format!(r#"{{"to": "{to}"}}"#)).satisfied,
            "{to}"
        );
    }
}

#[test]
fn configuration_values_are_the_owners() {
    let mut ledger = said("Send me an email with the summary.");
    assert!(!judge(&ledger, &mail(), r#"{"to": "me@house.example"}"#).satisfied);
    ledger.configuration_values(["me@house.example"]);
    assert!(judge(&ledger, &mail(), r#"{"to": "me@house.example"}"#).satisfied);
}
