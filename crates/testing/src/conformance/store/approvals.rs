//! Requests for the owner's approval.

use super::made::*;
use super::{Make, commit, read, refused};
use futures::future::join_all;
use std::time::Duration;
use tidegate_policy::ApprovalId;
use tidegate_store::ApprovalState::{Expired, Granted, Refused, Used, Waiting};
use tidegate_store::{ApprovalFilter, ApprovalState, NewApproval, StoreError, Write};

fn id(n: u128) -> ApprovalId {
    ApprovalId::from_bits(n)
}

fn ask(n: u128, call: &str, valid_for: Duration) -> Write {
    Write::AskApproval(Box::new(NewApproval {
        id: id(n),
        session: session(1),
        turn: turn(1),
        call: call.into(),
        digest: [7; 32],
        label: SECRET,
        shown: r#"{"tool":"write_file"}"#.into(),
        valid_for,
    }))
}

fn decide(n: u128, grant: bool) -> Write {
    Write::DecideApproval {
        approval: id(n),
        grant,
    }
}

fn use_up(n: u128) -> Write {
    Write::UseApproval { approval: id(n) }
}

fn give_up(n: u128) -> Write {
    Write::ExpireApproval { approval: id(n) }
}

const HOUR: Duration = Duration::from_secs(3_600);

pub(super) async fn lead_where_they_should(make: Make<'_>) {
    let store = make().await;
    commit(
        &*store,
        vec![create(1), ask(1, "call_2_0", HOUR), ask(2, "call_2_0", HOUR)],
    )
    .await;
    let state = async |n| read(store.approval(id(n)).await).map(|found| found.state);
    assert_eq!(
        (state(1).await, state(2).await),
        (Some(Waiting), None),
        "identical requests are one"
    );
    let mut n = 10;
    let granted = |n| decide(n, true);
    type Step = fn(u128) -> Write;
    let paths: [(&[Step], ApprovalState); 6] = [
        (&[], Waiting),
        (&[|n| decide(n, true)], Granted),
        (&[|n| decide(n, false)], Refused),
        (&[|n| decide(n, true), use_up], Used),
        (&[give_up], Expired),
        (&[|n| decide(n, true), give_up], Expired),
    ];
    for (path, from) in paths {
        for (what, step, to) in [
            ("granting", granted as Step, (from == Waiting).then_some(Granted)),
            (
                "refusing",
                |n| decide(n, false),
                (from == Waiting).then_some(Refused),
            ),
            ("using", use_up, (from == Granted).then_some(Used)),
            (
                "giving up",
                give_up,
                Some(if from.is_open() { Expired } else { from }),
            ),
        ] {
            n += 1;
            let mut writes = vec![ask(n, &format!("call_{n}"), HOUR)];
            writes.extend(path.iter().map(|write| write(n)));
            commit(&*store, writes).await;
            match to {
                Some(to) => {
                    commit(&*store, vec![step(n)]).await;
                    assert_eq!(state(n).await, Some(to), "{what} what is {from}");
                }
                None => match refused(&*store, vec![step(n)]).await {
                    StoreError::ApprovalSettled { state: said, .. } => assert_eq!(said, from, "{what}"),
                    other => panic!("{what} what is {from} is ApprovalSettled, not {other:?}"),
                },
            }
        }
    }
    commit(&*store, vec![ask(5, "call_9", Duration::ZERO)]).await;
    assert_eq!(
        state(5).await,
        Some(Expired),
        "a request whose time is up has expired"
    );
    for write in [granted(5), use_up(5)] {
        match refused(&*store, vec![write]).await {
            StoreError::ApprovalSettled { state, .. } => assert_eq!(state, Expired),
            other => panic!("a request whose time is up is ApprovalSettled, not {other:?}"),
        }
    }
    match refused(&*store, vec![use_up(999)]).await {
        StoreError::UnknownApproval { .. } => {}
        other => panic!("a request nobody made is UnknownApproval, not {other:?}"),
    }
    let filter = ApprovalFilter {
        session: Some(session(1)),
        state: Some(Used),
    };
    let used = read(store.approvals(filter).await);
    assert!(
        !used.is_empty() && used.iter().all(|found| found.state == Used),
        "requests are found by state"
    );
}

pub(super) async fn are_used_at_most_once(make: Make<'_>) {
    let store = make().await;
    commit(
        &*store,
        vec![create(1), ask(1, "call_2_0", HOUR), decide(1, true)],
    )
    .await;
    let tries = (0..8).map(|_| {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move { store.commit(vec![use_up(1)]).await.is_ok() })
    });
    let used = join_all(tries)
        .await
        .into_iter()
        .filter(|used| matches!(used, Ok(true)))
        .count();
    assert_eq!(used, 1, "of many that use a grant at the same time one succeeds");
}
