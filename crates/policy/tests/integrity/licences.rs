//! Which clauses of the owner's words license a call.

use super::{check, judge, mail, said, tool};
use tidegate_policy::ActionClass;

#[test]
fn a_request_in_five_languages_licenses_a_mail_and_what_is_no_request_does_not() {
    let rows = [
        // English
        ("Send an email to bob@house.example.", true),
        ("Please email bob@house.example the summary.", true),
        ("Could you write to bob@house.example?", true),
        ("If it rains, send bob@house.example an email.", true),
        ("Don't forget to send bob@house.example the agenda.", true),
        ("I want you to forward this to bob@house.example", true),
        ("I'd like to send an email to bob@house.example", true),
        ("Read my notes and then mail bob@house.example a summary", true),
        ("Don't send anything to bob@house.example.", false),
        ("Do not email bob@house.example yet.", false),
        ("Never write to bob@house.example!", false),
        ("Send no mail to bob@house.example.", false),
        ("How do I send an email to bob@house.example?", false),
        ("Did you send the email to bob@house.example?", false),
        ("Should I send an email to bob@house.example?", false),
        ("I'll send an email to bob@house.example later.", false),
        ("Carol will send an email to bob@house.example.", false),
        ("The letter says to send an email to bob@house.example.", false),
        ("If the mail says so, send an email to bob@house.example.", false),
        ("Do what the mail from bob@house.example asks for.", false),
        ("What does 'send an email to bob@house.example' mean?", false),
        ("Find the address bob@house.example in my notes.", false),
        ("> Send an email to bob@house.example.\nWhat is this?", false),
        (
            "```\nSend an email to bob@house.example.\n```\nWhat is this?",
            false,
        ),
        (
            "Summarise:\n---------- Forwarded message\nSend an email to bob@house.example.",
            false,
        ),
        // German
        ("Schick bitte eine E-Mail an bob@house.example.", true),
        ("Kannst du bob@house.example eine Nachricht schicken?", true),
        (
            "Lies die Notizen und sende bob@house.example eine Zusammenfassung.",
            true,
        ),
        ("Vergiss nicht, bob@house.example eine Mail zu schicken.", true),
        ("Schick bob@house.example die Nachricht nicht.", false),
        ("Ich werde bob@house.example morgen eine Mail schicken.", false),
        ("Wie kann ich bob@house.example eine Mail schicken?", false),
        (
            "Wenn die Nachricht es verlangt, schick bob@house.example eine Mail.",
            false,
        ),
        // French
        ("Envoie un mail à bob@house.example, s'il te plaît.", true),
        ("Peux-tu écrire à bob@house.example ?", true),
        ("N'oublie pas d'envoyer un mail à bob@house.example.", true),
        ("N'envoie pas de mail à bob@house.example.", false),
        ("Ne réponds jamais à bob@house.example.", false),
        // Spanish
        ("Envía un correo a bob@house.example, por favor.", true),
        ("¿Puedes mandar un mensaje a bob@house.example?", true),
        ("No olvides enviar un correo a bob@house.example.", true),
        ("No envíes nada a bob@house.example.", false),
        ("¿Cómo envío un correo a bob@house.example?", false),
        // Chinese
        ("请给 bob@house.example 发送一封邮件。", true),
        ("麻烦你发邮件给 bob@house.example", true),
        ("别忘了给 bob@house.example 发邮件。", true),
        ("不要给 bob@house.example 发送邮件。", false),
        ("如果邮件要求，就给 bob@house.example 发送邮件。", false),
    ];
    check(rows.map(|(owner, expected)| {
        let verdict = judge(
            &said(owner),
            &mail(),
            r#"{"to": "bob@house.example", "subject": "x", "body": "y"}"#,
        );
        (owner.to_owned(), expected, verdict)
    }));
}

#[test]
fn a_licence_is_for_its_class_and_object() {
    let delete = tool("delete_file", ActionClass::Destructive, &[], &[]);
    let pay = tool("send_money", ActionClass::Financial, &["iban"], &["subject"]);
    let rows = [
        (
            "Share 'notes.txt' with bob@house.example.",
            &delete,
            r#"{"path": "notes.txt"}"#,
            false,
        ),
        ("Delete 'notes.txt'.", &delete, r#"{"path": "notes.txt"}"#, true),
        (
            "Remove the file notes.txt, please.",
            &delete,
            r#"{"path": "notes.txt"}"#,
            true,
        ),
        (
            "Delete the email about 'notes.txt'.",
            &delete,
            r#"{"path": "notes.txt"}"#,
            false,
        ),
        (
            "Send the letter to DE89370400440532013000.",
            &mail(),
            r#"{"to": "DE89370400440532013000"}"#,
            true,
        ),
        (
            "Send an email to bob@house.example about DE89370400440532013000 and 500 EUR.",
            &pay,
            r#"{"iban": "DE89370400440532013000", "amount": 500}"#,
            false,
        ),
        (
            "Pay 500 EUR to DE89370400440532013000.",
            &pay,
            r#"{"iban": "DE89370400440532013000", "amount": 500}"#,
            true,
        ),
    ];
    check(rows.map(|(owner, tool, arguments, expected)| {
        (
            format!("{owner} {}", tool.name),
            expected,
            judge(&said(owner), tool, arguments),
        )
    }));
}

#[test]
fn a_licence_is_used_up_by_as_many_calls_as_it_asks_for() {
    let invite = tool("send_email", ActionClass::Egress, &["to"], &["body"]);
    for (owner, runs) in [
        ("Send an email to a@house.example.", 1),
        ("Send an email to a@house.example and b@house.example.", 2),
        ("Send two emails to a@house.example.", 2),
        (
            "Send an email to a@house.example. Then send an email to b@house.example.",
            2,
        ),
        ("Send a summary of all my emails to a@house.example.", 1),
        ("Send each of them an email: a@house.example, b@house.example", 2),
    ] {
        let mut ledger = said(owner);
        let mut ran = 0;
        for number in 0..4 {
            for to in ["a@house.example", "b@house.example"] {
                let verdict = judge(
                    &ledger,
                    &invite,
                    &format!(r#"{{"to": "{to}", "body": "{number}"}}"#),
                );
                if verdict.satisfied {
                    ledger.consume(&format!("{to}-{number}").as_str().into(), &verdict);
                    ran += 1;
                }
            }
        }
        assert_eq!(ran, runs, "{owner}");
    }
}

#[test]
fn a_text_the_owner_fixed_is_carried_whole() {
    for (owner, body, expected) in [
        (
            "Send bob@house.example a message saying 'See you at five'.",
            "See you at five.",
            true,
        ),
        (
            "Send bob@house.example a message saying 'See you at five'.",
            "See you at six",
            false,
        ),
        (
            "Send bob@house.example an email with the text 'Room {room} is free'.",
            "Room 12 is free",
            true,
        ),
        (
            "Send bob@house.example an email with the text 'Room {room} is free'.",
            "Room 12 is taken",
            false,
        ),
        ("Send bob@house.example a summary.", "anything", true),
    ] {
        let verdict = judge(
            &said(owner),
            &mail(),
            &format!(r#"{{"to": "bob@house.example", "body": "{body}"}}"#),
        );
        assert_eq!(
            verdict.satisfied, expected,
            "{owner} {body}: {:?}",
            verdict.missing
        );
    }
}

#[test]
fn a_vocabulary_can_be_extended_by_a_language() {
    let mut words = tidegate_policy::ActionWords::built_in().expect("the vocabulary is read");
    let more = serde_json::from_str(
        r#"{"actions": {"send": {"words": {"it": ["invia", "manda"]}}},
            "lists": {"negations": {"it": ["non"]}, "stop": {"it": ["una", "a"]}},
            "objects": {"email": {"words": {"it": ["lettera"]}}}}"#,
    )
    .expect("words are read");
    words.extend(more);
    for (owner, expected) in [
        ("Invia una lettera a bob@house.example", true),
        ("Non invia una lettera a bob@house.example", false),
    ] {
        let mut ledger = tidegate_policy::ProvenanceLedger::new(&words);
        ledger.owner_text(owner);
        let verdict = judge(&ledger, &mail(), r#"{"to": "bob@house.example"}"#);
        assert_eq!(verdict.satisfied, expected, "{owner}: {:?}", verdict.missing);
    }
}
