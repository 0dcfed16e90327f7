//! Bare hyper that answers a constant: the lower bound of the cost of these bytes on hyper.
//!
//! `baseline PORT ANSWER`: the file ANSWER holds an answer, head and body, as the petstore sent it. Every request gets
//! an answer with the headers and the body of that file; hyper sets `Date` and `Content-Length`. As in the petstore,
//! there is one thread with the same options, and the answer reuses the header map of the request, with static names
//! and values.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, DATE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// The constant answer, which lasts as long as the process.
struct Answer {
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl Answer {
    fn parse(bytes: &'static [u8]) -> Result<Self, Box<dyn Error>> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").ok_or("the head has no end")?;
        let (head, body) = bytes.split_at(end);
        let mut headers = Vec::new();
        for line in str::from_utf8(head)?.split("\r\n").skip(1) {
            let (name, value) = line.split_once(": ").ok_or("a line of the head is no header")?;
            let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
            if name != DATE && name != CONTENT_LENGTH {
                headers.push((name, value));
            }
        }
        Ok(Self { headers, body: Bytes::from_static(&body[4..]) })
    }

    fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, _) = request.into_parts();
        let mut headers = parts.headers;
        headers.clear();
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        let mut response = Response::new(Full::new(self.body.clone()));
        *response.headers_mut() = headers;
        response
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().ok_or("which port?")?.parse()?;
    let file = std::fs::read(arguments.next().ok_or("which answer?")?)?;
    let answer: &'static Answer = Box::leak(Box::new(Answer::parse(file.leak())?));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(async move |request| Ok::<_, Infallible>(answer.respond(request)));
        tokio::spawn(http1::Builder::new().writev(false).serve_connection(TokioIo::new(stream), service));
    }
}
