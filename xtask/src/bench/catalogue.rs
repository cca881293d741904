//! The list of what can be measured.

use super::start;
use crate::models;
use anyhow::bail;
use xshell::{Shell, cmd};

/// Something to measure.
struct Bench {
    /// Its name on the command line.
    name: &'static str,
    /// What is measured.
    description: &'static str,
    /// Measures it and prints what was found.
    command: fn(&Shell) -> anyhow::Result<()>,
}

const BENCHES: [Bench; 7] = [
    Bench {
        name: "start",
        description: "from the start of the program to its first request to a model, on an existing data folder",
        command: start::run,
    },
    Bench {
        name: "loop",
        description: "a turn beside a raw loop over the same client and parser; its time to the first byte",
        command: agent_loop,
    },
    Bench {
        name: "prompt",
        description: "what planning a compaction of 10,000 messages costs, and assembling a turn at 10 and at 400",
        command: prompt,
    },
    Bench {
        name: "policy",
        description: "what a decision of the gate costs with 100 custom rules, and reading the owner's words",
        command: policy,
    },
    Bench {
        name: "memory",
        description: "what opening, recalling and writing memories cost beside a bare scan over the same vectors",
        command: memory,
    },
    Bench {
        name: "embed",
        description: "what embedding costs beside the bare model; it needs what `cargo xtask models` fetches",
        command: embed,
    },
    Bench {
        name: "index",
        description: "what the embedded index costs beside its bare engine; the first build takes ten minutes",
        command: index,
    },
];

fn agent_loop(shell: &Shell) -> anyhow::Result<()> {
    cmd!(
        shell,
        "cargo bench --locked --package tidegate-runtime --bench agent_loop"
    )
    .run()?;
    Ok(())
}

fn prompt(shell: &Shell) -> anyhow::Result<()> {
    cmd!(
        shell,
        "cargo bench --locked --package tidegate-prompt --bench prompt"
    )
    .run()?;
    Ok(())
}

fn policy(shell: &Shell) -> anyhow::Result<()> {
    cmd!(
        shell,
        "cargo bench --locked --package tidegate-policy --bench policy"
    )
    .run()?;
    Ok(())
}

fn embed(shell: &Shell) -> anyhow::Result<()> {
    if let Some(missing) = models::missing(shell)? {
        bail!("{missing}; `cargo xtask models` fetches it with pip, once");
    }
    cmd!(
        shell,
        "cargo bench --locked --package tidegate-embed --bench embed"
    )
    .run()?;
    Ok(())
}

fn index(shell: &Shell) -> anyhow::Result<()> {
    cmd!(
        shell,
        "cargo bench --locked --package tidegate-qdrant --bench index"
    )
    .run()?;
    Ok(())
}

fn memory(shell: &Shell) -> anyhow::Result<()> {
    cmd!(
        shell,
        "cargo bench --locked --package tidegate-memory --bench memory"
    )
    .run()?;
    Ok(())
}

/// Measures what `name` stands for; without a name, lists the names.
pub(crate) fn run(shell: &Shell, name: Option<&str>) -> anyhow::Result<()> {
    let Some(name) = name else {
        print!("{}", listing());
        return Ok(());
    };
    match BENCHES.iter().find(|bench| bench.name == name) {
        Some(bench) => (bench.command)(shell),
        None => bail!(
            "there is nothing called `{name}` to measure; there is:\n{}",
            listing()
        ),
    }
}

fn listing() -> String {
    BENCHES
        .iter()
        .map(|bench| format!("  {:<12}  {}\n", bench.name, bench.description))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let shell = Shell::new().unwrap();
        let error = run(&shell, Some("stat")).unwrap_err().to_string();
        assert!(error.contains("`stat`"), "{error}");
        for bench in &BENCHES {
            assert!(error.contains(bench.name), "{error}");
        }
    }
}
