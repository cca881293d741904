//! Disks that are full or read-only, and data folders that are something else.

use crate::harness::{Ended, Home, ended, program};
use std::process::{Command, Stdio};

/// Runs a shell script in a mount namespace of its own, with `$T` the program; none where the system has no
/// such namespaces.
fn in_namespace(home: &Home, script: &str) -> Option<Ended> {
    let may = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "true"])
        .stderr(Stdio::null())
        .status();
    if !may.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this system gives no mount namespaces");
        return None;
    }
    // For what the script needs of the home and the program, and nothing else.
    let like = home.command(Vec::<String>::new());
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-eu", "-c", script])
        .current_dir(home.path("project"))
        .env_clear()
        .envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("T", program())
        .env("H", home.path(""))
        .stdin(Stdio::null());
    Some(ended(command))
}

#[test]
fn a_full_disk_under_the_data_is_told_and_nothing_is_lost() {
    let home = Home::answering("done");
    let Some(ended) = in_namespace(
        &home,
        r#"
        mount -t tmpfs -o size=3m tmpfs "$H/data"
        "$T" run before --session a
        dd if=/dev/zero of="$H/data/filler" bs=1k 2>"$H/dd" || true
        "$T" run full --session a && echo "it worked" || echo "code $?"
        "$T" run full --json && echo "it worked" || echo "code $?"
        rm "$H/data/filler"
        "$T" sessions history a >"$H/history"
        "$T" run after --session a
        "$T" run "$("$T" --version)"
        "#,
    ) else {
        return;
    };
    let ended = ended
        .code(0)
        .says(["the disk is full", "make room and try again"]);
    let lines: Vec<&str> = ended.out.lines().collect();
    let [before, code, json, code_of_json, after, new] = lines.as_slice() else {
        panic!("{lines:?}\n{}", ended.err)
    };
    assert_eq!(
        (*before, *code, *code_of_json, *after, *new),
        ("done", "code 1", "code 1", "done", "done")
    );
    let report: serde_json::Value = serde_json::from_str(json).unwrap();
    assert!(
        report["error"].as_str().unwrap().contains("the disk is full"),
        "{report}"
    );
    assert!(home.read("history").contains("before"));
}

#[test]
fn a_disk_too_small_for_any_data_is_told() {
    let home = Home::answering("done");
    let Some(ended) = in_namespace(
        &home,
        r#"
        mount -t tmpfs -o size=16k tmpfs "$H/data"
        "$T" run work && echo "it worked" || echo "code $?"
        mount -o remount,size=8m "$H/data"
        "$T" run work
        "#,
    ) else {
        return;
    };
    let ended = ended.code(0).says(["the disk is full"]);
    assert_eq!(ended.out, "code 1\ndone\n");
}

#[test]
fn a_read_only_data_folder_is_told() {
    let home = Home::answering("done");
    let Some(ended) = in_namespace(
        &home,
        r#"
        "$T" run work --session a
        mount --bind "$H/data" "$H/data"
        mount -o remount,bind,ro "$H/data"
        for command in "run work" "sessions list" "config trust $H/config/tidegate/tidegate.toml"; do
            "$T" $command && echo "it worked" || echo "code $?"
        done
        umount "$H/data"
        "$T" run work --session a
        "#,
    ) else {
        return;
    };
    let ended = ended.code(0).says([
        "it or its folder is read-only",
        "the list of trusted files",
        "because: ",
    ]);
    assert_eq!(ended.out, "done\ncode 1\ncode 1\ncode 1\ndone\n");
}

/// A scenario whose model writes a file, reads what came of it, and says so.
const WRITES: &str = r#"
[[reply]]
calls = [{ tool = "write_file", arguments = { path = "a.txt", content = "CONTENT" } }]
[[reply]]
text = "done"
[[reply]]
calls = [{ tool = "write_file", arguments = { path = "a.txt", content = "CONTENT" } }]
[[reply]]
text = "done"
"#;

#[test]
fn a_workspace_that_takes_no_more_is_told_to_the_model_and_the_run_goes_on() {
    let home = Home::scripted(&WRITES.replace("CONTENT", &"x".repeat(20_000)));
    for (mount, said) in [("size=4k", "space"), ("ro", "ead-only")] {
        let script = r#"
            mount -t tmpfs -o MOUNT tmpfs "$H/project"
            cd "$H/project"
            "$T" run "write a.txt" --session NAME
            "$T" sessions history NAME
            mount -o remount,rw,size=8m "$H/project"
            "$T" run "write a.txt" --session NAME
            cat a.txt
            "#
        .replace("MOUNT", mount)
        .replace("NAME", &mount.replace('=', "-"));
        let Some(ended) = in_namespace(&home, &script) else {
            return;
        };
        let ended = ended.code(0);
        assert!(
            ended.out.contains("← write_file [call_2_0] error"),
            "{mount}: {}",
            ended.out
        );
        assert!(ended.out.contains(said), "{mount}: {}", ended.out);
        assert!(ended.out.ends_with(&"x".repeat(20_000)), "{mount}: {}", ended.out);
    }
}

#[test]
fn a_data_folder_that_is_something_else_is_told_and_left_alone() {
    let home = Home::answering("done");
    home.write("file", "mine");
    let file = home.path("file").display().to_string();
    home.run(["run", "work", "--data-dir", &file]).code(1).says([
        "the data folder",
        "cannot be used; choose another with --data-dir DIR or TIDEGATE_DATA_DIR",
    ]);
    assert_eq!(home.read("file"), "mine");

    let below = home.path("file/below").display().to_string();
    home.run(["run", "work", "--data-dir", &below])
        .code(1)
        .says(["cannot be opened as a store"]);

    std::fs::create_dir_all(home.path("data/tidegate.db")).unwrap();
    home.run(["run", "work"])
        .code(1)
        .says(["tidegate.db cannot be opened as a store"]);
    std::fs::remove_dir(home.path("data/tidegate.db")).unwrap();

    home.write("data/locks", "");
    home.run(["run", "work"])
        .code(1)
        .says(["the folder of the session locks", "cannot be used"]);
    std::fs::remove_file(home.path("data/locks")).unwrap();
    home.run(["run", "work"]).code(0);
}

#[test]
fn a_database_that_is_not_ours_is_told_and_left_as_it_is() {
    let home = Home::answering("done");
    home.run(["run", "work"]).code(0);
    let database = home.path("data/tidegate.db");
    let sqlite = |path: &std::path::Path, sql: &str| {
        rusqlite::Connection::open(path)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    };
    // Everything into the one file, so that it can be copied.
    sqlite(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    for (name, make, said) in [
        (
            "garbage",
            None,
            "is not a Tidegate store: it is no SQLite database",
        ),
        (
            "foreign",
            Some("CREATE TABLE a (b)"),
            "is not a Tidegate store: it is a SQLite database of another program",
        ),
        ("newer", Some("PRAGMA user_version = 4711"), "which is newer"),
    ] {
        let path = home.write(&format!("{name}/tidegate.db"), "");
        match (name, make) {
            ("newer", Some(sql)) => {
                std::fs::copy(&database, &path).unwrap();
                sqlite(&path, sql);
                sqlite(&path, "PRAGMA wal_checkpoint(TRUNCATE)");
            }
            (_, Some(sql)) => sqlite(&path, sql),
            (_, None) => drop(home.write(
                "garbage/tidegate.db",
                "no database, but long enough to be one".repeat(100),
            )),
        }
        let before = std::fs::read(&path).unwrap();
        let folder = home.path(name).display().to_string();
        for command in [["run", "work"], ["sessions", "list"]] {
            let mut command = home.command(command);
            command.args(["--data-dir", &folder]);
            ended(command).code(1).says([said, "Nothing was changed"]);
        }
        assert_eq!(std::fs::read(&path).unwrap(), before, "{name}");
    }
    home.run(["run", "work"]).code(0);
}

#[test]
fn a_database_with_a_hole_in_it_is_told() {
    let home = Home::answering("done");
    home.run(["run", "work", "--session", "a"]).code(0);
    let path = home.path("data/tidegate.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    home.run(["sessions", "list"])
        .code(1)
        .says(["is damaged", "restore a backup"]);
}
