//! The command line.

use std::ffi::OsString;

xflags::xflags! {
    /// Tidegate's build, test and benchmark commands.
    cmd xtask {
        /// Check everything a commit has to pass: format, lints, tests, documentation, dependencies.
        cmd ci {}

        /// Run the tests. Arguments are those of `cargo test`; without a package all are tested.
        cmd test {
            /// Handed to `cargo test` as they are.
            repeated arguments: OsString
        }

        /// Show every crate with its level and dependencies, and test that they only lead downwards.
        cmd layers {}

        /// Fetch the model and the library that some tests and benches need into the target folder, with pip.
        cmd models {}

        /// Measure; without a name, list what can be measured.
        cmd bench {
            /// What to measure.
            optional name: String
        }
    }
}

/// The arguments as the parser takes them. What follows `test` belongs to `cargo test`, flags and all; to the parser
/// `--` says so. No argument at all asks for help.
pub(crate) fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = given.collect();
    match arguments.first() {
        None => arguments.push("--help".into()),
        Some(command) if command == "test" => arguments.insert(1, "--".into()),
        Some(_) => {}
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed_to_tests(given: &[&str]) -> Vec<OsString> {
        let flags = Xtask::from_vec(arguments(given.iter().map(OsString::from))).unwrap();
        match flags.subcommand {
            XtaskCmd::Test(test) => test.arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_follows_test_is_handed_on_as_it_is() {
        for given in [
            vec!["test"],
            vec!["test", "a_name"],
            vec!["test", "-p", "xtask", "--locked"],
            vec!["test", "--", "--nocapture"],
            vec!["test", "-p", "xtask", "--", "--help"],
        ] {
            let expected: Vec<OsString> = given.iter().skip(1).map(OsString::from).collect();
            assert_eq!(handed_to_tests(&given), expected, "{given:?}");
        }
    }

    #[test]
    fn no_argument_and_an_unknown_one_are_answered_with_what_there_is() {
        for (given, is_help) in [
            (vec![], true),
            (vec!["--help"], true),
            (vec!["c"], false),
            (vec!["ci", "x"], false),
        ] {
            let error = Xtask::from_vec(arguments(given.iter().map(OsString::from))).unwrap_err();
            assert_eq!(error.is_help(), is_help, "{given:?}: {error}");
        }
    }
}
