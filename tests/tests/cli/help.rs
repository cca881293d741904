//! Help, and wrong usage: exit code 2.

use crate::harness::{Home, ended};
use std::fmt::Write as _;

/// The help of a command, then that of each command below it.
fn help_of(home: &Home, command: &[String], all: &mut String) {
    let mut arguments = command.to_vec();
    arguments.push("--help".into());
    let help = ended(home.command(&arguments)).code(0);
    assert_eq!(help.err, "");
    write!(all, "$ tidegate {}\n{}\n", arguments.join(" "), help.out).unwrap();
    let below = help.out.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in below.take_while(|line| !line.is_empty()) {
        // Lines that go on with a long description are indented further.
        let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
        if let Some(name) = name
            .and_then(|line| line.split(' ').next())
            .filter(|name| *name != "help")
        {
            let mut below = command.to_vec();
            below.push(name.into());
            help_of(home, &below, all);
        }
    }
}

#[test]
fn every_command_tells_what_it_takes() {
    let mut all = String::new();
    help_of(&Home::bare(), &[], &mut all);
    assert!(all.matches("\nUsage: ").count() >= 15, "{all}");
    insta::assert_snapshot!(all);
}

#[test]
fn the_short_help_and_the_version_are_there() {
    let home = Home::bare();
    assert_eq!(home.run(["-h"]).code(0).out, home.run(["--help"]).code(0).out);
    let version = home.run(["--version"]).code(0);
    assert_eq!(version.out, format!("tidegate {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_told_and_ends_with_2() {
    let home = Home::answering("done");
    let mut all = String::new();
    let wrong: [&[&str]; 25] = [
        &[],
        &["rum"],
        &["run"],
        &["run", ""],
        &["run", "  "],
        &["run", "task", "more"],
        &["run", "task", "--resume", "--session", "a"],
        &["run", "--resume"],
        &["run", "task", "--session", ""],
        &["run", "task", "--session", "two words"],
        &["run", "task", "--session", "../up"],
        &["run", "task", "--level", "SECRET"],
        &["run", "task", "--model-policy", "fast"],
        &["run", "task", "--workspac", "."],
        &["run", "task", "--workspace"],
        &["sessions"],
        &["sessions", "show"],
        &["sessions", "shwo", "a"],
        &["sessions", "delete"],
        &["events", "--kind", "tool.finish"],
        &["events", "--kind", ""],
        &["config"],
        &["config", "trust"],
        &["config", "show", "file"],
        &["demo", "--folder"],
    ];
    for arguments in wrong {
        let told = ended(home.command(arguments)).code(2);
        assert_eq!(told.out, "", "{arguments:?}");
        write!(all, "$ tidegate {}\n{}\n", arguments.join(" "), told.err).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn wrong_usage_is_told_on_standard_error_with_json_too() {
    let home = Home::bare();
    let ended = home.run(["run", "--json"]).code(2).says(["<TASK>"]);
    assert_eq!(ended.out, "");
}
