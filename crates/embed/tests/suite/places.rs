//! Where tests find what the repository does not hold.

use std::path::{Path, PathBuf};
use tidegate_embed::{LibraryPlaces, OnnxRuntime};

/// The folder with models for tests: what `TIDEGATE_TEST_MODELS` says, else `models` in the target folder, where `cargo
/// xtask models` puts them.
pub(crate) fn models() -> PathBuf {
    match std::env::var_os("TIDEGATE_TEST_MODELS") {
        Some(models) => models.into(),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    }
}

/// ONNX Runtime; none, and a line that says so, where it has not been fetched.
pub(crate) fn runtime() -> Option<OnnxRuntime> {
    let places = LibraryPlaces {
        models: Some(models()),
        ..LibraryPlaces::default()
    };
    match places.with_environment().find() {
        Ok(library) => {
            let places = LibraryPlaces {
                library: Some(library),
                ..LibraryPlaces::default()
            };
            Some(OnnxRuntime::load(&places).unwrap())
        }
        Err(error) => {
            println!("SKIPPED: {error} (for tests: `cargo xtask models`)");
            None
        }
    }
}

/// The folder of all-MiniLM-L6-v2; none, and a line that says so, where it has not been fetched.
pub(crate) fn minilm() -> Option<PathBuf> {
    let folder = models().join("minilm");
    if folder.is_dir() {
        return Some(folder);
    }
    println!(
        "SKIPPED: {} is not there; `cargo xtask models` fetches it",
        folder.display()
    );
    None
}

/// A folder of this crate's fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// A copy of a folder that may be changed.
pub(crate) fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_into(folder, copy.path());
    copy
}

fn copy_into(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_into(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
