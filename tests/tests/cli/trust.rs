//! A `tidegate.toml` that came with the work.

use crate::harness::{Home, ended};
use std::os::unix::fs::symlink;

const PROJECT: &str = r#"
[providers.s]
kind = "scripted"
scenario = "scenario.toml"
[tiers]
lite = ["s:m"]
"#;

/// A home with a configuration in the working folder, and nothing else.
fn project(configuration: &str) -> Home {
    let home = Home::bare();
    home.write("project/tidegate.toml", configuration);
    home.write("project/scenario.toml", "[[reply]]\ntext = \"done\"\n");
    home
}

#[test]
fn a_file_of_the_working_folder_is_used_only_as_the_owner_has_seen_it() {
    let home = project(PROJECT);
    let untrusted = home.run(["run", "work"]).code(1);
    insta::assert_snapshot!(home.redacted(&untrusted.err), @r"
    error: ~/project/tidegate.toml was found in the working folder and is not trusted, so it is not used
      look at it, then run: tidegate config trust ~/project/tidegate.toml
      or use another file with --config
    ");
    let report = home.run(["run", "work", "--json"]).code(1).json();
    let error = report["error"].as_str().unwrap();
    assert!(error.contains("tidegate config trust"), "{error}");

    let trusted = home.run(["config", "trust", "tidegate.toml"]).code(0);
    assert_eq!(
        home.redacted(&trusted.out),
        "trusted as it is now: ~/project/tidegate.toml\ntrusted as it is now: ~/project/scenario.toml\n"
    );
    assert_eq!(home.run(["run", "work"]).code(0).out, "done\n");

    home.write("project/tidegate.toml", format!("{PROJECT}# changed\n"));
    home.run(["run", "work"]).code(1).says(["tidegate config trust"]);
    home.write("project/tidegate.toml", PROJECT);
    home.run(["run", "work"]).code(0);
}

#[test]
fn a_scenario_that_came_with_the_work_is_played_only_as_the_owner_has_seen_it() {
    let home = project(PROJECT);
    home.run(["config", "trust", "tidegate.toml"]).code(0);
    home.write("project/scenario.toml", "[[reply]]\ntext = \"something else\"\n");
    let untrusted = home.run(["run", "work"]).code(1);
    insta::assert_snapshot!(home.redacted(&untrusted.err), @r"
    error: the scenario ~/project/scenario.toml came with the configuration of the working folder and is not trusted as it is now, so it is not played
      look at it, then run: tidegate config trust ~/project/scenario.toml
    ");
    let doctor = home.run(["doctor"]).code(1);
    assert!(doctor.out.contains("config trust"), "{}", doctor.out);
    home.run(["config", "trust", "scenario.toml"]).code(0);
    assert_eq!(home.run(["run", "work"]).code(0).out, "something else\n");
    // Who names the configuration answers for what it names.
    home.write("project/scenario.toml", "[[reply]]\ntext = \"named\"\n");
    let named = home.run(["run", "work", "--config", "tidegate.toml"]);
    assert_eq!(named.code(0).out, "named\n");
}

#[test]
fn no_command_that_needs_a_configuration_uses_an_untrusted_one() {
    let home = project(PROJECT);
    for arguments in [
        ["run", "work"].as_slice(),
        &["sessions", "list"],
        &["events"],
        &["config", "show"],
        &["config", "check"],
    ] {
        ended(home.command(arguments))
            .code(1)
            .says(["tidegate config trust"]);
    }
    for arguments in [["config", "schema"].as_slice(), &["--help"]] {
        ended(home.command(arguments)).code(0);
    }
}

#[test]
fn a_file_that_is_named_is_used() {
    let home = project(PROJECT);
    home.run(["run", "work", "--config", "tidegate.toml"]).code(0);
    home.run(["config", "check", "tidegate.toml"]).code(0);
}

#[test]
fn trust_is_for_a_path_not_for_a_content() {
    let home = project(PROJECT);
    home.run(["config", "trust", "tidegate.toml"]).code(0);
    home.write("other/tidegate.toml", PROJECT);
    let mut command = home.command(["config", "check"]);
    command.current_dir(home.path("other"));
    ended(command).code(1).says([
        "~".trim_start_matches('~'),
        "other/tidegate.toml",
        "is not trusted",
    ]);
}

#[test]
fn a_link_to_the_users_own_file_is_that_file_and_any_other_link_is_not_trusted() {
    let home = Home::answering("done");
    let link = home.path("project/tidegate.toml");
    symlink(home.path("config/tidegate/tidegate.toml"), &link).unwrap();
    home.run(["run", "work"]).code(0);
    std::fs::remove_file(&link).unwrap();
    home.write("elsewhere.toml", PROJECT);
    symlink(home.path("elsewhere.toml"), &link).unwrap();
    home.run(["run", "work"])
        .code(1)
        .says(["elsewhere.toml was found in the working folder"]);
    std::fs::remove_file(&link).unwrap();
    symlink(home.path("nowhere.toml"), &link).unwrap();
    home.run(["run", "work"])
        .code(1)
        .says(["cannot read the configuration file"]);
}

#[test]
fn the_file_of_the_working_folder_comes_before_the_users() {
    let home = project(&format!("{PROJECT}[agent]\nmax_rounds = 3\n"));
    home.configure("[agent]\nmax_rounds = 4\ntool_timeout_s = 5\n");
    home.run(["config", "trust", "tidegate.toml"]).code(0);
    let shown = home.run(["config", "show"]).code(0).out;
    assert!(shown.contains("agent.max_rounds = 3 "), "{shown}");
    assert!(
        shown.contains("agent.tool_timeout_s = 120  # default"),
        "the files are not merged:\n{shown}"
    );
}

#[test]
fn a_file_of_the_working_folder_may_only_lower_clearances() {
    let remote = "\n[providers.r]\nkind = \"openai\"\nbase_url = \"https://models.example/v1\"\n";
    for (more, said) in [
        (
            "[policy]\nclearance = \"RESTRICTED\"\n".to_owned(),
            "tidegate.toml:8: policy.clearance: a file found in the working folder may only lower clearances; RESTRICTED is above CONFIDENTIAL",
        ),
        (
            "[policy]\nowner_named = \"RESTRICTED\"\n".to_owned(),
            "policy.owner_named: a file found in the working folder may only lower",
        ),
        (
            format!("{remote}clearance = \"CONFIDENTIAL\"\n"),
            "tidegate.toml:11: providers.r.clearance: a file found in the working folder may only lower clearances; CONFIDENTIAL is above INTERNAL",
        ),
        (
            "[users.guest]\nclearance = \"CONFIDENTIAL\"\n".to_owned(),
            "users.guest.clearance: a file found in the working folder may only lower",
        ),
    ] {
        let home = project(&format!("{PROJECT}{more}"));
        home.run(["config", "trust", "tidegate.toml"]).code(0);
        home.run(["run", "work"])
            .code(1)
            .says([said, "possible: set it in the user's configuration folder"]);
        home.run(["config", "check", "--config", "tidegate.toml"]).code(0);
    }
    for lower in [
        "[policy]\nclearance = \"INTERNAL\"\n".to_owned(),
        "[policy]\nclearance = \"CONFIDENTIAL\"\n".to_owned(),
        format!("{remote}clearance = \"PUBLIC\"\n"),
        "[users.local]\nclearance = \"PUBLIC\"\n".to_owned(),
    ] {
        let home = project(&format!("{PROJECT}{lower}"));
        home.run(["config", "trust", "tidegate.toml"]).code(0);
        home.run(["config", "check"]).code(0);
    }
}

#[test]
fn the_owners_own_clearances_are_the_limit() {
    let own = "[policy]\nclearance = \"INTERNAL\"\n[users.local]\nclearance = \"INTERNAL\"\n\
               [providers.s]\nkind = \"scripted\"\nscenario = \"x\"\nclearance = \"INTERNAL\"\n";
    let show = |project_file: &str| {
        let home = project(project_file);
        home.configure(own);
        home.run(["config", "trust", "tidegate.toml"]).code(0);
        home.run(["config", "show"])
    };
    // What the file does not mention stays as the owner has it.
    let shown = show(PROJECT).code(0).out;
    for line in [
        "policy.clearance = \"INTERNAL\"",
        "users.local.clearance = \"INTERNAL\"",
        "providers.s.clearance = \"INTERNAL\"",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    show(&format!("{PROJECT}[policy]\nclearance = \"PUBLIC\"\n")).code(0);
    for raised in ["policy", "users.local"] {
        show(&format!("{PROJECT}[{raised}]\nclearance = \"CONFIDENTIAL\"\n"))
            .code(1)
            .says(["CONFIDENTIAL is above INTERNAL"]);
    }
    show(&PROJECT.replace("[tiers]", "clearance = \"RESTRICTED\"\n[tiers]"))
        .code(1)
        .says(["providers.s.clearance", "RESTRICTED is above INTERNAL"]);
}

#[test]
fn what_cannot_be_trusted_is_told() {
    let home = project(PROJECT);
    home.run(["config", "trust", "nowhere.toml"])
        .code(1)
        .says(["cannot read nowhere.toml, so it cannot be trusted"]);
    home.run(["config", "trust", "."])
        .code(1)
        .says(["cannot read ., so it cannot be trusted"]);
    home.write("data/trusted-files.json", "[1");
    home.run(["config", "trust", "tidegate.toml"])
        .code(1)
        .says(["trusted-files.json is damaged; delete it and trust the files anew"]);
    home.run(["run", "work"])
        .code(1)
        .says(["trusted-files.json is damaged"]);
    std::fs::remove_file(home.path("data/trusted-files.json")).unwrap();
    home.run(["config", "trust", "tidegate.toml"]).code(0);
    home.run(["run", "work"]).code(0);
}

#[test]
fn the_trusted_file_and_its_scenario_are_not_the_models_to_change() {
    let home = project(PROJECT);
    home.write(
        "project/scenario.toml",
        r#"
[[reply]]
calls = [
  { tool = "read_file", arguments = { path = "tidegate.toml" } },
  { tool = "write_file", arguments = { path = "tidegate.toml", content = "x" } },
  { tool = "edit_file", arguments = { path = "scenario.toml", old_text = "done", new_text = "more" } },
]
[[reply]]
text = "done"
"#,
    );
    home.run(["config", "trust", "tidegate.toml"]).code(0);
    let before = home.read("project/scenario.toml");
    home.run(["run", "work", "--session", "a"]).code(0);
    assert_eq!(home.read("project/tidegate.toml"), PROJECT);
    assert_eq!(home.read("project/scenario.toml"), before);
    for entry in home.run(["sessions", "history", "a", "--json"]).code(0).lines() {
        for result in entry["body"]["results"]["results"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(result["status"], "refused", "{result}");
        }
    }
}

#[test]
fn trusting_a_configuration_trusts_the_templates_it_names_and_says_which() {
    let home = project(&format!("{PROJECT}[prompt]\ntemplates_dir = \"words\"\n"));
    home.write(
        "project/words/memory.j2",
        "{% for item in items %}{{ item.origin }} {{ item.label }}: {{ item.text }}{% endfor %}",
    );
    home.write("project/words/README.md", "no template");
    let builtin = home.run(["config", "trust", "words/memory.j2"]).code(0);
    assert_eq!(
        home.redacted(&builtin.out),
        "trusted as it is now: ~/project/words/memory.j2\n"
    );
    let trusted = home.run(["config", "trust", "tidegate.toml"]).code(0);
    insta::assert_snapshot!(home.redacted(&trusted.out), @r"
    trusted as it is now: ~/project/tidegate.toml
    trusted as it is now: ~/project/scenario.toml
    trusted as it is now: ~/project/words/memory.j2
    ");
    assert_eq!(home.run(["run", "work"]).code(0).out, "done\n");
    // By its content: another one is another.
    home.write("project/words/memory.j2", "changed");
    home.run(["run", "work"]).code(1).says([
        "the template",
        "is not trusted as it is now",
        "tidegate config trust",
    ]);
}
