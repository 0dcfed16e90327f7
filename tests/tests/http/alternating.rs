//! A TCP proxy in front of two nodes. The tests send each request on a separate connection, so their requests alternate
//! between the nodes. The proxy passes all bytes unchanged, even those that are not HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::{self, JoinHandle};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// A running proxy. It ends with its handle.
pub(crate) struct AlternatingProxy {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl AlternatingProxy {
    /// Starts a proxy before these nodes.
    pub(crate) fn before(nodes: Vec<SocketAddr>) -> Self {
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, nodes) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for AlternatingProxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Gives each connection to the next node.
async fn accept(listener: TcpListener, nodes: Vec<SocketAddr>) {
    for node in nodes.iter().copied().cycle() {
        let Ok((mut client, _)) = listener.accept().await else { return };
        tokio::spawn(async move {
            let Ok(mut server) = TcpStream::connect(node).await else { return };
            let _ = client.set_nodelay(true);
            let _ = server.set_nodelay(true);
            // If one side ends or resets its connection, that of the other side ends, too.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}
