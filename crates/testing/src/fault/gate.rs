//! Handles that let a server go on.

use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Where a [`FaultServer`](crate::FaultServer) stands still until a test lets it go on. Clones are one.
///
/// Nothing here is a matter of time: a test waits until the server has come to the gate
/// ([`until_reached`](Self::until_reached)) and opens it when it likes.
#[derive(Clone, Debug)]
pub struct Gate {
    permits: Arc<Semaphore>,
    reached: Arc<watch::Sender<usize>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(0)),
            reached: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Lets one wait go on, now or when it comes.
    pub fn pass(&self) {
        self.permits.add_permits(1);
    }

    /// Opens it for good.
    pub fn open(&self) {
        self.permits.close();
    }

    /// Waits until the server has come to the gate for the `count`-th time, the first being 1.
    pub async fn until_reached(&self, count: usize) {
        let mut reached = self.reached.subscribe();
        // The sender lives as long as `self`.
        let _reached = reached.wait_for(|reached| *reached >= count).await;
    }

    /// Comes to the gate and waits.
    pub(super) async fn wait(&self) {
        self.reached.send_modify(|reached| *reached += 1);
        // An error means that the gate is open for good.
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
    }
}
