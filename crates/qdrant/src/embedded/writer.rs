//! The one thread that changes the index.

use super::engine::{Shape, Shard};
use super::folder::{Folder, State};
use super::settings::{EmbeddedSettings, Step};
use crate::QdrantError;
use crate::cut::by_collection;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use tidegate_memory::{IndexChange, IndexError};
use tidegate_store::{Collection, ModelRecord};
use tokio::sync::oneshot;

/// Where an answer goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, IndexError>>;

/// Points that make it worth looking whether a graph should be built.
const WORTH_A_LOOK: usize = 1_000;

/// What the thread is asked for.
pub(crate) enum Command {
    Open(ModelRecord, Reply<()>),
    Position(Reply<u64>),
    Apply(Vec<IndexChange>, u64, Reply<()>),
    Flush(Reply<()>),
    Reset(ModelRecord, Reply<()>),
    Optimise(Reply<bool>),
    /// The thread that built graphs is done.
    Optimised(Result<bool, QdrantError>),
    Stop,
}

/// The collections, with the folder they are in: it stays taken as long as somebody has them.
pub(crate) struct Shards {
    shards: BTreeMap<Collection, Shard>,
    _folder: Arc<Folder>,
}

impl Shards {
    pub(crate) fn of(&self, collection: Collection) -> Result<&Shard, QdrantError> {
        self.shards.get(&collection).ok_or(QdrantError::NotOpen)
    }
}

/// What searches read while the thread writes.
#[derive(Default)]
pub(crate) struct Shared {
    shards: RwLock<Option<Arc<Shards>>>,
}

impl Shared {
    pub(crate) fn shards(&self) -> Result<Arc<Shards>, QdrantError> {
        let shards = self.shards.read().unwrap_or_else(PoisonError::into_inner);
        shards.clone().ok_or(QdrantError::NotOpen)
    }

    fn set(&self, shards: Option<Arc<Shards>>) -> Option<Arc<Shards>> {
        let mut place = self.shards.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, shards)
    }
}

/// The state of the thread.
pub(crate) struct Writer {
    pub(crate) settings: EmbeddedSettings,
    pub(crate) name: Arc<str>,
    pub(crate) shared: Arc<Shared>,
    /// To be told when a graph is built.
    pub(crate) to_self: Sender<Command>,
    pub(crate) folder: Option<Arc<Folder>>,
    pub(crate) opened: Option<Opened>,
    pub(crate) building: Option<Building>,
    /// A graph could not be built: it is not tried again unless it is asked for.
    pub(crate) gave_up: bool,
}

/// An index that is open.
pub(crate) struct Opened {
    model: ModelRecord,
    shards: Arc<Shards>,
    /// What was applied, and what of it is on the disk.
    applied: u64,
    durable: u64,
    /// Points that changed since it was last looked whether a graph should be built.
    unlooked: usize,
}

/// A graph that is being built beside.
#[derive(Default)]
pub(crate) struct Building {
    asked: Vec<Reply<bool>>,
    /// What waits for it: until then what is on the disk is not all that was applied, and files come and go.
    later: Vec<Command>,
}

impl Writer {
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        loop {
            let command = match self.settings.rest.filter(|_| self.has_something_to_do()) {
                Some(rest) => match commands.recv_timeout(rest) {
                    Ok(command) => command,
                    Err(RecvTimeoutError::Timeout) => {
                        self.rest();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => Command::Stop,
                },
                None => commands.recv().unwrap_or(Command::Stop),
            };
            if matches!(command, Command::Stop) {
                return self.stop();
            }
            self.obey(command);
        }
    }

    fn obey(&mut self, command: Command) {
        if let (Some(building), Command::Flush(_) | Command::Reset(..)) = (&mut self.building, &command) {
            return building.later.push(command);
        }
        match command {
            Command::Open(model, reply) => answer(reply, self.open(&model)),
            Command::Position(reply) => {
                let position = self.opened.as_ref().map(|opened| opened.durable);
                answer(reply, position.ok_or_else(|| QdrantError::NotOpen.of(&self.name)));
            }
            Command::Apply(changes, position, reply) => {
                let done = self.apply(changes, position);
                answer(reply, self.mapped(done));
            }
            Command::Flush(reply) => {
                let done = self.flush();
                answer(reply, self.mapped(done));
            }
            Command::Reset(model, reply) => answer(reply, self.reset(&model)),
            Command::Optimise(reply) => self.begin_building(Some(reply)),
            Command::Optimised(done) => self.end_building(done),
            Command::Stop => {}
        }
    }

    fn shape(&self, model: &ModelRecord) -> Shape {
        Shape {
            dimension: model.dimension,
            graph_from_kilobytes: self.settings.graph_from_kilobytes,
        }
    }

    fn step(&self, step: Step) {
        if let Some(on_step) = &self.settings.on_step {
            on_step(step);
        }
    }

    /// As the error of this index. After a panic inside the engine the collections are closed: nobody knows what they
    /// hold, and what is on the disk is whole.
    fn mapped<T>(&mut self, done: Result<T, QdrantError>) -> Result<T, IndexError> {
        done.map_err(|error| {
            if matches!(error, QdrantError::Panicked { .. }) {
                self.close();
            }
            error.of(&self.name)
        })
    }

    fn close(&mut self) {
        drop(self.shared.set(None));
        self.opened = None;
    }

    fn taken_folder(&mut self) -> Result<Arc<Folder>, IndexError> {
        if let Some(folder) = &self.folder {
            return Ok(Arc::clone(folder));
        }
        let folder = Arc::new(Folder::take(&self.settings.folder, &self.name)?);
        self.folder = Some(Arc::clone(&folder));
        Ok(folder)
    }

    fn open(&mut self, model: &ModelRecord) -> Result<(), IndexError> {
        if let Some(opened) = &self.opened {
            return self.check_model(&opened.model, model);
        }
        if self.building.is_some() {
            // Its thread has the collections, though they were closed here.
            let problem = "a graph is still being built".to_owned();
            let action = "opening the collections";
            return Err(QdrantError::Engine { action, problem }.of(&self.name));
        }
        let folder = self.taken_folder()?;
        let state = folder.state().map_err(|error| error.of(&self.name))?;
        let Some(state) = state else {
            return self.make(&folder, model);
        };
        self.check_model(&state.model, model)?;
        let shape = self.shape(model);
        let load = |collection| Shard::load(&folder.shard(collection), shape);
        let shards = all_shards(load).map_err(|error| {
            // Somebody who does not know our lock has it.
            if error.to_string().contains("WouldBlock") {
                return IndexError::InUse {
                    index: self.name.to_string(),
                };
            }
            folder.damaged(&error.to_string()).of(&self.name)
        })?;
        self.set_open(&folder, shards, &state);
        Ok(())
    }

    fn check_model(&self, found: &ModelRecord, wanted: &ModelRecord) -> Result<(), IndexError> {
        if found == wanted {
            return Ok(());
        }
        Err(IndexError::OtherModel {
            index: self.name.to_string(),
            found: found.id.clone(),
            wanted: wanted.id.clone(),
        })
    }

    fn set_open(&mut self, folder: &Arc<Folder>, shards: BTreeMap<Collection, Shard>, state: &State) {
        let shards = Arc::new(Shards {
            shards,
            _folder: Arc::clone(folder),
        });
        drop(self.shared.set(Some(Arc::clone(&shards))));
        self.opened = Some(Opened {
            model: state.model.clone(),
            shards,
            applied: state.position,
            durable: state.position,
            unlooked: 0,
        });
    }

    /// Empties it and makes it anew.
    fn reset(&mut self, model: &ModelRecord) -> Result<(), IndexError> {
        self.close();
        let folder = self.taken_folder()?;
        self.make(&folder, model)
    }

    fn make(&mut self, folder: &Arc<Folder>, model: &ModelRecord) -> Result<(), IndexError> {
        let state = State::new(model, 0);
        let shape = self.shape(model);
        let make = || {
            folder.forget()?;
            self.step(Step::Forgotten);
            let shards = all_shards(|collection| Shard::create(&folder.shard(collection), shape))?;
            self.step(Step::Created);
            self.keep(folder, &state)?;
            Ok(shards)
        };
        let shards = make().map_err(|error: QdrantError| error.of(&self.name))?;
        self.set_open(folder, shards, &state);
        Ok(())
    }

    fn keep(&self, folder: &Folder, state: &State) -> Result<(), QdrantError> {
        folder.write_state(state)?;
        self.step(Step::PositionWritten);
        folder.keep_state()?;
        self.step(Step::PositionKept);
        Ok(())
    }

    fn apply(&mut self, changes: Vec<IndexChange>, position: u64) -> Result<(), QdrantError> {
        let count = changes.len();
        let opened = self.opened.as_ref().ok_or(QdrantError::NotOpen)?;
        for (collection, changed) in by_collection(changes) {
            opened.shards.of(collection)?.apply(changed)?;
            self.step(Step::Applied);
        }
        if let Some(opened) = &mut self.opened {
            opened.applied = opened.applied.max(position);
            opened.unlooked = opened.unlooked.saturating_add(count);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), QdrantError> {
        let opened = self.opened.as_ref().ok_or(QdrantError::NotOpen)?;
        if opened.applied == opened.durable {
            return Ok(());
        }
        self.flush_all()
    }

    fn flush_all(&mut self) -> Result<(), QdrantError> {
        let opened = self.opened.as_ref().ok_or(QdrantError::NotOpen)?;
        let (position, shards) = (opened.applied, Arc::clone(&opened.shards));
        let state = State::new(&opened.model, position);
        for collection in Collection::ALL {
            shards.of(collection)?.flush()?;
            self.step(Step::Flushed);
        }
        let folder = self.folder.as_ref().ok_or(QdrantError::NotOpen)?;
        self.keep(folder, &state)?;
        for collection in Collection::ALL {
            shards.of(collection)?.trim_log();
        }
        self.step(Step::LogTrimmed);
        if let Some(opened) = &mut self.opened {
            opened.durable = position;
        }
        Ok(())
    }

    fn has_something_to_do(&self) -> bool {
        let worth_a_look = |opened: &Opened| opened.unlooked >= WORTH_A_LOOK && !self.gave_up;
        let opened = self.opened.as_ref().filter(|_| self.building.is_none());
        opened.is_some_and(|opened| opened.applied > opened.durable || worth_a_look(opened))
    }

    /// Nothing has come for a while.
    fn rest(&mut self) {
        let done = self.flush();
        if let Err(error) = self.mapped(done) {
            tracing::warn!(%error, "what the index got is not on the disk yet");
            self.close();
            return;
        }
        if self.has_something_to_do() {
            self.begin_building(None);
        }
    }

    /// Builds graphs on another thread, so that writing goes on.
    fn begin_building(&mut self, reply: Option<Reply<bool>>) {
        if let Some(building) = &mut self.building {
            building.asked.extend(reply);
            return;
        }
        let shards = match (self.ready_to_build(), reply) {
            (Ok(shards), reply) => {
                self.building = Some(Building {
                    asked: reply.into_iter().collect(),
                    later: Vec::new(),
                });
                shards
            }
            (Err(error), Some(reply)) => return answer(reply, Err(error)),
            (Err(error), None) => {
                self.gave_up = true;
                return tracing::warn!(%error, "no graph is built for the index");
            }
        };
        self.step(Step::Building);
        let to_writer = self.to_self.clone();
        let build = move || {
            let build = || {
                let mut any = false;
                for collection in Collection::ALL {
                    any |= shards.of(collection)?.optimise()?;
                }
                Ok(any)
            };
            let done = build();
            drop(shards);
            // Nobody listens any more when the index is being closed.
            let _closing = to_writer.send(Command::Optimised(done));
        };
        if let Err(cause) = thread::Builder::new()
            .name("tidegate-graph".to_owned())
            .spawn(build)
        {
            self.end_building(Err(QdrantError::Engine {
                action: "starting a thread",
                problem: cause.to_string(),
            }));
        }
    }

    /// What is on the disk is all that is behind the position, before parts of it are moved.
    fn ready_to_build(&mut self) -> Result<Arc<Shards>, IndexError> {
        let ready = self.flush().and_then(|()| {
            self.folder
                .as_ref()
                .ok_or(QdrantError::NotOpen)?
                .begin_building()?;
            let opened = self.opened.as_mut().ok_or(QdrantError::NotOpen)?;
            opened.unlooked = 0;
            Ok(Arc::clone(&opened.shards))
        });
        self.mapped(ready)
    }

    fn end_building(&mut self, done: Result<bool, QdrantError>) {
        let Some(building) = self.building.take() else {
            return;
        };
        if matches!(done, Ok(true)) {
            self.step(Step::Optimised);
        }
        let done = done.and_then(|any| {
            self.flush_all()?;
            self.folder.as_ref().ok_or(QdrantError::NotOpen)?.end_building()?;
            Ok(any)
        });
        if let Err(error) = &done {
            tracing::warn!(%error, "no graph was built for the index");
            // What it left is not trusted: the index is made anew when it is opened again.
            self.gave_up = true;
            self.close();
        }
        let done = done.map_err(|error| error.of(&self.name));
        let mut asked = building.asked.into_iter();
        if let Some(first) = asked.next() {
            answer(first, done);
        }
        asked.for_each(|reply| answer(reply, Ok(false)));
        for command in building.later {
            self.obey(command);
        }
    }

    fn stop(mut self) {
        if self.building.is_none() && self.opened.is_some() {
            let flushed = self.flush();
            if let Err(error) = self.mapped(flushed) {
                tracing::warn!(%error, "what the index got last is applied again when it is next opened");
            }
        }
        self.close();
    }
}

/// Makes both, or neither.
fn all_shards(
    make: impl Fn(Collection) -> Result<Shard, QdrantError>,
) -> Result<BTreeMap<Collection, Shard>, QdrantError> {
    Collection::ALL
        .into_iter()
        .map(|collection| Ok((collection, make(collection)?)))
        .collect()
}

/// Nobody waits for an answer whose call was given up.
fn answer<T>(reply: Reply<T>, done: Result<T, IndexError>) {
    drop(reply.send(done));
}
