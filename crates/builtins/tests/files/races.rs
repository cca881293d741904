//! Somebody swaps what paths name while the tools work. What happens depends on the moment; what may never happen
//! does not.

use crate::common::{Space, cleared, run};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tidegate_policy::Classification::*;

const ROUNDS: usize = 300;

/// Exchanges two paths again and again until it is dropped.
struct Swapping {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Swapping {
    fn of(one: PathBuf, other: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            while !told.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let swaps = self.thread.take().unwrap().join().unwrap();
        assert!(swaps > 0, "nothing was swapped, so nothing was tested");
    }
}

#[test]
fn a_file_swapped_for_a_link_out_gives_nothing_from_outside() {
    let space = Space::new();
    space
        .file("a.txt", "INSIDE")
        .link(space.outside("secret.txt"), "b.txt");
    let swapping = Swapping::of(space.path("a.txt"), space.path("b.txt"));
    run(async {
        for _ in 0..ROUNDS {
            for (tool, arguments) in [
                ("read_file", json!({"path": "a.txt"})),
                ("search_files", json!({"pattern": "SIDE"})),
                (
                    "edit_file",
                    json!({"path": "a.txt", "old_text": "E", "new_text": "E"}),
                ),
            ] {
                let ended = space.call(tool, arguments).await;
                assert!(!ended.text.contains("OUTSIDE"), "{tool}: {}", ended.text);
            }
        }
    });
    drop(swapping);
    assert_eq!(
        fs::read_to_string(space.outside("secret.txt")).unwrap(),
        "OUTSIDE"
    );
}

#[test]
fn a_folder_swapped_for_a_link_out_is_never_left_by_it() {
    let space = Space::new();
    space
        .file("folder/secret.txt", "INSIDE")
        .link(space.outside(""), "other");
    let swapping = Swapping::of(space.path("folder"), space.path("other"));
    run(async {
        for round in 0..ROUNDS {
            for (tool, arguments) in [
                ("read_file", json!({"path": "folder/secret.txt"})),
                ("search_files", json!({"pattern": "SIDE"})),
                ("list_files", json!({"recursive": true})),
                ("write_file", json!({"path": "folder/new.txt", "content": "NEW"})),
                (
                    "write_file",
                    json!({"path": format!("folder/{round}/new.txt"), "content": "NEW"}),
                ),
                (
                    "write_file",
                    json!({"path": "folder/secret.txt", "content": "INSIDE"}),
                ),
            ] {
                let ended = space.call(tool, arguments).await;
                assert!(!ended.text.contains("OUTSIDE"), "{tool}: {}", ended.text);
            }
        }
    });
    drop(swapping);
    assert_eq!(
        fs::read_to_string(space.outside("secret.txt")).unwrap(),
        "OUTSIDE"
    );
    let names: Vec<_> = fs::read_dir(space.outside(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["secret.txt"]);
}

#[test]
fn a_file_swapped_for_one_above_the_clearance_is_judged_as_what_is_read() {
    let space = Space::new();
    space.file("public/a.txt", "LOW").file("restricted/a.txt", "HIGH");
    space
        .link("../restricted", "public/folder")
        .folder("public/other")
        .file("public/other/a.txt", "LOW");
    let swapping = Swapping::of(space.path("public/folder"), space.path("public/other"));
    run(async {
        for _ in 0..ROUNDS {
            for (tool, arguments) in [
                ("read_file", json!({"path": "public/folder/a.txt"})),
                ("list_files", json!({"path": "public/folder"})),
                ("search_files", json!({"pattern": "HIGH|LOW"})),
                (
                    "search_files",
                    json!({"pattern": "HIGH|LOW", "path": "public/folder"}),
                ),
            ] {
                let ended = space.call_in(tool, arguments, cleared(Internal)).await;
                assert!(!ended.text.contains("HIGH"), "{tool}: {}", ended.text);
                assert!(ended.label.classification <= Internal);
            }
        }
    });
    drop(swapping);
}

#[test]
fn a_secret_never_lands_in_a_folder_swapped_for_a_public_one() {
    let space = Space::new();
    space
        .folder("confidential/folder")
        .folder("public")
        .link("../public", "confidential/link");
    let swapping = Swapping::of(space.path("confidential/folder"), space.path("confidential/link"));
    run(async {
        let secret = crate::common::tainted(tidegate_policy::Label::trusted(Confidential));
        for round in 0..ROUNDS {
            for path in [
                "confidential/folder/a.txt".to_owned(),
                format!("confidential/folder/{round}/a.txt"),
            ] {
                space
                    .call_in(
                        "write_file",
                        json!({"path": path, "content": "SECRET"}),
                        secret.clone(),
                    )
                    .await;
            }
        }
    });
    drop(swapping);
    assert!(space.names("public").is_empty());
}
