//! `tidegate completions`.

use crate::harness::Home;

#[test]
fn each_shell_gets_a_script_with_the_commands_in_it() {
    let home = Home::bare();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = home.run(["completions", shell]).code(0);
        assert_eq!(ended.err, "", "{shell}");
        for text in ["tidegate", "sessions", "approvals", "chat", "--data-dir"] {
            // Fish writes the names of options without their dashes.
            let text = if shell == "fish" {
                text.trim_start_matches('-')
            } else {
                text
            };
            assert!(ended.out.contains(text), "{shell}: {text} is not in it");
        }
        assert!(
            !ended.out.contains("__confine"),
            "{shell}: what is hidden stays hidden"
        );
        let json = home.json(["completions", shell, "--json"]);
        assert_eq!(json["script"], ended.out);
    }
    home.run(["completions", "tcsh"]).code(2).says(["bash"]);
}

#[test]
fn bash_accepts_its_script() {
    let home = Home::bare();
    let script = home.write("project/tidegate.bash", home.run(["completions", "bash"]).out);
    match std::process::Command::new("bash").arg("-n").arg(&script).status() {
        Ok(status) => assert!(status.success()),
        Err(error) => eprintln!("there is no bash to try it with: {error}"),
    }
}
