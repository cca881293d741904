//! Servers that say exactly these bytes, and a resolver that says exactly these addresses.

use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidegate_builtins::{HttpLimits, HttpSettings, Resolver, http_get};
use tidegate_message::joined_text;
use tidegate_policy::{
    Classification, HostRules, Label, Resource, ResourceKind, SessionId, SinkLevel, TurnId,
};
use tidegate_tools::{BoxFuture, CallContext, NeverCancelled, PreparedCall, Registry, ToolError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server that answers each connection with the next of its answers, the last one for ever.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

/// What a server does after it has read a request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Says this and closes.
    Bytes(Vec<u8>),
    /// Says this, and then nothing for ever.
    Stall(Vec<u8>),
    /// Says this, and then more and more of that for ever.
    Endless(Vec<u8>, Vec<u8>),
}

impl Server {
    pub(crate) async fn with(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            for index in 0.. {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let answer = answers[index.min(answers.len() - 1)].clone();
                tokio::spawn(serve(stream, answer, Arc::clone(&seen)));
            }
        });
        Self { port, requests }
    }

    pub(crate) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        Self::with(vec![Answer::Bytes(answer.into())]).await
    }

    /// One that sends everybody on to `location`.
    pub(crate) async fn redirecting(status: u16, location: &str) -> Self {
        Self::saying(format!(
            "HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
        ))
        .await
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A server behind TLS, whose certificate for `name` is signed by an authority of its own: says `answer` to each
/// request. Gives its port and the authority's certificate, in PEM form.
pub(crate) async fn secure(name: &str, answer: Vec<u8>) -> (u16, Vec<u8>) {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whom a client does not trust it leaves.
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(serve(stream, Answer::Bytes(answer.clone()), Arc::default()));
            }
        }
    });
    (port, pem.into_bytes())
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: Answer,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    seen.lock().unwrap().push(String::from_utf8(request).unwrap());
    let (first, more) = match answer {
        Answer::Bytes(bytes) => {
            // The other side may hang up before it has heard all of it.
            let _hung_up = stream.write_all(&bytes).await;
            let _hung_up = stream.shutdown().await;
            return;
        }
        Answer::Stall(bytes) => (bytes, None),
        Answer::Endless(bytes, more) => (bytes, Some(more)),
    };
    let mut result = stream.write_all(&first).await;
    while result.is_ok() {
        match &more {
            Some(more) => result = stream.write_all(more).await,
            // Until the other side hangs up.
            None => result = stream.read_u8().await.map(drop),
        }
    }
}

/// An answer with these headers and this body.
pub(crate) fn answer(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) fn text(body: &str) -> Vec<u8> {
    answer("content-type: text/plain\r\n", body)
}

/// Knows these names; each time it is asked it gives the next of a name's lists, the last one for ever.
#[derive(Default)]
pub(crate) struct Names {
    lists: BTreeMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn name(mut self, name: &str, lists: &[&[&str]]) -> Self {
        let lists = lists
            .iter()
            .map(|list| list.iter().map(|address| address.parse().unwrap()).collect())
            .collect();
        self.lists.insert(name.into(), lists);
        self
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let mut asked = self.asked.lock().unwrap();
            let before = asked.iter().filter(|name| *name == host).count();
            asked.push(host.to_owned());
            let lists = self.lists.get(host).ok_or(io::ErrorKind::NotFound)?;
            Ok(lists[before.min(lists.len() - 1)].clone())
        })
    }
}

pub(crate) struct Client {
    tools: Registry,
    pub(crate) names: Arc<Names>,
}

/// How a call ended, as the runtime sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) ok: bool,
    pub(crate) text: String,
    pub(crate) label: Label,
}

impl Client {
    pub(crate) fn new(hosts: &[(&str, Classification)], names: Names) -> Self {
        let limits = HttpLimits {
            total: Duration::from_secs(10),
            ..HttpLimits::default()
        };
        Self::limited(hosts, names, limits)
    }

    pub(crate) fn limited(hosts: &[(&str, Classification)], names: Names, limits: HttpLimits) -> Self {
        Self::made(hosts, names, limits, |settings| settings)
    }

    /// One that trusts this authority, too.
    pub(crate) fn trusting(hosts: &[(&str, Classification)], names: Names, authority: &[u8]) -> Self {
        Self::made(hosts, names, HttpLimits::default(), |settings| {
            settings.authorities(authority).unwrap()
        })
    }

    fn made(
        hosts: &[(&str, Classification)],
        names: Names,
        limits: HttpLimits,
        more: impl FnOnce(HttpSettings) -> HttpSettings,
    ) -> Self {
        let hosts = HostRules::new(hosts.iter().copied()).unwrap();
        let names = Arc::new(names);
        let settings = HttpSettings::new(Arc::new(hosts))
            .resolver(Arc::clone(&names) as Arc<dyn Resolver>)
            .limits(limits);
        let mut tools = Registry::new();
        tools.register(http_get(more(settings))).unwrap();
        Self { tools, names }
    }

    /// One for whom the loopback address is an ordinary host.
    pub(crate) fn local() -> Self {
        Self::new(&[("127.0.0.1", Classification::Public)], Names::default())
    }

    pub(crate) async fn prepare(
        &self,
        url: &str,
        context: &CallContext,
    ) -> Result<Box<dyn PreparedCall>, ToolError> {
        self.prepare_with(json!({ "url": url }), context).await
    }

    async fn prepare_with(
        &self,
        arguments: serde_json::Value,
        context: &CallContext,
    ) -> Result<Box<dyn PreparedCall>, ToolError> {
        self.tools
            .get(&"http_get".into())
            .unwrap()
            .prepare(arguments.as_object().unwrap().clone(), context)
            .await
    }

    /// A fetch with headers.
    pub(crate) async fn get_with(&self, url: &str, headers: serde_json::Value) -> Result<String, String> {
        let context = context();
        let prepared = self
            .prepare_with(json!({ "url": url, "headers": headers }), &context)
            .await;
        let ended = match prepared {
            Ok(prepared) => prepared.run(context).await,
            Err(error) => Err(error),
        };
        ended
            .map(|output| joined_text(&output.content))
            .map_err(|error| error.message)
    }

    pub(crate) async fn get_in(&self, url: &str, context: CallContext) -> Ended {
        let work = async { self.prepare(url, &context).await?.run(context).await };
        match work.await {
            Ok(output) => Ended {
                ok: true,
                text: joined_text(&output.content),
                label: output.label,
            },
            Err(error) => Ended {
                ok: false,
                text: error.message,
                label: error.label,
            },
        }
    }

    pub(crate) async fn get(&self, url: &str) -> Ended {
        self.get_in(url, context()).await
    }

    /// What the gate would be told: name, level as a source, level as a sink.
    pub(crate) async fn judged(&self, url: &str) -> (String, Label, Classification) {
        let prepared = self.prepare(url, &context()).await.unwrap();
        let [
            Resource::Source { what, label },
            Resource::Sink {
                level: SinkLevel::Level(level),
                ..
            },
        ] = prepared.resources()
        else {
            panic!("{:?}", prepared.resources())
        };
        assert_eq!(what.kind, ResourceKind::Url);
        (what.name.clone(), *label, *level)
    }
}

pub(crate) fn context() -> CallContext {
    CallContext {
        session: SessionId::from_bits(1),
        turn: TurnId::from_bits(1),
        call: "call_1_0".into(),
        label: Label::BOTTOM,
        clearance: Classification::Confidential,
        cancel: Arc::new(NeverCancelled),
    }
}
