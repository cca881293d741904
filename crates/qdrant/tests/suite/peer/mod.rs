//! A server that speaks Qdrant's protocol: its own service definitions, answered from memory by comparing everything.
//! It is stricter than the real one: what is not indexed cannot be filtered, every write has to wait.

mod data;
mod service;

pub(crate) use data::Data;
use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::QdrantServer;
use service::Service;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tidegate_qdrant::{ServerIndex, ServerSettings};
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Status};

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// Calls that go well before.
    pub(crate) after: usize,
    /// Calls that fail then.
    pub(crate) times: usize,
    /// Whether what is asked for is done all the same.
    pub(crate) is_done: bool,
    pub(crate) code: Code,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) data: Data,
    pub(crate) calls: Vec<&'static str>,
    pub(crate) fault: Option<Fault>,
}

/// It keeps its port, also while it is away.
pub(crate) struct Peer {
    state: Arc<Mutex<State>>,
    port: u16,
    key: Option<&'static str>,
    runtime: Option<Runtime>,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self::asking_for(None)
    }

    pub(crate) fn asking_for(key: Option<&'static str>) -> Self {
        let mut peer = Self {
            state: Arc::default(),
            port: 0,
            key,
            runtime: None,
        };
        peer.start();
        peer
    }

    pub(crate) fn settings(&self) -> ServerSettings {
        let url = format!("http://127.0.0.1:{}", self.port);
        ServerSettings {
            pause: Duration::from_millis(1),
            ..ServerSettings::new(url.parse().unwrap())
        }
    }

    pub(crate) fn index(&self) -> ServerIndex {
        ServerIndex::connect(self.settings()).unwrap()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What it holds, as a backup has it.
    pub(crate) fn backup(&self) -> Data {
        self.state().data.clone()
    }

    pub(crate) fn restore(&self, data: Data) {
        self.state().data = data;
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.state().fault = Some(fault);
    }

    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().calls)
    }

    /// Every connection is cut, and nobody listens.
    pub(crate) fn stop(&mut self) {
        let runtime = self.runtime.take().unwrap();
        // Not on a thread of the test's own runtime.
        std::thread::spawn(move || runtime.shutdown_timeout(Duration::from_secs(10)))
            .join()
            .unwrap();
    }

    pub(crate) fn start(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        self.port = listener.local_addr().unwrap().port();
        let service = Service {
            state: Arc::clone(&self.state),
        };
        let key = self.key;
        let check = move |request: Request<()>| -> Result<Request<()>, Status> {
            let given = request
                .metadata()
                .get("api-key")
                .and_then(|given| given.to_str().ok());
            if key.is_some() && given != key {
                return Err(Status::unauthenticated("Invalid API key or JWT"));
            }
            Ok(request)
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            Server::builder()
                .add_service(QdrantServer::with_interceptor(service.clone(), check))
                .add_service(CollectionsServer::with_interceptor(service.clone(), check))
                .add_service(PointsServer::with_interceptor(service, check))
                .serve_with_incoming(TcpIncoming::from(listener))
                .await
                .unwrap();
        });
        self.runtime = Some(runtime);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
