//! Servers behind TLS, and whom they are believed to be.

use crate::common::{Client, Names, secure, text};
use std::sync::Arc;
use tidegate_builtins::{HttpSettings, SystemResolver};
use tidegate_policy::{Classification, HostRules, Label};

const HOSTS: [(&str, Classification); 1] = [("inner.example", Classification::Internal)];

fn names() -> Names {
    Names::default().name("inner.example", &[&["127.0.0.1"]])
}

#[tokio::test]
async fn a_server_is_reached_by_https_that_an_authority_vouches_for() {
    let (port, authority) = secure("inner.example", text("kept from others")).await;
    let client = Client::trusting(&HOSTS, names(), &authority);
    let ended = client.get(&format!("https://inner.example:{port}/a")).await;
    assert_eq!(
        ended.text,
        format!("HTTP 200 from https://inner.example:{port}/a (text/plain, 16 bytes)\nkept from others")
    );
    assert!(ended.ok);
    assert_eq!(ended.label, Label::untrusted(Classification::Internal));
}

#[tokio::test]
async fn a_server_that_is_not_who_it_should_be_is_told_nothing_and_why_is_said() {
    let (port, _) = secure("inner.example", text("evil")).await;
    let (_, other) = secure("inner.example", text("")).await;
    let (elsewhere, authority) = secure("other.example", text("evil")).await;
    let table = [
        (
            port,
            Client::new(&HOSTS, names()),
            "an authority nobody knows",
            "UnknownIssuer",
        ),
        (
            port,
            Client::trusting(&HOSTS, names(), &other),
            "another authority",
            "BadSignature",
        ),
        (
            elsewhere,
            Client::trusting(&HOSTS, names(), &authority),
            "another name",
            "not valid for name",
        ),
    ];
    for (port, client, what, why) in table {
        let ended = client.get(&format!("https://inner.example:{port}/")).await;
        assert!(
            !ended.ok && !ended.text.contains("evil"),
            "{what}: {}",
            ended.text
        );
        assert!(
            ended
                .text
                .starts_with(&format!("inner.example:{port} cannot be reached: ")),
            "{what}: {}",
            ended.text
        );
        assert!(
            ended.text.contains("certificate") && ended.text.contains(why),
            "{what}: {}",
            ended.text
        );
    }
}

#[test]
fn what_holds_no_certificates_is_refused() {
    for pem in [
        "",
        "no certificate",
        "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n",
    ] {
        let hosts = Arc::new(HostRules::new::<&str>([]).unwrap());
        let settings = HttpSettings::new(hosts).resolver(Arc::new(SystemResolver));
        let error = settings.authorities(pem.as_bytes()).map(drop).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("no certificates of authorities can be read there"),
            "{pem:?}"
        );
    }
}
