//! `tidegate doctor`.

use crate::harness::{Ended, Home};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use tidegate_testing::FakeOpenAi;

/// The component of this name.
#[track_caller]
fn component<'a>(report: &'a Value, name: &str) -> &'a Value {
    let components = report["components"].as_array().unwrap();
    let found = components.iter().find(|component| component["component"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {report:#}"))
}

fn doctor(home: &Home) -> Ended {
    home.run(["doctor", "--json"])
}

fn private(home: &Home) {
    let folder = home.path("data");
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn what_works_is_ok() {
    let home = Home::answering("done");
    private(&home);
    home.run(["run", "work"]).code(0);
    let ended = doctor(&home).code(0);
    let report = ended.json();
    assert_eq!(report["ok"], true);
    for name in [
        "configuration",
        "data folder",
        "store",
        "provider s",
        "tiers",
        "user",
        "terminal",
    ] {
        assert_eq!(component(&report, name)["state"], "ok", "{report:#}");
    }
    assert!(
        component(&report, "store")["about"]
            .as_str()
            .unwrap()
            .contains("schema"),
        "{report:#}"
    );
    assert!(
        component(&report, "provider s")["about"]
            .as_str()
            .unwrap()
            .contains("RESTRICTED")
    );
    component(&report, "confinement");
    let text = home.run(["doctor"]).code(0).out;
    assert!(text.contains("ok    tiers"), "{text}");
}

#[test]
fn looking_makes_nothing() {
    let home = Home::bare();
    std::fs::remove_dir(home.path("data")).unwrap();
    doctor(&home);
    assert!(!home.path("data").exists());
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let scripted = |more: &str| {
        let home = Home::answering("done");
        private(&home);
        home.configure(&format!("{}{more}", home.read("config/tidegate/tidegate.toml")));
        home
    };
    let table: [(Home, &str, &str, &str, i32); 7] = [
        (Home::bare(), "tiers", "fail", "tidegate init", 1),
        (Home::bare(), "configuration", "warn", "tidegate init", 1),
        (scripted("[agnt]\n"), "configuration", "fail", "agnt", 1),
        (
            scripted("[council]\nx = 1\n"),
            "configuration",
            "warn",
            "no effect in this version",
            0,
        ),
        (
            scripted("[providers.t]\nkind = \"scripted\"\nscenario = \"none.toml\"\n"),
            "provider t",
            "fail",
            "none.toml",
            1,
        ),
        (
            Home::openai("http://127.0.0.1:1/v1", ""),
            "provider o",
            "fail",
            "cannot be reached",
            1,
        ),
        (
            Home::openai("http://127.0.0.1:1/v1", "api_key_env = \"NO_SUCH_KEY\""),
            "provider o",
            "fail",
            "NO_SUCH_KEY",
            1,
        ),
    ];
    for (home, name, state, said, code) in table {
        let ended = doctor(&home).code(code);
        let report = ended.json();
        let found = report["components"].as_array().unwrap().iter().any(|component| {
            component["component"] == name
                && component["state"] == state
                && component.to_string().contains(said)
        });
        assert!(found, "{name} {state} {said:?} is not in {report:#}");
    }
}

#[test]
fn a_data_folder_that_others_can_read_is_told() {
    let home = Home::answering("done");
    std::fs::set_permissions(home.path("data"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let report = doctor(&home).code(0).json();
    let folder = component(&report, "data folder");
    assert_eq!(folder["state"], "warn");
    assert!(
        folder["todo"].as_str().unwrap().starts_with("chmod 700 "),
        "{folder}"
    );
}

#[test]
fn a_store_that_cannot_be_opened_is_told() {
    let home = Home::answering("done");
    home.write(
        "data/tidegate.db",
        "this is no database, and long enough to be seen as none of ours",
    );
    let report = doctor(&home).code(1).json();
    assert_eq!(component(&report, "store")["state"], "fail", "{report:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_asked_for_its_models_and_no_secret_is_shown() {
    let server = FakeOpenAi::start(Vec::<tidegate_providers::ScriptedReply>::new())
        .await
        .unwrap();
    let home = Home::openai(&server.base_url(), "api_key_env = \"KEY\"");
    let secret = "sk-very-secret-0123456789";
    let ended = home.run_with(&[("KEY", secret)], ["doctor", "--json"]);
    assert!(
        !ended.out.contains(secret) && !ended.err.contains(secret),
        "{ended:?}"
    );
    let report = ended.json();
    let provider = component(&report, "provider o");
    assert_ne!(provider["state"], "fail", "{provider}");
    assert!(
        provider["about"].as_str().unwrap().contains("it answers"),
        "{provider}"
    );
    assert!(server.requests().is_empty(), "no model was called");
}
