//! `tidegate init`.

use crate::harness::Home;
use crate::screen::Screen;
use std::os::unix::fs::PermissionsExt as _;
use tidegate_testing::{FakeOpenAi, text};

const FILE: &str = "config/tidegate/tidegate.toml";

fn without_configuration() -> Home {
    let home = Home::bare();
    std::fs::remove_dir_all(home.path("config")).unwrap();
    home
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_can_be_used_at_once() {
    let server = FakeOpenAi::start([text("It works.")]).await.unwrap();
    let home = without_configuration();
    let ended = home
        .run([
            "init",
            "--base-url",
            &server.base_url(),
            "--model",
            "small:7b",
            "--workspace-level",
            "public",
        ])
        .code(0);
    assert!(ended.out.contains("tidegate chat"), "{ended:?}");
    assert_eq!(
        home.path(FILE).metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    home.run(["config", "check"]).code(0);
    assert_eq!(home.run(["run", "hello"]).code(0).out, "It works.\n");
    assert_eq!(server.requests()[0].json["model"], "small:7b");
    server.assert_complete();
    let shown = home.run(["config", "show"]).code(0).out;
    assert!(shown.contains("policy.workspace = \"PUBLIC\""), "{shown}");
}

#[test]
fn a_file_that_is_there_is_kept_unless_force_is_given() {
    let home = without_configuration();
    let arguments = ["init", "--base-url", "http://127.0.0.1:1/v1", "--model", "m"];
    home.run(arguments).code(0);
    home.write(FILE, "# mine\n");
    home.run(arguments).code(1).says(["is there already", "--force"]);
    assert_eq!(home.read(FILE), "# mine\n");
    let [a, b, c, d, e] = arguments;
    home.run([a, b, c, d, e, "--force"]).code(0);
    assert!(home.read(FILE).contains("local:m"));
    let left = std::fs::read_dir(home.path("config/tidegate")).unwrap().count();
    assert_eq!(left, 1, "nothing half written is left");
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_written() {
    let table: [(&[&str], i32, &str); 7] = [
        (&[], 2, "--base-url"),
        (&["--base-url", "http://127.0.0.1:1/v1"], 2, "--model"),
        (&["--base-url", "127.0.0.1:8080", "--model", "m"], 2, "no "),
        (
            &["--base-url", "ftp://x/", "--model", "m"],
            2,
            "no http or https address",
        ),
        (&["--base-url", "http://me:pw@x/", "--model", "m"], 2, "--key-env"),
        (
            &[
                "--base-url",
                "http://x/",
                "--model",
                "m",
                "--key-env",
                "sk-0123456789abcdef",
            ],
            2,
            "no name of a variable",
        ),
        (
            &[
                "--base-url",
                "http://x/",
                "--model",
                "m",
                "--workspace-level",
                "SECRET",
            ],
            2,
            "RESTRICTED",
        ),
    ];
    for (arguments, code, said) in table {
        let home = without_configuration();
        let all: Vec<&str> = ["init"].iter().chain(arguments).copied().collect();
        let ended = crate::harness::ended(home.command(&all)).code(code).says([said]);
        assert!(
            !ended.err.contains("sk-0123456789abcdef"),
            "a key is not repeated: {}",
            ended.err
        );
        assert!(!home.path(FILE).exists(), "{arguments:?}");
    }
}

#[test]
fn a_named_file_is_written_in_its_place() {
    let home = without_configuration();
    let json = home.json([
        "init",
        "--config",
        "my/own.toml",
        "--base-url",
        "https://api.example.com/v1",
        "--model",
        "m",
        "--key-env",
        "NO_SUCH_KEY",
        "--workspace-level",
        "CONFIDENTIAL",
        "--json",
    ]);
    assert_eq!(
        json["file"],
        home.path("project/my/own.toml").display().to_string()
    );
    assert_eq!(json["model"], "remote:m");
    let notes = json["notes"].to_string();
    assert!(notes.contains("NO_SUCH_KEY is not set yet"), "{notes}");
    assert!(notes.contains("cleared for INTERNAL"), "{notes}");
    assert!(
        home.read("project/my/own.toml")
            .contains("api_key_env = \"NO_SUCH_KEY\"")
    );
}

#[test]
fn the_endpoint_that_does_not_answer_is_told_and_the_file_is_there() {
    let home = without_configuration();
    let ended = home
        .run([
            "init",
            "--base-url",
            "http://127.0.0.1:1/v1",
            "--model",
            "m",
            "--yes",
        ])
        .code(0);
    assert!(ended.out.contains("the endpoint was not reached"), "{ended:?}");
    assert!(home.path(FILE).exists());
    let home = without_configuration();
    home.run(["init", "--base-url", "http://127.0.0.1:1/v1", "--yes"])
        .code(1)
        .says(["--model MODEL"]);
    assert!(!home.path(FILE).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_terminal_it_asks() {
    let server = FakeOpenAi::start([text("It works.")]).await.unwrap();
    let home = without_configuration();
    let mut screen = Screen::start(home.command(["init"]));
    screen.until("including /v1 [http://127.0.0.1:8080/v1]: ");
    screen.press("nonsense\n");
    screen.until("is no address");
    screen.until("including /v1 [http://127.0.0.1:8080/v1]: ");
    screen.press(&format!("{}\n", server.base_url()));
    screen.until("Variable that holds its key (nothing if it needs none): ");
    screen.press("\n");
    screen.until("Model");
    screen.until(": ");
    screen.press("small\n");
    screen.until("[INTERNAL]: ");
    screen.press("\n");
    screen.until("Ask the endpoint whether it is there? [y/N] ");
    screen.press("y\n");
    screen.until("the endpoint answers");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(home.read(FILE).contains("\"local:"), "{}", home.read(FILE));
}
