//! TLS connections: the handshake with a deadline, then HTTP/2 or HTTP/1.1, as the client chose.

use std::rc::Rc;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::context::ConnectionContext;
use crate::connection::http1::{LAST_REQUEST_TIME, serve_http1};
use crate::connection::http2;
use crate::io::socket::{SendNow, Socket, Stream};

/// The ALPN identifier of HTTP/2 (RFC 9113, section 3.2).
const HTTP_2: &[u8] = b"h2";

/// Creates the acceptor of TLS connections. It overwrites the ALPN protocols of the owner's configuration.
pub(crate) fn acceptor(mut config: ServerConfig) -> TlsAcceptor {
    config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
    Arc::new(config).into()
}

/// Serves a stream to its end.
pub(crate) async fn serve_tls<T: Stream>(
    stream: T,
    send: SendNow<T>,
    acceptor: TlsAcceptor,
    context: ConnectionContext,
) {
    let socket =
        Socket::new(stream, send, Rc::clone(&context.activity), Rc::clone(&context.thread.send_batch));
    let handshake = acceptor.accept(socket).into_fallible();
    let stop = async {
        context.drain.begun().await;
        sleep(LAST_REQUEST_TIME).await;
    };
    let established = tokio::select! {
        result = timeout(context.thread.app.settings.deadlines.head, handshake) => result,
        () = stop => return,
    };
    let stream = match established {
        Ok(Ok(stream)) => stream,
        // The alert about the failed handshake was sent. The shutdown discards further input, because closing a socket
        // with unread input resets the connection, which can destroy the alert in transit.
        Ok(Err((_, mut stream))) => return drop(stream.shutdown().await),
        Err(_) => return,
    };
    if stream.get_ref().1.alpn_protocol() == Some(HTTP_2) {
        http2::serve(stream, context).await;
    } else {
        serve_http1::<_, true>(stream, context).await;
    }
}
