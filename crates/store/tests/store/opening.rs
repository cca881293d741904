//! Which files are opened and what is said of the others.

use crate::common::*;
use std::path::{Path, PathBuf};
use tidegate_store::*;

/// What is said of a file, its path left out, with the errors below.
fn said_of(path: &Path) -> String {
    let error = SqliteStore::open(path, Durability::Power).unwrap_err();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}\n  {error}");
        cause = error.source();
    }
    let folder = path.parent().unwrap();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.into());
    text.replace(&*folder.to_string_lossy(), "FOLDER")
}

/// A file of this program with something in it.
fn filled(path: &PathBuf) {
    let store = open(path);
    let text = "x".repeat(1000);
    let entries = (1..=200).map(|seq| said(seq, &text)).collect();
    commit(&store, vec![create(1), Write::Append(session(1), entries)]).unwrap();
    run(store.close());
}

#[test]
fn a_file_that_is_no_store_is_refused_and_not_changed() {
    type Make = fn(&PathBuf);
    let cases: [(&str, Make, &str); 9] = [
        (
            "text",
            |path| std::fs::write(path, "Dear diary").unwrap(),
            "no SQLite database",
        ),
        (
            "garbage",
            |path| std::fs::write(path, [0xa5; 8192]).unwrap(),
            "no SQLite database",
        ),
        (
            "zeros",
            |path| std::fs::write(path, [0; 8192]).unwrap(),
            "no SQLite database",
        ),
        (
            "a cut header",
            |path| std::fs::write(path, "SQLite format 3\0").unwrap(),
            "no SQLite database",
        ),
        (
            "another program's database",
            |path| sqlite(path).execute_batch("CREATE TABLE notes (text)").unwrap(),
            "a SQLite database of another program. Nothing",
        ),
        (
            "another program's database in WAL mode",
            |path| {
                sqlite(path)
                    .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE notes (text)")
                    .unwrap()
            },
            "a SQLite database of another program. Nothing",
        ),
        (
            "another program's database with its mark",
            |path| {
                sqlite(path)
                    .execute_batch("PRAGMA application_id = 0x0f055112; CREATE TABLE t (x)")
                    .unwrap()
            },
            "another program (application id 0x0f055112)",
        ),
        (
            "another program's empty database",
            |path| sqlite(path).execute_batch("PRAGMA application_id = 7").unwrap(),
            "another program (application id 0x00000007)",
        ),
        (
            "a newer store",
            |path| {
                filled(path);
                sqlite(path)
                    .execute_batch(
                        "PRAGMA user_version = 9; UPDATE meta SET value = '3.2.1' WHERE name = 'program'",
                    )
                    .unwrap();
            },
            "written by Tidegate 3.2.1 (schema 9), which is newer",
        ),
    ];
    for (what, make, expected) in cases {
        let (_folder, path) = place();
        make(&path);
        let before = std::fs::read(&path).unwrap();
        let text = said_of(&path);
        assert!(
            text.contains(expected) && text.contains("FOLDER/store.sqlite"),
            "{what}: {text}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before, "{what} was changed");
    }
}

#[test]
fn a_newer_store_without_its_version_is_refused_too() {
    let (_folder, path) = place();
    filled(&path);
    sqlite(&path)
        .execute_batch("PRAGMA user_version = 8; DROP TABLE meta")
        .unwrap();
    assert!(said_of(&path).contains("written by Tidegate of an unknown version (schema 8)"));
}

#[test]
fn a_store_that_becomes_newer_while_it_is_open_is_not_written_to() {
    let (_folder, path) = place();
    let store = open(&path);
    commit(&store, vec![create(1)]).unwrap();
    sqlite(&path).execute_batch("PRAGMA user_version = 8").unwrap();
    assert!(matches!(
        commit(&store, vec![create(2)]),
        Err(StoreError::Newer {
            found: 8,
            known: 7,
            ..
        })
    ));
}

#[test]
fn a_truncated_store_is_refused() {
    let (_folder, path) = place();
    filled(&path);
    let whole = std::fs::read(&path).unwrap();
    for length in [4096 * 3, whole.len() - 4096] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let text = said_of(&path);
        assert!(
            text.contains("is damaged. Stop every program"),
            "{length} of {} bytes: {text}",
            whole.len()
        );
    }
    std::fs::write(&path, whole).unwrap();
    assert_eq!(run(open(&path).entries(session(1))).unwrap().len(), 200);
}

#[test]
fn a_store_with_a_damaged_schema_is_refused() {
    let (_folder, path) = place();
    filled(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100..4096].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    assert!(said_of(&path).contains("is damaged"), "{}", said_of(&path));
}

#[test]
fn damage_in_one_place_is_told_where_it_is_met_and_the_rest_is_read() {
    let (_folder, path) = place();
    filled(&path);
    // The leaves of `entries` are the last pages.
    let mut bytes = std::fs::read(&path).unwrap();
    let start = bytes.len() - 4096 * 4;
    bytes[start..].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let store = open(&path);
    run(async {
        let error = store.entries(session(1)).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert_eq!(store.sessions().await.unwrap().sessions.len(), 1);
        store
            .commit(vec![create(2), Write::Append(session(2), vec![])])
            .await
            .unwrap();
    });
}

#[test]
fn what_cannot_be_a_store_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let cases = [
        (folder.path().to_path_buf(), "directory"),
        (PathBuf::from("/"), "directory"),
        (file.join("store.sqlite"), ""),
        (folder.path().join("n".repeat(300)), "name too long"),
        (
            folder.path().join("a/".repeat(300)).join("store.sqlite"),
            "SQLite opens paths of at most 503",
        ),
        (folder.path().join("nul\0"), ""),
    ];
    for (path, expected) in cases {
        let error = SqliteStore::open(&path, Durability::Power).unwrap_err();
        assert!(
            matches!(error, StoreError::Unopenable { .. }),
            "{}: {error:?}",
            path.display()
        );
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            cause.to_lowercase().contains(&expected.to_lowercase()),
            "{}: {cause}",
            path.display()
        );
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}

#[cfg(unix)]
#[test]
fn a_device_is_no_store() {
    let error = SqliteStore::open("/dev/null", Durability::Power).unwrap_err();
    assert!(matches!(error, StoreError::Unopenable { .. }), "{error:?}");
}

#[cfg(unix)]
#[test]
fn a_new_store_and_its_folders_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = folder.path().join("data/tidegate/store.sqlite");
    let store = open(&path);
    commit(&store, vec![create(1)]).unwrap();
    assert_eq!(mode(&folder.path().join("data")), 0o700);
    assert_eq!(mode(&folder.path().join("data/tidegate")), 0o700);
    for file in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] {
        assert_eq!(
            mode(&folder.path().join("data/tidegate").join(file)),
            0o600,
            "{file}"
        );
    }
}

#[test]
fn a_path_that_looks_like_a_url_is_a_path() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["file:store?mode=memory", ":memory:", "with space % and #"] {
        let path = folder.path().join(name);
        let store = open(&path);
        commit(&store, vec![create(1)]).unwrap();
        run(store.close());
        assert!(std::fs::metadata(&path).unwrap().len() > 0, "{name}");
        assert!(run(open(&path).session(session(1))).unwrap().is_some());
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_store_is_the_store() {
    let (folder, path) = place();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    filled(&path);
    assert_eq!(run(open(&link).entries(session(1))).unwrap().len(), 200);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        SqliteStore::open(&link, Durability::Power),
        Err(StoreError::Unopenable { .. })
    ));
}

#[test]
fn an_empty_file_becomes_a_store() {
    let (_folder, path) = place();
    std::fs::write(&path, "").unwrap();
    commit(&open(&path), vec![create(1)]).unwrap();
}

#[test]
fn messages_say_what_which_file_and_what_to_do() {
    let (_folder, path) = place();
    let mut messages = Vec::new();
    std::fs::write(&path, "Dear diary").unwrap();
    messages.push(said_of(&path));
    std::fs::remove_file(&path).unwrap();
    filled(&path);
    sqlite(&path).execute_batch("PRAGMA user_version = 8").unwrap();
    messages.push(said_of(&path));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..8192]).unwrap();
    messages.push(said_of(&path));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    messages.push(said_of(&path));
    let messages = messages
        .join("\n\n")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!("messages_on_opening", messages);
}
