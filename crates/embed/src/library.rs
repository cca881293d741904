//! ONNX Runtime's library: found, checked and loaded once a process.

use crate::manifest::Manifest;
use crate::{EmbedError, ManifestKind};
use ort::environment::Environment;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The folder of the library in a models folder, and the name it is fetched by.
pub(crate) const FOLDER: &str = "onnxruntime";

/// The variable that names a library, as everything on ONNX Runtime's Rust binding knows it.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// Where ONNX Runtime's library may be. The first that is set and has one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryPlaces {
    /// The library itself. If it is set nothing else is looked at.
    pub library: Option<PathBuf>,
    /// A models folder: what was fetched into it.
    pub models: Option<PathBuf>,
    /// What the variable `ORT_DYLIB_PATH` says: a library, or a folder with one.
    pub variable: Option<PathBuf>,
}

impl LibraryPlaces {
    /// These, with what `ORT_DYLIB_PATH` says.
    #[must_use]
    pub fn with_environment(mut self) -> Self {
        self.variable = std::env::var_os(VARIABLE)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from);
        self
    }

    /// The library. Looks for the file and loads nothing.
    ///
    /// # Errors
    /// [`EmbedError::NoLibrary`], with the places that were looked at.
    pub fn find(&self) -> Result<PathBuf, EmbedError> {
        let mut looked_at = Vec::new();
        if let Some(library) = &self.library {
            // Somebody named it: another one would be a surprise.
            return in_place(library).ok_or_else(|| EmbedError::NoLibrary {
                looked_at: library.display().to_string(),
            });
        }
        if let Some(models) = &self.models {
            let folder = models.join(FOLDER);
            if let Some(found) = fetched(&folder) {
                return Ok(found);
            }
            looked_at.push(folder.display().to_string());
        }
        match &self.variable {
            Some(variable) => {
                if let Some(found) = in_place(variable) {
                    return Ok(found);
                }
                looked_at.push(format!("{VARIABLE}={}", variable.display()));
            }
            None => looked_at.push(format!("{VARIABLE}, which is not set")),
        }
        Err(EmbedError::NoLibrary {
            looked_at: looked_at.join(" and "),
        })
    }
}

/// What the manifest of `folder` names.
fn fetched(folder: &Path) -> Option<PathBuf> {
    // Whatever is wrong with a manifest is told by `installed`; here there simply is no library.
    let manifest = Manifest::read(folder).ok().flatten()?;
    if manifest.kind != ManifestKind::OnnxRuntime {
        return None;
    }
    let is_library = |name: &&String| Path::new(name).file_name().is_some_and(is_library_name);
    let name = manifest.files.keys().find(is_library)?;
    Some(folder.join(name)).filter(|path| path.is_file())
}

/// `place` itself if it is a file, else a library in it.
fn in_place(place: &Path) -> Option<PathBuf> {
    if place.is_file() {
        return Some(place.to_owned());
    }
    let mut libraries: Vec<PathBuf> = std::fs::read_dir(place)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(is_library_name) && path.is_file())
        .collect();
    libraries.sort();
    libraries.pop()
}

/// Whether a file of this name is the library: `libonnxruntime.so`, `libonnxruntime.so.1.32.0`,
/// `libonnxruntime.1.32.0.dylib`, `onnxruntime.dll`; not `libonnxruntime_providers_shared.so`.
fn is_library_name(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let rest = name.strip_prefix("lib").unwrap_or(&name);
    rest.strip_prefix("onnxruntime.").is_some_and(|rest| {
        ["so", "dll"].contains(&rest) || rest.starts_with("so.") || rest.ends_with("dylib")
    })
}

/// ONNX Runtime, loaded. A process has one; clones are the same.
#[derive(Clone)]
pub struct OnnxRuntime {
    path: PathBuf,
    build: &'static str,
    environment: Environment,
}

impl fmt::Debug for OnnxRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnnxRuntime")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The one there is. It lives as long as the process: unloading it while a thread of its own still runs is a crash.
static LOADED: OnceLock<OnnxRuntime> = OnceLock::new();

/// Held while it is being loaded.
static LOADING: Mutex<()> = Mutex::new(());

impl OnnxRuntime {
    /// Finds, checks and loads the library. Blocks for some milliseconds. If it is loaded already it is the same one.
    ///
    /// The file is code that runs in this process: name only what you trust.
    ///
    /// # Errors
    /// [`EmbedError::NoLibrary`], [`EmbedError::BadLibrary`], or [`EmbedError::OtherLibrary`] if `places` names another
    /// than the process uses.
    pub fn load(places: &LibraryPlaces) -> Result<Self, EmbedError> {
        let found = places.find();
        let _loading = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = LOADED.get() {
            return match (&places.library, found) {
                (Some(_), Err(error)) => Err(error),
                (Some(_), Ok(wanted)) if absolute(&wanted)? != loaded.path => Err(EmbedError::OtherLibrary {
                    wanted,
                    in_use: loaded.path.clone(),
                }),
                // The other places only say where to look when there is none.
                _ => Ok(loaded.clone()),
            };
        }
        let path = absolute(&found?)?;
        let loaded = load(&path)?;
        Ok(LOADED.get_or_init(|| loaded).clone())
    }

    /// The library's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the library says about how it was built, with its commit.
    pub fn build(&self) -> &str {
        self.build
    }

    pub(crate) fn environment(&self) -> Environment {
        self.environment.clone()
    }
}

fn absolute(path: &Path) -> Result<PathBuf, EmbedError> {
    std::fs::canonicalize(path).map_err(EmbedError::file("find", path))
}

fn load(path: &Path) -> Result<OnnxRuntime, EmbedError> {
    let bad = |problem: String, cause| EmbedError::BadLibrary {
        path: path.to_owned(),
        problem,
        cause,
    };
    // What can be checked is, and gives an error. The binding asserts the rest, as that a library that calls itself
    // ONNX Runtime has its functions: that would be a panic.
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        let builder = ort::init_from(path).map_err(|cause| bad(cause.to_string(), Some(Box::new(cause))))?;
        let environment = builder.with_name("tidegate").with_telemetry(false).build();
        let environment = environment.map_err(|cause| bad(cause.to_string(), Some(Box::new(cause))))?;
        Ok(OnnxRuntime {
            path: path.to_owned(),
            build: ort::info(),
            environment,
        })
    }));
    loaded.unwrap_or_else(|_| {
        let problem = "it says that it is ONNX Runtime, and does not do what ONNX Runtime does";
        Err(bad(problem.to_owned(), None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn the_library_is_told_from_what_lies_beside_it() {
        for (name, is_library) in [
            ("libonnxruntime.so", true),
            ("libonnxruntime.so.1.32.0", true),
            ("libonnxruntime.dylib", true),
            ("libonnxruntime.1.32.0.dylib", true),
            ("onnxruntime.dll", true),
            ("libonnxruntime_providers_shared.so", false),
            ("onnxruntime_providers_shared.dll", false),
            ("onnxruntime.lib", false),
            ("libonnxruntime.so-notes", false),
            ("LICENSE", false),
        ] {
            assert_eq!(is_library_name(OsStr::new(name)), is_library, "{name}");
        }
    }

    #[test]
    fn the_first_place_that_has_a_library_counts_and_a_named_one_alone() {
        let root = tempfile::tempdir().unwrap();
        let file = |path: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, b"").unwrap();
            path
        };
        let named = file("named/libonnxruntime.so");
        let fetched = file("models/onnxruntime/libonnxruntime.so.1.32.0");
        let variable = file("variable/libonnxruntime.so");
        let models = root.path().join("models");
        let empty = root.path().join("empty");
        let mut manifest = Manifest::new(FOLDER, ManifestKind::OnnxRuntime, "ONNX Runtime", Vec::new());
        let entry = crate::ManifestFile {
            bytes: 0,
            sha256: String::new(),
        };
        manifest.files.insert("LICENSE".to_owned(), entry.clone());
        manifest
            .files
            .insert("libonnxruntime.so.1.32.0".to_owned(), entry);
        manifest.write(&models.join(FOLDER)).unwrap();

        let (some, none) = (|path: &PathBuf| Some(path.clone()), None::<PathBuf>);
        for (library, models, from_variable, expected) in [
            (some(&named), some(&models), some(&variable), Some(&named)),
            (some(&empty), some(&models), some(&variable), None),
            (none.clone(), some(&models), some(&variable), Some(&fetched)),
            (none.clone(), some(&empty), some(&variable), Some(&variable)),
            (
                none.clone(),
                some(&empty),
                variable.parent().map(Path::to_owned),
                Some(&variable),
            ),
            (none.clone(), some(&empty), some(&empty), None),
            (none.clone(), none.clone(), none.clone(), None),
        ] {
            let places = LibraryPlaces {
                library,
                models,
                variable: from_variable,
            };
            assert_eq!(places.find().ok().as_ref(), expected, "{places:?}");
        }
    }
}
