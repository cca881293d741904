//! `tidegate completions`.

use crate::args::{CommandLine, CompletionsArgs, Global};
use crate::exit::Exit;
use crate::output;
use clap::CommandFactory as _;

pub(crate) fn run(global: &Global, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "tidegate", &mut script);
    let script = String::from_utf8(script)?;
    if global.json {
        let shell = args.shell.to_string();
        output::json(&serde_json::json!({ "shell": shell, "script": script }))?;
    } else {
        output::text(&script)?;
    }
    Ok(Exit::Ok)
}
