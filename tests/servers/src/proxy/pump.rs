//! The bytes of one connection, in both directions.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::messages::{Messages, Side};
use super::plan::How;
use super::{Mode, Shared};

/// One direction of a connection.
struct Pump<'s> {
    shared: &'s Shared,
    number: u64,
    side: Side,
    from: TcpStream,
    to: TcpStream,
    /// True if the node gets no further byte.
    is_mute: Arc<AtomicBool>,
}

/// Passes on the bytes of a connection until it ends.
pub(super) fn run(shared: &Arc<Shared>, number: u64, client: TcpStream, server: TcpStream) {
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let clones = client.try_clone().and_then(|client| Ok((client, server.try_clone()?)));
    let Ok((to_client, from_server)) = clones else { return };
    let is_mute = Arc::new(AtomicBool::new(false));
    let of_server = Pump {
        shared,
        number,
        side: Side::Server,
        from: from_server,
        to: to_client,
        is_mute: Arc::clone(&is_mute),
    };
    let of_node = Pump { shared, number, side: Side::Node, from: client, to: server, is_mute };
    thread::scope(|scope| {
        scope.spawn(move || of_server.pass_on(shared.messages(Side::Server)));
        of_node.pass_on(shared.messages(Side::Node));
    });
}

impl Pump<'_> {
    /// Passes on what arrives, until the connection ends or is cut.
    fn pass_on(mut self, mut messages: Messages) {
        let mut bytes = vec![0; 65_536];
        while let Ok(length @ 1..) = self.from.read(&mut bytes) {
            let mut out = Vec::with_capacity(length);
            for message in messages.add(&bytes[..length]) {
                let due = self
                    .shared
                    .plan
                    .lock()
                    .unwrap()
                    .as_mut()
                    .and_then(|plan| plan.meets(self.number, self.side, &message));
                let Some(how) = due else {
                    out.extend_from_slice(&message);
                    continue;
                };
                match how {
                    How::Before => {}
                    How::Within => out.extend_from_slice(&message[..message.len() / 2]),
                    How::After | How::Silence => out.extend_from_slice(&message),
                }
                self.write(&out);
                out.clear();
                self.cut(how);
                if how != How::Silence {
                    self.drain();
                    return;
                }
            }
            if !self.write(&out) {
                break;
            }
        }
        self.end();
    }

    /// Makes a planned cut.
    fn cut(&self, how: How) {
        self.is_mute.store(true, Ordering::SeqCst);
        self.shared.plan.lock().unwrap().take();
        if how == How::Silence {
            return;
        }
        let (client, server) = match self.side {
            Side::Node => (&self.from, &self.to),
            Side::Server => (&self.to, &self.from),
        };
        let _ = client.shutdown(Shutdown::Both);
        // The server still reads the bytes before the cut.
        let _ = server.shutdown(Shutdown::Write);
    }

    /// Reads what still arrives, so that the sender is not reset before it has read the bytes before the cut.
    fn drain(&mut self) {
        let mut bytes = [0; 4_096];
        while let Ok(1..) = self.from.read(&mut bytes) {}
    }

    /// Passes on the end of the stream.
    fn end(&self) {
        let is_hidden = self.side == Side::Server && self.is_mute.load(Ordering::SeqCst);
        if !is_hidden {
            self.shared.wait_while_blackholed();
            let _ = self.to.shutdown(Shutdown::Write);
        }
    }

    /// Passes bytes on as the mode demands. Returns `false` if the other side has ended.
    fn write(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        match self.shared.wait_while_blackholed() {
            Mode::Delay(time) => thread::sleep(time),
            Mode::Drip(size, pause) => {
                return bytes.chunks(size).all(|piece| {
                    thread::sleep(pause);
                    self.give(piece)
                });
            }
            Mode::Pass | Mode::Refuse | Mode::Blackhole => {}
        }
        self.give(bytes)
    }

    fn give(&mut self, bytes: &[u8]) -> bool {
        if self.side == Side::Server && self.is_mute.load(Ordering::SeqCst) {
            return true;
        }
        self.to.write_all(bytes).is_ok()
    }
}
