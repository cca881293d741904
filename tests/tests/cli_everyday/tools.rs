//! The tools that need something of the program: the launcher of commands, a person, the network.

use crate::harness::Home;
use crate::screen::Screen;

fn calling(tool: &str, arguments: &str, expected: &str) -> Home {
    Home::scripted(&format!(
        "[[reply]]\ncalls = [{{ tool = \"{tool}\", arguments = {arguments} }}]\n[[reply]]\nexpect = [{expected:?}]\ntext = \"Over.\"\n"
    ))
}

const QUESTION: &str = "{ question = \"Which \\u001b[2Jcolour?\", choices = [\"red\", \"blue\"] }";

#[test]
fn the_owner_is_asked_at_a_terminal() {
    for (typed, expected) in [
        ("2\n", "blue"),
        ("green, please\n", "green, please"),
        ("\u{4}", "nobody is there"),
    ] {
        let home = calling("ask_user", QUESTION, expected);
        let mut screen = Screen::start(home.command(["run", "ask"]));
        let shown = screen.until("your own words, within 10 min) ");
        assert!(
            shown.contains("│ Which \\u{1b}[2Jcolour?") && shown.contains("  2  blue"),
            "{shown}"
        );
        screen.press(typed);
        screen.until("Over.");
        assert_eq!(screen.end().0, Some(0));
    }
}

#[test]
fn a_question_is_taken_back_when_the_turn_is_cancelled() {
    let home = calling("ask_user", QUESTION, "never");
    let mut screen = Screen::start(home.command(["chat", "--session", "a"]));
    screen.say("ask");
    screen.until("within 10 min) ");
    screen.press("\u{3}");
    screen.until("(the question is taken back)");
    screen.say("/quit");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn commands_are_not_offered_where_they_are_taken_away() {
    let home = calling("run_command", "{ command = \"true\" }", "run_command");
    let configured = home.read("config/tidegate/tidegate.toml");
    home.configure(&format!("{configured}\n[agent]\ncommands = false\n"));
    assert_eq!(
        home.run(["run", "compute", "--session", "a"]).code(0).out,
        "Over.\n"
    );
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(
        history.contains("notrun") || history.contains("not_run") || history.contains("not run"),
        "{history}"
    );
}

#[test]
fn commands_run_confined_or_not_at_all() {
    let home = Home::scripted(
        "[[reply]]\ncalls = [{ tool = \"run_command\", arguments = { command = \"echo $((6 * 7)) > answer.txt; cat answer.txt\" } }]\n[[reply]]\ntext = \"Over.\"\n",
    );
    let home = home;
    let report = home.run(["doctor", "--json"]).json();
    let confinement = report["components"]
        .as_array()
        .unwrap()
        .iter()
        .find(|component| component["component"] == "confinement")
        .unwrap();
    let ended = home.run(["run", "compute", "--session", "a"]).code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    if confinement["state"] == "ok" {
        assert_eq!(home.read("project/answer.txt"), "42\n", "{ended:?}\n{history}");
    } else {
        assert!(!home.path("project/answer.txt").exists(), "{ended:?}\n{history}");
    }
}

#[test]
fn commands_have_the_limits_that_are_configured() {
    let home = Home::scripted(
        "[[reply]]\ncalls = [{ tool = \"run_command\", arguments = { command = \"head -c 3000000 /dev/zero > big.bin\" } }]\n[[reply]]\ntext = \"Over.\"\n",
    );
    let configured = home.read("config/tidegate/tidegate.toml");
    let limited = |limits: &str| home.configure(&format!("{configured}\n[commands]\n{limits}\n"));
    limited("file_mib = 1");
    home.run(["run", "write", "--session", "a"]).code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    // Where commands cannot be confined, this session may not run one.
    if home.path("project/big.bin").exists() {
        assert!(history.contains("a file may become 1 MiB long"), "{history}");
        let length = home.path("project/big.bin").metadata().unwrap().len();
        assert_eq!(length, 1 << 20);
    }
    for (limits, expected) in [
        ("processes = 1", "1 is out of range; write 4 to 65536"),
        ("memory_mib = 0", "0 is out of range; write 16 to 1048576"),
        ("memory_mb = 64", "did you mean `memory_mib`?"),
    ] {
        limited(limits);
        home.run(["run", "write"]).code(1).says([expected]);
    }
}

#[test]
fn a_command_of_the_model_can_grant_nothing() {
    let program = crate::harness::program().display().to_string();
    let home = Home::scripted(&format!(
        "[[reply]]\ncalls = [{{ tool = \"run_command\", arguments = {{ command = \"{program} approvals grant a_00000000000000000000000000000000\" }} }}]\n[[reply]]\ntext = \"Over.\"\n"
    ));
    let home = home;
    home.run(["run", "grant", "--session", "a"]).code(0);
    let history = home.run(["sessions", "history", "a"]).code(0).out;
    assert!(!history.contains("granted"), "{history}");
}

#[test]
fn the_network_of_this_machine_is_closed_unless_it_is_listed() {
    let home = calling("http_get", "{ url = \"http://127.0.0.1:9/\" }", "policy.hosts");
    assert_eq!(home.run(["run", "fetch"]).code(0).out, "Over.\n");
}

#[test]
fn a_model_can_look_its_tools_up() {
    let home = calling("list_tools", "{ query = \"file\" }", "write_file");
    assert_eq!(home.run(["run", "look"]).code(0).out, "Over.\n");
    let home = calling("get_tool_schema", "{ name = \"read_file\" }", "input_schema");
    assert_eq!(home.run(["run", "look"]).code(0).out, "Over.\n");
}
