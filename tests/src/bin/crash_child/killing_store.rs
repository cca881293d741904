//! A store that ends the process at a commit.

use tidegate_store::{BoxFuture, Committed, Store, StoreError, Write};
use tidegate_testing::Meddler;
use tidegate_tests::crash::{Kill, Side};

/// Kills the process beside one commit. A killed process runs no destructor, flushes no buffer and tells nobody:
/// what is left is what the files hold.
pub(crate) struct Killing(pub(crate) Option<Kill>);

impl Killing {
    fn die_if(&self, commit: usize, side: Side) {
        if self.0 == Some(Kill { commit, side }) {
            // The signal cannot be caught; if it cannot be sent either, ending at once comes nearest.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            std::process::abort();
        }
    }
}

impl Meddler for Killing {
    fn commit<'a>(
        &'a self,
        number: usize,
        writes: Vec<Write>,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move {
            self.die_if(number, Side::Before);
            let committed = store.commit(writes).await;
            self.die_if(number, Side::After);
            committed
        })
    }
}
