//! The readers: a few threads, each with a read-only connection.
//!
//! Threads of their own, not of an async runtime: the store works on every runtime and needs none.

use super::connection::open_reader;
use crate::StoreError;
use rusqlite::Connection;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// How many reads run at once.
const READERS: usize = 3;

/// A read: gets a connection, or why there is none, and answers by itself.
pub(crate) type Read = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The readers of a store.
#[derive(Debug)]
pub(crate) struct Readers {
    reads: Sender<Read>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts the threads. They connect at their first read.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let (reads, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let threads = (0..READERS).map(|_| {
            let (queue, path) = (Arc::clone(&queue), path.to_path_buf());
            Builder::new()
                .name("store-reader".into())
                .spawn(move || serve(&queue, path))
        });
        Ok(Self {
            reads,
            threads: threads.collect::<io::Result<_>>()?,
        })
    }

    /// Queues a read. Whether a reader will get to it.
    pub(crate) fn read(&self, read: Read) -> bool {
        self.reads.send(read).is_ok()
    }

    /// Lets the readers end when they have done what is queued, and waits for it.
    pub(crate) fn end(self) {
        drop(self.reads);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a reader of the store panicked");
            }
        }
    }
}

fn serve(queue: &Mutex<Receiver<Read>>, path: PathBuf) {
    let mut connection = None;
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(read) = next else { return };
        let opened = match connection.take() {
            Some(connection) => Ok(connection),
            None => open_reader(&path),
        };
        match opened {
            Ok(opened) => read(Ok(connection.insert(opened))),
            Err(error) => read(Err(error)),
        }
    }
}
