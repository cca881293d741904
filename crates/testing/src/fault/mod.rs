//! A server that goes wrong, to the byte.

mod answer;
mod chunks;
mod gate;
mod port;
mod script;
mod server;

pub use answer::{At, Fault, Framing};
pub use chunks::ChunkFault;
pub use gate::Gate;
pub use port::{SilentPort, refused_port};
pub use server::FaultServer;
