//! A disk that is full and a folder that is read-only, both real: in a mount namespace of its own.
#![cfg(target_os = "linux")]

use crate::common::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use tidegate_policy::SourceId;
use tidegate_store::*;

const CHILD: &str = "TIDEGATE_STORE_TEST_DISK";
const DONE: &str = "the child looked at everything";

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Runs a test of this file on a file system of 1 MiB that nobody else sees. Whether that was possible: root
/// can.
fn on_a_small_disk(test: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=2m,mode=700 none "$1" && exec "$2" --exact "$3" --nocapture"#;
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(CHILD, folder.path())
        .output();
    let (ran, text) = match output {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text).into_owned();
            assert!(
                output.status.success() || !text.contains("running 1 test"),
                "{text}"
            );
            (output.status.success(), text)
        }
        Err(error) => (false, error.to_string()),
    };
    assert!(ran || !is_root(), "root can mount: {text}");
    assert!(!ran || text.contains(DONE), "{text}");
    ran
}

fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Fills a file until nothing more fits.
fn fill(path: &Path) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path).unwrap();
    let error = loop {
        if let Err(error) = file.write_all(&[1; 512]) {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

/// Field report 26.
#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    // Where no disk can be made, the writer's own tests fill a file up to a limit.
    on_a_small_disk("disk::full_child");
}

#[test]
fn full_child() {
    let Some(folder) = child_folder() else { return };
    std::fs::write(folder.join("ballast"), vec![1; 1_200_000]).unwrap();
    let path = folder.join("store.sqlite");
    let store = SqliteStore::open(&path, Durability::Power).unwrap();
    commit(&store, vec![create(1)]).unwrap();
    let text = |n: u64| full_text(&n.to_string(), &format!("{n} ").repeat(10_000));
    let writes = |n| {
        vec![
            Write::Source(session(1), text(n)),
            Write::Events(session(1), vec![tool_started("c")]),
        ]
    };
    let mut kept = 0;
    let error = loop {
        match commit(&store, writes(kept + 1)) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(kept > 3, "{kept} texts fitted");

    // Reading goes on, the failed commit left nothing, and it fails again rather than half.
    let everything_is_there = |store: &SqliteStore, kept: u64| {
        run(async {
            let ids: Vec<_> = store
                .sources(session(1))
                .await
                .unwrap()
                .into_iter()
                .map(|text| text.id)
                .collect();
            assert_eq!(
                ids,
                (1..=kept)
                    .map(|n| SourceId::new(n.to_string()))
                    .collect::<Vec<_>>()
            );
            let events = store.events(EventFilter::default()).await.unwrap();
            assert_eq!(events.last().map(|stored| stored.event.sequence), Some(kept));
            assert_eq!(events.len() as u64, kept);
        })
    };
    everything_is_there(&store, kept);
    assert!(matches!(
        commit(&store, writes(kept + 1)),
        Err(StoreError::Full { .. })
    ));

    // Of several in one transaction, those that fit are kept whatever the others do.
    let other = sqlite(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let large = (0..5).map(|_| store.commit(writes(kept + 1)));
    let (results, ()) = run(futures::future::join(futures::future::join_all(large), async {
        other.execute_batch("ROLLBACK").unwrap();
    }));
    assert!(
        results
            .iter()
            .all(|result| matches!(result, Err(StoreError::Full { .. }))),
        "{results:?}"
    );
    drop(other);
    everything_is_there(&store, kept);

    // A new store does not fit either, and says so.
    fill(&folder.join("rest"));
    let error = SqliteStore::open(folder.join("new.sqlite"), Durability::Power).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");

    // As soon as there is room the same handle goes on.
    std::fs::remove_file(folder.join("ballast")).unwrap();
    std::fs::remove_file(folder.join("rest")).unwrap();
    commit(&store, writes(kept + 1)).unwrap();
    everything_is_there(&store, kept + 1);
    run(store.close());
    everything_is_there(&open(&path), kept + 1);
    SqliteStore::open(folder.join("new.sqlite"), Durability::Power).unwrap();
    println!("{DONE}");
}

#[test]
fn a_read_only_folder_is_refused() {
    if !on_a_small_disk("disk::read_only_child") {
        // Not root, so permissions bind.
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let mode = |mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        mode(0o500);
        for file in ["new.sqlite", "below/new.sqlite"] {
            is_unwritable(&folder.path().join(file));
        }
        mode(0o700);
    }
}

fn prepare(folder: &Path) {
    let store = open(&folder.join("store.sqlite"));
    commit(&store, vec![create(1)]).unwrap();
    run(store.close());
}

fn is_unwritable(path: &Path) {
    let error = SqliteStore::open(path, Durability::Power).unwrap_err();
    assert!(
        matches!(error, StoreError::Unwritable { .. }),
        "{}: {error:?}",
        path.display()
    );
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[test]
fn read_only_child() {
    let Some(folder) = child_folder() else { return };
    prepare(&folder);
    let before = std::fs::read(folder.join("store.sqlite")).unwrap();
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&folder)
        .status()
        .unwrap();
    assert!(remounted.success());
    for file in ["store.sqlite", "new.sqlite", "below/new.sqlite"] {
        is_unwritable(&folder.join(file));
    }
    assert_eq!(std::fs::read(folder.join("store.sqlite")).unwrap(), before);
    println!("{DONE}");
}

#[test]
fn a_read_only_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let path = folder.path().join("store.sqlite");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
    if is_root() {
        // Permissions do not bind root, and nothing else is wrong with the file.
        open(&path);
    } else {
        is_unwritable(&path);
    }
}
