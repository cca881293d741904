//! An answer as a list of things to do.

use super::answer::{At, Body, End, Fault, Framing, Head};
use super::chunks;
use super::gate::Gate;
use crate::openai::wire::{self, Naming};
use bytes::Bytes;
use std::collections::VecDeque;

/// What is done next on the way to the client.
pub(super) enum Act {
    Send(Bytes),
    Wait(Gate),
    /// Headers until the client goes away.
    HeadersForever,
    Reset,
}

/// What `fault` comes to, when it answers a request for `model` after `before` model messages.
pub(super) fn acts(fault: &Fault, model: &str, before: usize) -> VecDeque<Act> {
    let body = match &fault.body {
        Body::Raw(body) => body.clone(),
        Body::Message(reply) => wire::stream(reply, &Naming { model, before }, true, true).into(),
    };
    let mut writer = Writer {
        fault,
        acts: VecDeque::new(),
        over: false,
    };
    let head = head(fault, body.len());
    if let Head::Endless = fault.head {
        writer.part(
            head.slice(..head.len().saturating_sub(2)),
            At::Head,
            |piece| piece,
            usize::MAX,
        );
        writer.acts.push_back(Act::HeadersForever);
        return writer.acts;
    }
    writer.part(head, At::Head, |piece| piece, usize::MAX);
    if let Some(broken) = fault.broken {
        let pieces = broken.encode(body);
        writer.acts.extend(pieces.into_iter().map(Act::Send));
        return writer.acts;
    }
    let frame = |piece: Bytes| match fault.framing {
        Framing::Chunked => chunks::chunk(&piece),
        Framing::Length | Framing::UntilClose => piece,
    };
    writer.part(body, At::Body, frame, fault.piece);
    if !writer.over && fault.framing == Framing::Chunked {
        writer.acts.push_back(Act::Send(Bytes::from_static(b"0\r\n\r\n")));
    }
    writer.acts
}

fn head(fault: &Fault, length: usize) -> Bytes {
    let mut head = format!("HTTP/1.1 {} told to\r\nconnection: close\r\n", fault.status);
    if !fault.content_type.is_empty() {
        head.push_str(&format!("content-type: {}\r\n", fault.content_type));
    }
    match fault.framing {
        Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Framing::Length => head.push_str(&format!("content-length: {length}\r\n")),
        Framing::UntilClose => {}
    }
    for (name, value) in &fault.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into()
}

struct Writer<'a> {
    fault: &'a Fault,
    acts: VecDeque<Act>,
    /// The connection has ended.
    over: bool,
}

impl Writer<'_> {
    /// Sends one part of the answer in pieces, up to the place where something happens.
    fn part(&mut self, part: Bytes, place: fn(usize) -> At, frame: impl Fn(Bytes) -> Bytes, piece: usize) {
        let within = |at: At| match (at, place(0)) {
            (At::Head(bytes), At::Head(_)) | (At::Body(bytes), At::Body(_)) => Some(bytes.min(part.len())),
            (At::Head(_), At::Body(_)) | (At::Body(_), At::Head(_)) => None,
        };
        let hang = self
            .fault
            .hang
            .as_ref()
            .and_then(|(at, gate)| Some((within(*at)?, gate.clone())));
        let end = match self.fault.end {
            End::Good => None,
            End::Cut(at) | End::Reset(at) => within(at),
        };
        let dripping = matches!(place(0), At::Body(_))
            .then_some(self.fault.drip.as_ref())
            .flatten();
        let mut sent = 0;
        while !self.over {
            if let Some((at, gate)) = &hang
                && *at == sent
            {
                self.acts.push_back(Act::Wait(gate.clone()));
            }
            if end == Some(sent) {
                self.over = true;
                if let End::Reset(_) = self.fault.end {
                    self.acts.push_back(Act::Reset);
                }
                return;
            }
            if sent == part.len() {
                return;
            }
            let next = [hang.as_ref().map(|(at, _)| *at), end]
                .into_iter()
                .flatten()
                .filter(|at| *at > sent)
                .chain([part.len(), sent.saturating_add(piece)])
                .min()
                .unwrap_or(part.len());
            if let Some(gate) = dripping {
                self.acts.push_back(Act::Wait(gate.clone()));
            }
            self.acts.push_back(Act::Send(frame(part.slice(sent..next))));
            sent = next;
        }
    }
}
