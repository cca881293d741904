//! A server that goes away under a memory, and comes back.

use crate::common::*;
use crate::peer::{Fault, Peer};
use std::sync::Arc;
use tidegate_memory::{EmbedWork, Memory, MemoryListing, Passages};
use tidegate_store::{MemoryRecords, Records};
use tonic::Code;

async fn over(records: &Arc<dyn Records>, peer: &Peer) -> Memory {
    dense(records, Arc::new(peer.index())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gone_in_the_middle_and_back_loses_nothing_and_reads_go_on() {
    let mut peer = Peer::new();
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = over(&records, &peer).await;
    remember(&memory, "m1", "tide 1").await;
    remember(&memory, "m2", "tide 2").await;
    assert_eq!(all(&memory).await, ["tide 1", "tide 2"]);
    assert_eq!(memory.index(), ("server", true));

    peer.stop();
    assert_eq!(
        all(&memory).await,
        ["tide 1", "tide 2"],
        "what only the server had is read from the records"
    );
    remember(&memory, "m3", "tide 3").await;
    remember(&memory, "m1", "tide 1 anew").await;
    memory.forget(&ada(), &"m2".into()).await.unwrap();
    assert_eq!(all(&memory).await, ["tide 1 anew", "tide 3"]);
    assert_eq!(memory.index(), ("server", false));

    peer.start();
    // A new start opens it at once; the one that runs leaves it alone for a while.
    let memory = over(&records, &peer).await;
    assert_eq!(memory.index(), ("server", true), "it was caught up");
    assert_eq!(all(&memory).await, ["tide 1 anew", "tide 3"]);
    let index = peer.index();
    index_is(&index, 2).await;
}

async fn index_is(index: &tidegate_qdrant::ServerIndex, memories: u64) {
    use tidegate_memory::{Embedder as _, VectorIndex as _};
    index
        .open(tidegate_memory::HashedEmbedder::new().model())
        .await
        .unwrap();
    assert_eq!(counts(index).await.0, memories);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_empty_or_older_is_filled_again() {
    let mut peer = Peer::new();
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
    let memory = over(&records, &peer).await;
    for number in 0..4 {
        remember(&memory, &format!("m{number}"), &format!("tide {number}")).await;
    }
    memory.flush().await.unwrap();
    let older = peer.backup();
    memory.forget(&ada(), &"m0".into()).await.unwrap();
    remember(&memory, "m4", "tide 4").await;
    let expected = ["tide 1", "tide 2", "tide 3", "tide 4"];
    for data in [older, crate::peer::Data::default()] {
        peer.stop();
        peer.restore(data);
        peer.start();
        // While it is found out, and afterwards.
        assert_eq!(all(&memory).await, expected);
        memory.reindex().await.unwrap();
        assert_eq!(
            (all(&memory).await, memory.index()),
            (expected.map(str::to_owned).to_vec(), ("server", true))
        );
        let memory = over(&records, &peer).await;
        assert_eq!(all(&memory).await, expected);
        index_is(&peer.index(), 4).await;
    }
}

/// What is done while calls fail; each step by itself is whole or not there.
async fn work(memory: &Memory) {
    remember(memory, "m1", "tide 1").await;
    remember(memory, "m2", "tide 2").await;
    remember(memory, "m1", "tide 1 anew").await;
    let text = Passages::Text("The tide of a long text. ".repeat(40));
    memory
        .save_session_context(&ada(), &"s".into(), text, EmbedWork::default())
        .await
        .unwrap();
    memory.forget(&ada(), &"m2".into()).await.unwrap();
    // Nothing is lost if the position is not written.
    let _the_server_is_away = memory.flush().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_call_is_the_last_that_the_server_answers_the_records_have_everything() {
    for is_done in [false, true] {
        for after in 0.. {
            let peer = Peer::new();
            let records: Arc<dyn Records> = Arc::new(MemoryRecords::new());
            peer.fail(Fault {
                after,
                times: usize::MAX,
                is_done,
                code: Code::Unavailable,
            });
            let memory = over(&records, &peer).await;
            work(&memory).await;
            assert_eq!(all(&memory).await, ["tide 1 anew"], "after {after} calls");
            let was_reached = peer.state().fault.is_some_and(|fault| fault.times < usize::MAX);
            drop(memory);

            peer.state().fault = None;
            let memory = over(&records, &peer).await;
            assert_eq!(
                (all(&memory).await, memory.index().1),
                (vec!["tide 1 anew".to_owned()], true)
            );
            let chunks = memory.statistics().await.unwrap().chunks;
            let index = peer.index();
            index_is(&index, 1).await;
            assert_eq!(counts(&index).await, (1, chunks), "after {after} calls");
            let listed = memory
                .memory_index(&ada(), MemoryListing::default())
                .await
                .unwrap();
            assert_eq!(listed.themes.len(), 1);
            if !was_reached {
                assert!(after > 20, "there were {after} calls");
                break;
            }
        }
    }
}
