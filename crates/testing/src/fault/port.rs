//! Ports where nobody answers.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket};

/// A port of the loopback interface that refuses every connection while the socket lives: it is taken, so that
/// nobody else listens there.
///
/// # Errors
/// No port can be had.
pub fn refused_port() -> io::Result<(SocketAddr, TcpSocket)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok((socket.local_addr()?, socket))
}

/// A port of the loopback interface that takes connections and never says a word: nobody reads what is sent.
#[derive(Debug)]
pub struct SilentPort {
    listener: TcpListener,
    address: SocketAddr,
}

impl SilentPort {
    /// A free port.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn open() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// The address a provider is configured with.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Takes the next connection, and gives what was sent on it until its client let it go. Waits for both.
    ///
    /// # Errors
    /// No connection can be taken.
    pub async fn until_let_go(&self) -> io::Result<Vec<u8>> {
        let (mut connection, _) = self.listener.accept().await?;
        let mut sent = Vec::new();
        // A reset is as good an end as any.
        let _reset = connection.read_to_end(&mut sent).await;
        Ok(sent)
    }
}
