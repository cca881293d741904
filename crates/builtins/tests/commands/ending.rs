//! How commands end: output of any size, cancelled, too late, with others left behind.

use crate::common::{Pull, Space, context};
use serde_json::json;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use tidegate_tools::CallContext;

/// Both ways of running a command, with the same promises about its end.
async fn both() -> Vec<(&'static str, Space)> {
    let mut spaces = vec![("unconfined", Space::unconfined())];
    spaces.extend(Space::confined().await.map(|space| ("confined", space)));
    spaces
}

#[tokio::test]
async fn the_exit_code_or_the_signal_is_told() {
    let table = [
        ("exit 7", "exit code 7\n(no output)"),
        ("echo out; echo err >&2; exit 1", "exit code 1\nout\nerr\n"),
        ("kill -9 $$", "killed by SIGKILL\n(no output)"),
        ("kill -TERM $$", "killed by SIGTERM\n(no output)"),
        (
            "sh -c 'kill -SEGV $$'; exit $?",
            "exit code 139 (what sh ran was killed by SIGSEGV)\n(no output)",
        ),
        (
            "no-such-program-anywhere 2>/dev/null",
            "exit code 127\n(no output)",
        ),
        ("cat", "exit code 0\n(no output)"),
        ("exec 0<&- 1>&- 2>&-; exit 4", "exit code 4\n(no output)"),
        ("printf 'caf\\351'", "exit code 0\ncaf\u{fffd}"),
        (
            "head -c 5000 /dev/zero",
            "exit code 0\n(binary output of 5000 bytes, not shown)",
        ),
    ];
    for (how, space) in both().await {
        for (command, expected) in table {
            let ended = space.sh(command).await;
            // Crashing through a signal writes a note of the shell's own.
            let text = ended.text.replace("Segmentation fault\n", "(no output)");
            assert_eq!((ended.ok, text.as_str()), (true, expected), "{how}: {command}");
        }
    }
}

#[tokio::test]
async fn standard_input_is_given_whole_and_ends() {
    let text = "line\n".repeat(150_000);
    for (how, space) in both().await {
        let ended = space
            .call(json!({"command": "wc -c | tr -d ' '", "stdin": text}), context())
            .await;
        assert_eq!(ended.output(), "750000\n", "{how}");
        // A command that does not read it is not held up.
        let ended = space
            .call(json!({"command": "echo done", "stdin": text}), context())
            .await;
        assert_eq!(ended.output(), "done\n", "{how}");
    }
}

#[tokio::test]
async fn of_a_hundred_megabytes_the_beginning_and_the_end_are_told() {
    for (how, space) in both().await {
        let ended = space
            .sh("echo first; yes 0123456789 | head -c 104857600; echo; echo last")
            .await;
        let output = ended.output();
        assert!(
            output.starts_with("first\n0123456789\n") && output.ends_with("\nlast\n"),
            "{how}"
        );
        assert!(output.len() < (1 << 20) + 200, "{how}: {}", output.len());
        let mark = output.lines().find(|line| line.starts_with('[')).unwrap();
        assert_eq!(mark, "[103809036 of 104857612 bytes left out here]", "{how}");
    }
}

#[tokio::test]
async fn output_that_never_ends_is_ended() {
    for (how, space) in both().await {
        let ended = space
            .sh("trap '' TERM; while :; do cat /proc/self/maps /dev/zero 2>&1 | tr '\\0' x; done")
            .await;
        assert!(!ended.ok, "{how}");
        let first = ended.text.lines().next().unwrap();
        assert_eq!(
            first, "stopped, because it wrote more than 268435456 bytes; write to a file, or less",
            "{how}"
        );
    }
}

/// Commands that leave something behind which holds the pipe `alive` open for as long as it lives.
const STUBBORN: [&str; 5] = [
    // Ignores what it is asked.
    "trap '' TERM INT HUP; echo ready >ready; while :; do sleep 100; done",
    // A child that ignores it, whose parent waits.
    "sh -c \"trap '' TERM; echo ready >ready; while :; do sleep 100; done\" & wait",
    // In a session of its own, without a parent.
    "(setsid sh -c \"trap '' TERM; echo ready >ready; while :; do sleep 100; done\" &) ; sleep 100",
    // Stopped, so that it notices nothing.
    "sh -c 'echo ready >ready; kill -STOP $$; sleep 100' & wait",
    // Many.
    "trap '' TERM; for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sleep 100 &); done; echo ready >ready; sleep 100",
];

fn fifo(path: &Path) -> fs::File {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    // Without waiting for a writer.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let file = fs::File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap());
    let blocking = rustix::fs::fcntl_getfl(&file).unwrap() & !rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&file, blocking).unwrap();
    file
}

/// Waits until `path` has content, which a command writes when it is where the test wants it.
async fn appears(path: &Path) {
    while !fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) {
        tokio::task::yield_now().await;
    }
}

/// Ends when the last process that holds the pipe is gone, and not before.
async fn all_gone(mut pipe: fs::File) {
    let mut rest = Vec::new();
    tokio::task::spawn_blocking(move || pipe.read_to_end(&mut rest))
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_leaves_no_process() {
    for (how, space) in both().await {
        for (index, command) in STUBBORN.iter().enumerate() {
            let alive = fifo(&space.path("alive"));
            let pull = Pull::default();
            let call = CallContext {
                cancel: Arc::new(pull.clone()),
                ..context()
            };
            let command = format!("exec 3>alive; {command}");
            let arguments = json!({"command": command});
            let ready = space.path("ready");
            let mut work = std::pin::pin!(space.call(arguments, call));
            tokio::select! {
                // Waiting for what will never appear would be a test without an end.
                ended = &mut work => panic!("{how} {index}: it ended by itself: {ended:?}"),
                () = appears(&ready) => pull.0.cancel(),
            }
            let ended = work.await;
            assert!(!ended.ok, "{how} {index}: {}", ended.text);
            assert!(
                ended
                    .text
                    .starts_with("cancelled; the command and all it had started were stopped\n"),
                "{how} {index}: {}",
                ended.text
            );
            // The end of the pipe was there before the call returned.
            all_gone(alive).await;
            fs::remove_file(space.path("alive")).unwrap();
            fs::remove_file(ready).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_leaves_no_process() {
    for (_, space) in both().await {
        for command in STUBBORN {
            let alive = fifo(&space.path("alive"));
            let ready = space.path("ready");
            let command = format!("exec 3>alive; {command}");
            tokio::select! {
                ended = space.call(json!({"command": command}), context()) => panic!("{ended:?}"),
                () = appears(&ready) => {}
            }
            all_gone(alive).await;
            fs::remove_file(space.path("alive")).unwrap();
            fs::remove_file(ready).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_leaves_no_process_and_tells_what_was_said() {
    for (how, space) in both().await {
        let alive = fifo(&space.path("alive"));
        let command = "exec 3>alive; echo said; trap '' TERM; while :; do sleep 100; done";
        let ended = space
            .call(json!({"command": command, "timeout_s": 1}), context())
            .await;
        assert_eq!(
            (ended.ok, ended.text.as_str()),
            (
                false,
                "stopped after 1 s, the time limit; timeout_s sets another, up to 600\nsaid\n"
            ),
            "{how}"
        );
        all_gone(alive).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_in_the_background_ends_with_the_command() {
    for (how, space) in both().await {
        for command in [
            "sleep 100 & echo started",
            "(setsid sh -c \"trap '' TERM; sleep 100; sleep 100\" &); echo started",
            "(setsid setsid sleep 100 >/dev/null 2>&1 &); echo started",
        ] {
            let alive = fifo(&space.path("alive"));
            let ended = space.sh(&format!("exec 3>alive; {command}")).await;
            assert_eq!(
                ended.text, "exit code 0; processes it left in the background were stopped\nstarted\n",
                "{how}: {command}"
            );
            all_gone(alive).await;
            fs::remove_file(space.path("alive")).unwrap();
        }
    }
}

#[tokio::test]
async fn a_call_cancelled_beforehand_runs_nothing() {
    for (how, space) in both().await {
        let pull = Pull::default();
        pull.0.cancel();
        let call = CallContext {
            cancel: Arc::new(pull),
            ..context()
        };
        let ended = space.call(json!({"command": "touch x"}), call).await;
        assert!(!ended.ok, "{how}");
        assert!(!space.path("x").exists(), "{how}");
    }
}

#[tokio::test]
async fn ended_launchers_are_reaped() {
    let Some(space) = Space::confined().await else {
        return;
    };
    for _ in 0..5 {
        space.sh("true").await.output();
    }
    let own = std::process::id().to_string();
    let zombies = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("stat")).ok())
        .filter(|stat| {
            let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
            // Others' tests run in this process as well, and may have one about to be reaped.
            fields.first() == Some(&"Z") && fields.get(1) == Some(&own.as_str()) && stat.contains("(true)")
        })
        .count();
    assert_eq!(zombies, 0);
}
