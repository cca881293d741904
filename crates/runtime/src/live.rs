//! A runtime that goes by its configuration file as it is now.

use crate::config::{self, LoadOptions, Loaded};
use crate::{DataFolder, Reconfigured, Runtime, RuntimeError};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;

/// How long the folder has to be quiet before the file is read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(100);

/// For how long that is waited for at most.
const LONGEST: Duration = Duration::from_secs(2);

/// How often the file is looked at where the system tells of no changes.
const POLL: Duration = Duration::from_secs(2);

/// What became of a changed configuration.
#[derive(Clone, Debug)]
pub enum ConfigurationChange {
    /// It is in effect for what is opened from now on, save the keys that need a restart: those are as before.
    InEffect {
        /// The keys that differ and need a restart, sorted; mostly none.
        restart: Vec<String>,
    },
    /// It cannot be used, and the one before stays in effect.
    Refused {
        /// Why.
        cause: Arc<RuntimeError>,
    },
}

/// A runtime with the file it was configured by: [`refresh`](Self::refresh) looks at the file when it is told to,
/// [`watch`](Self::watch) whenever it changes. Cheap to clone; all clones are one.
///
/// ```no_run
/// # use tidegate_runtime::{DataFolder, LiveRuntime, Runtime, RuntimeError, SessionRequest, Which};
/// # use tidegate_runtime::config::{self, LoadOptions};
/// # async fn serve(options: LoadOptions, data: DataFolder) -> Result<(), Box<dyn std::error::Error>> {
/// let loaded = config::load(&options)?;
/// let runtime = Runtime::open(&loaded, &data, &options.variables)?;
/// let live = LiveRuntime::new(runtime, &loaded, options, data);
/// let _watching = live.watch()?;
/// // Each session goes by the configuration of the moment it is opened at.
/// let session = live.current().session(SessionRequest::new(Which::New)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LiveRuntime {
    inner: Arc<Inner>,
}

struct Inner {
    options: LoadOptions,
    data: DataFolder,
    state: Mutex<State>,
    changes: broadcast::Sender<ConfigurationChange>,
}

struct State {
    runtime: Runtime,
    seen: Seen,
}

/// The configuration file, as it was when it was read.
#[derive(Clone, PartialEq, Eq)]
struct Seen {
    path: Option<PathBuf>,
    content: Option<Vec<u8>>,
}

impl Seen {
    fn at(path: Option<PathBuf>) -> Self {
        let content = path.as_ref().and_then(|path| std::fs::read(path).ok());
        Self { path, content }
    }
}

/// Watches while it lives.
pub struct Watching {
    task: JoinHandle<()>,
    // Dropping it ends it.
    _watcher: Box<dyn Watcher + Send + Sync>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LiveRuntime {
    /// `runtime` was made from `loaded`, which `options` gave.
    pub fn new(runtime: Runtime, loaded: &Loaded, options: LoadOptions, data: DataFolder) -> Self {
        let path = loaded.file.as_ref().map(|file| file.path.clone());
        let inner = Inner {
            options,
            data,
            state: Mutex::new(State {
                runtime,
                seen: Seen::at(path),
            }),
            // A receiver that lags misses changes that others have overtaken.
            changes: broadcast::Sender::new(16),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The runtime as it is now.
    pub fn current(&self) -> Runtime {
        self.state().runtime.clone()
    }

    /// Every change from now on, as soon as it is in effect or refused.
    pub fn changes(&self) -> broadcast::Receiver<ConfigurationChange> {
        self.inner.changes.subscribe()
    }

    /// Looks at the file now. None if it is as it was when it was last looked at, also if it was refused then.
    pub fn refresh(&self) -> Option<ConfigurationChange> {
        let mut state = self.state();
        let now = Seen::at(state.seen.path.clone());
        if state.seen.path.is_none() || now == state.seen {
            return None;
        }
        state.seen = now;
        Some(self.take_over(state))
    }

    /// The same, whether the file has changed or not: after it was trusted, say.
    pub fn reload(&self) -> ConfigurationChange {
        let mut state = self.state();
        state.seen = Seen::at(state.seen.path.clone());
        self.take_over(state)
    }

    fn take_over(&self, mut state: MutexGuard<'_, State>) -> ConfigurationChange {
        let change = match self.reconfigured(&state) {
            Ok(Reconfigured { runtime, restart }) => {
                state.runtime = runtime;
                ConfigurationChange::InEffect { restart }
            }
            Err(cause) => ConfigurationChange::Refused {
                cause: Arc::new(cause),
            },
        };
        drop(state);
        // Nobody has to listen.
        let _ = self.inner.changes.send(change.clone());
        change
    }

    fn reconfigured(&self, state: &State) -> Result<Reconfigured, RuntimeError> {
        let loaded = config::load(&self.inner.options)?;
        // Where the file is gone another may be found, or none: that is not what was changed.
        if let Some(path) = &state.seen.path
            && loaded.file.as_ref().map(|file| &file.path) != Some(path)
        {
            return Err(RuntimeError::ConfigurationGone { file: path.clone() });
        }
        state.runtime.reconfigured(&loaded, &self.inner.data)
    }

    /// Refreshes whenever the file changes, until the value is dropped; [`changes`](Self::changes) tells of it. Changes
    /// are waited for until the folder is quiet for 100 ms (2 s at most). Where the system tells of no changes, the file
    /// is looked at every 2 s. Without a file there is nothing to watch.
    ///
    /// Has to be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`RuntimeError::Watch`] if the folder of the file cannot be watched either way.
    pub fn watch(&self) -> Result<Watching, RuntimeError> {
        let path = self.state().seen.path.clone();
        let (sender, receiver) = mpsc::unbounded_channel();
        let told = move |_: notify::Result<notify::Event>| {
            // Whatever it was: the file is compared. Nobody listens any more once the task is over.
            let _ = sender.send(());
        };
        let watcher = match path.as_deref().and_then(Path::parent) {
            None => Box::new(notify::NullWatcher) as Box<dyn Watcher + Send + Sync>,
            Some(folder) => watcher(folder, told)?,
        };
        Ok(Watching {
            task: tokio::spawn(refreshing(self.clone(), receiver)),
            _watcher: watcher,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watcher of a folder: of the folder and not of the file, since editors put another file in its place.
fn watcher(
    folder: &Path,
    told: impl Fn(notify::Result<notify::Event>) + Clone + Send + Sync + 'static,
) -> Result<Box<dyn Watcher + Send + Sync>, RuntimeError> {
    let settings = notify::Config::default().with_poll_interval(POLL);
    let by_system = RecommendedWatcher::new(told.clone(), settings).and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    match by_system {
        Ok(watcher) => Ok(Box::new(watcher)),
        Err(error) => {
            tracing::debug!(%error, "the system tells of no changes; the file is looked at instead");
            let failed = |cause| RuntimeError::Watch {
                folder: folder.to_path_buf(),
                cause,
            };
            let settings = settings.with_compare_contents(true);
            let mut watcher = notify::PollWatcher::new(told, settings).map_err(failed)?;
            watcher
                .watch(folder, RecursiveMode::NonRecursive)
                .map_err(failed)?;
            Ok(Box::new(watcher))
        }
    }
}

async fn refreshing(live: LiveRuntime, mut told: mpsc::UnboundedReceiver<()>) {
    // What changed between loading and watching.
    live.refresh_apart().await;
    while told.recv().await.is_some() {
        let longest = tokio::time::sleep(LONGEST);
        tokio::pin!(longest);
        loop {
            tokio::select! {
                more = told.recv() => if more.is_none() { return },
                () = tokio::time::sleep(QUIET) => break,
                () = &mut longest => break,
            }
        }
        live.refresh_apart().await;
    }
}

impl LiveRuntime {
    /// Reading files may block.
    async fn refresh_apart(&self) {
        let live = self.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || live.refresh()).await {
            tracing::warn!(%error, "the configuration could not be looked at");
        }
    }
}
