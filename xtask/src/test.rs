//! `cargo xtask test`: the tests, without the rest of the check.

use std::ffi::OsString;
use xshell::{Shell, cmd};

/// Runs `cargo test` with `arguments`; on the whole workspace unless they name a package.
pub(crate) fn run(shell: &Shell, arguments: &[OsString]) -> anyhow::Result<()> {
    let scope = (!names_a_package(arguments)).then_some("--workspace");
    cmd!(shell, "cargo test {scope...} {arguments...}").run()?;
    Ok(())
}

fn names_a_package(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .map(|argument| argument.to_string_lossy())
        // Behind this the arguments are those of the test programs.
        .take_while(|argument| argument != "--")
        .any(|argument| {
            matches!(argument.as_ref(), "-p" | "--package" | "--workspace")
                || argument.starts_with("--package=")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_seen_among_the_arguments_of_cargo_only() {
        for (arguments, expected) in [
            (vec![], false),
            (vec!["a_name", "--locked"], false),
            (vec!["-p", "xtask"], true),
            (vec!["--package", "xtask"], true),
            (vec!["--package=xtask"], true),
            (vec!["--workspace"], true),
            (vec!["--", "-p"], false),
        ] {
            let given: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            assert_eq!(names_a_package(&given), expected, "{arguments:?}");
        }
    }
}
