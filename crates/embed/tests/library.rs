//! A missing or wrong library of ONNX Runtime is an error, and the right one can be loaded afterwards. One process has
//! one library: hence a test of its own.

use std::path::{Path, PathBuf};
use tidegate_embed::{EmbedError, LibraryPlaces, OnnxRuntime};

fn named(library: &Path) -> LibraryPlaces {
    LibraryPlaces {
        library: Some(library.to_owned()),
        ..LibraryPlaces::default()
    }
}

fn models() -> PathBuf {
    match std::env::var_os("TIDEGATE_TEST_MODELS") {
        Some(models) => models.into(),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    }
}

#[test]
fn what_is_no_library_is_an_error_and_one_is_loaded_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("libonnxruntime.so");
    std::fs::write(&text, "no library").unwrap();
    let missing = OnnxRuntime::load(&named(&folder.path().join("nothing.so"))).unwrap_err();
    assert!(matches!(missing, EmbedError::NoLibrary { .. }), "{missing}");
    let wrong = OnnxRuntime::load(&named(&text)).unwrap_err();
    assert!(matches!(wrong, EmbedError::BadLibrary { .. }), "{wrong}");
    assert!(wrong.to_string().contains("models fetch onnxruntime"), "{wrong}");
    // A library, of something else.
    for other in [
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/lib/aarch64-linux-gnu/libm.so.6",
        "/lib64/libm.so.6",
    ] {
        if Path::new(other).is_file() {
            let wrong = OnnxRuntime::load(&named(Path::new(other))).unwrap_err();
            assert!(matches!(wrong, EmbedError::BadLibrary { .. }), "{wrong}");
            assert!(wrong.to_string().contains("OrtGetApiBase"), "{wrong}");
        }
    }

    let places = LibraryPlaces {
        models: Some(models()),
        ..LibraryPlaces::default()
    };
    let library = match places.with_environment().find() {
        Ok(library) => library,
        Err(error) => {
            println!("SKIPPED: {error} (for tests: `cargo xtask models`)");
            return;
        }
    };
    let runtime = OnnxRuntime::load(&named(&library)).unwrap();
    assert_eq!(runtime.path(), std::fs::canonicalize(&library).unwrap());
    assert!(!runtime.build().is_empty());
    // Whoever names none, or the same, gets the one there is; another one is refused.
    assert_eq!(
        OnnxRuntime::load(&LibraryPlaces::default()).unwrap().path(),
        runtime.path()
    );
    assert_eq!(
        OnnxRuntime::load(&named(&library)).unwrap().path(),
        runtime.path()
    );
    let other = OnnxRuntime::load(&named(&text)).unwrap_err();
    assert!(matches!(other, EmbedError::OtherLibrary { .. }), "{other}");
}
