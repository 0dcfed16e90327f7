//! The socket against a peer in memory: order, stalls, errors, and the lingering close.

use std::future::poll_fn;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

/// Returns a socket with its send batch, and its peer, which buffers `takes` bytes.
fn socket(takes: usize) -> (Socket<DuplexStream>, DuplexStream, Rc<SendBatch>, Rc<Activity>) {
    let (near, far) = duplex(takes);
    let (send_batch, activity) = (Rc::new(SendBatch::new()), Rc::new(Activity::new()));
    let socket = Socket::new(near, send, Rc::clone(&activity), Rc::clone(&send_batch));
    (socket, far, send_batch, activity)
}

#[tokio::test]
async fn unsent_bytes_block_further_writes_and_arrive_later() {
    let (mut socket, mut far, send_batch, activity) = socket(4);
    socket.write_all(b"first, ").await.unwrap();
    socket.flush().await.unwrap();
    assert!(!activity.stall().0, "the bytes wait in the batch, not for the client");
    send_batch.flush();
    assert!(activity.stall().0);
    let mut more = Box::pin(async {
        socket.write_all(b"second").await.unwrap();
        socket.flush().await.unwrap();
    });
    let pending = poll_fn(|context| Poll::Ready(more.as_mut().poll(context).is_pending())).await;
    assert!(pending, "no write is accepted while there are unsent bytes");
    let mut read = [0; 7];
    tokio::join!(more, async { far.read_exact(&mut read).await.unwrap() });
    assert_eq!(&read, b"first, ");
    send_batch.flush();
    let mut read = [0; 6];
    let (_, flushed) = tokio::join!(far.read_exact(&mut read), socket.flush());
    flushed.unwrap();
    assert_eq!(&read, b"second");
    assert!(!activity.stall().0);
}

#[tokio::test]
async fn bytes_keep_their_order_when_a_full_batch_is_flushed() {
    let (mut socket, mut far, _, _) = socket(8 * BATCHED_WRITE_MAX);
    // The third write does not fit into the batch. So the batch is flushed first, and then holds only the third write.
    let sizes = [
        BATCHED_WRITE_MAX,
        BATCHED_WRITE_MAX,
        100,
        BATCHED_WRITE_MAX + 1,
        BATCHED_WRITE_MAX,
        BATCHED_WRITE_MAX,
        200,
    ];
    let mut expected = Vec::new();
    for (letter, size) in (b'a'..).zip(sizes) {
        let bytes = vec![letter; size];
        socket.write_all(&bytes).await.unwrap();
        expected.extend(bytes);
    }
    let mut read = Vec::new();
    let (ended, ()) = tokio::join!(socket.shutdown(), async {
        far.read_to_end(&mut read).await.unwrap();
        drop(far);
    });
    ended.unwrap();
    assert!(read == expected, "{} bytes of {}", read.len(), expected.len());
}

#[tokio::test]
async fn an_error_of_the_batch_is_reported_at_the_next_call() {
    let (mut socket, far, send_batch, _) = socket(64);
    socket.write_all(b"lost").await.unwrap();
    drop(far);
    send_batch.flush();
    assert_eq!(socket.flush().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn header_lines_follow_the_status_line_of_the_next_write() {
    const STATUS: &[u8] = b"HTTP/1.1 200 OK\r\n";
    let (mut socket, mut far, send_batch, activity) = socket(64);
    // The second round begins with unsent bytes. The write of the third round is too large for the batch.
    for (before, body) in [(0, 3), (100, 3), (0, BATCHED_WRITE_MAX)] {
        socket.write_all(&vec![b'x'; before]).await.unwrap();
        send_batch.flush();
        activity.raw_headers.wait(b"a: b\r\n".to_vec());
        let head = [STATUS, b"\r\n", &vec![b'y'; body]].concat();
        let expected = [&vec![b'x'; before], STATUS, b"a: b\r\n\r\n", &vec![b'y'; body], STATUS].concat();
        let mut read = vec![0; expected.len()];
        let (_, ()) = tokio::join!(far.read_exact(&mut read), async {
            socket.write_all(&head).await.unwrap();
            assert!(activity.raw_headers.may_wait());
            socket.write_all(STATUS).await.unwrap();
            send_batch.flush();
            socket.flush().await.unwrap();
        });
        assert!(read == expected, "{before} bytes before, {body} after");
    }
}

#[tokio::test]
async fn batched_bytes_are_sent_before_a_direct_write_and_before_the_end() {
    let (mut socket, mut far, _, _) = socket(4 * BATCHED_WRITE_MAX);
    socket.write_all(b"small").await.unwrap();
    socket.write_all(&vec![b'x'; BATCHED_WRITE_MAX + 1]).await.unwrap();
    socket.write_all(b"last").await.unwrap();
    let mut read = Vec::new();
    let (ended, ()) = tokio::join!(socket.shutdown(), async {
        far.read_to_end(&mut read).await.unwrap();
        drop(far);
    });
    ended.unwrap();
    assert_eq!(read.len(), 5 + BATCHED_WRITE_MAX + 1 + 4);
    assert!(read.starts_with(b"smallx") && read.ends_with(b"xlast"));
}

#[tokio::test]
async fn a_lingering_close_discards_a_bounded_number_of_bytes() {
    let (mut socket, mut far, _, _) = socket(64 * 1024);
    let mut sent = 0;
    let sends = async {
        while sent < 2 * LINGER_MAX {
            sent += far.write(&[b'x'; 16 * 1024]).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        ended = socket.shutdown() => ended.unwrap(),
        () = async { sends.await; std::future::pending().await } => {}
    }
    assert!((LINGER_MAX..LINGER_MAX + 128 * 1024).contains(&sent), "{sent}");
}
