//! How much of the machine a command may use.

use crate::common::Space;
use tidegate_builtins::confine::CommandLimits;

const SMALL: CommandLimits = CommandLimits {
    memory_mib: 64,
    processor_s: 1,
    file_mib: 1,
    processes: 20,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_uses_too_much_is_stopped_and_told_what_it_may_use() {
    let table = [
        (
            "while :; do :; done",
            "killed by SIGXCPU; a process may use 1 s of processor time",
        ),
        (
            "sh -c 'while :; do :; done'; exit $?",
            "exit code 152 (what sh ran was killed by SIGXCPU); a process may use 1 s of processor time",
        ),
        (
            "exec head -c 3000000 /dev/zero >big",
            "killed by SIGXFSZ; a file may become 1 MiB long",
        ),
        (
            "trap '' XFSZ; head -c 3000000 /dev/zero >big",
            "exit code 1; a file may become 1 MiB long",
        ),
        (
            "head -c 200000000 /dev/zero | tail; exit 1",
            "exit code 1; a process may use 64 MiB of memory",
        ),
    ];
    let Some(space) = Space::with(|rules| rules, |settings| settings.limits(SMALL)).await else {
        return;
    };
    for (command, expected) in table {
        let ended = space.sh(command).await;
        assert_eq!(
            ended.text.lines().next(),
            Some(expected),
            "{command}: {}",
            ended.text
        );
    }
    let length = std::fs::metadata(space.path("big")).unwrap().len();
    assert_eq!(length, 1 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_cannot_have_any_number_of_processes() {
    let limits = CommandLimits {
        processes: 20,
        ..CommandLimits::default()
    };
    let Some(space) = Space::with(|rules| rules, |settings| settings.limits(limits)).await else {
        return;
    };
    for command in [
        "for i in $(seq 200); do sleep 100 & done; wait; exit 1",
        "f() { f | f & }; f; sleep 100; exit 1",
        "for i in $(seq 200); do (setsid sleep 100 &) ; done; sleep 100; exit 1",
    ] {
        let ended = space.sh(command).await;
        let first = ended.text.lines().next().unwrap();
        let told = [
            "stopped: it had more than 20 processes at once",
            "; a command may have 20 processes at once",
        ];
        assert!(
            told.iter().any(|told| first.ends_with(told)),
            "{command}: {}",
            ended.text
        );
    }
}

#[tokio::test]
async fn no_limit_can_be_raised_from_inside() {
    let Some(space) = Space::with(|rules| rules, |settings| settings.limits(SMALL)).await else {
        return;
    };
    for limit in ["-d", "-v", "-f", "-c"] {
        let ended = space
            .sh(&format!("ulimit {limit} unlimited && echo raised; true"))
            .await;
        assert!(!ended.text.contains("raised"), "{limit}: {}", ended.text);
    }
}
