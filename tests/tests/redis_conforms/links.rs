//! Links to Redis that may have a planted fault.

use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_ports::StoreError;
use petstore_redis::{LinkError, LinkReply, RedisLink, RedisLinks};
use redis::aio::MultiplexedConnection;
use redis::{Arg, Cmd, ErrorKind, ServerErrorKind, Value};
use tokio::sync::OnceCell;

/// A planted fault.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The script has other text in one place.
    Script {
        /// The text of the script.
        text: &'static str,
        /// The text in its place.
        planted: &'static str,
    },
    /// Every call of the script is sent twice, as by a link that repeats a call whose reply was lost.
    SentTwice,
}

/// Links to the server at a URL.
pub(crate) struct Links {
    pub(crate) url: String,
    pub(crate) fault: Option<Fault>,
}

impl RedisLinks for Links {
    fn open(&self) -> Arc<dyn RedisLink> {
        Arc::new(Link {
            url: self.url.clone(),
            fault: self.fault,
            connection: OnceCell::new(),
            planted: OnceCell::new(),
        })
    }

    fn corrected(&self, now: Timestamp) -> Timestamp {
        now
    }
}

struct Link {
    url: String,
    fault: Option<Fault>,
    connection: OnceCell<MultiplexedConnection>,
    /// The digest of the script with the planted fault, once it is loaded.
    planted: OnceCell<Vec<u8>>,
}

impl Link {
    async fn connect(&self) -> MultiplexedConnection {
        let client = redis::Client::open(&*self.url).expect("the URL of the server");
        client.get_multiplexed_async_connection().await.expect("the server accepts a connection")
    }

    async fn reply(&self, command: &Cmd) -> Result<Value, LinkError> {
        let mut connection = self.connection.get_or_init(|| self.connect()).await.clone();
        let reply = connection.send_packed_command(command).await;
        reply.and_then(Value::extract_error).map_err(|error| match error.kind() {
            ErrorKind::Server(ServerErrorKind::NoScript) => LinkError::NoScript,
            _ => LinkError::Failed(StoreError::unavailable("the command failed").with_source(error)),
        })
    }

    async fn reply_with_fault(&self, command: Cmd) -> Result<Value, LinkError> {
        let mut words = words(&command);
        let is_call = words[0] == b"EVALSHA";
        match self.fault {
            Some(Fault::SentTwice) if is_call => {
                self.reply(&command).await?;
                self.reply(&command).await
            }
            Some(Fault::Script { .. }) if is_call => {
                words[1].clone_from(self.planted.get().ok_or(LinkError::NoScript)?);
                self.reply(&command_of(&words)).await
            }
            Some(Fault::Script { text, planted }) => {
                let rule = String::from_utf8(words[2].clone()).expect("the script is text");
                assert_eq!(rule.matches(text).count(), 1, "the place of the fault: {text}");
                words[2] = rule.replace(text, planted).into_bytes();
                let reply = self.reply(&command_of(&words)).await?;
                let Value::BulkString(digest) = &reply else { panic!("no digest: {reply:?}") };
                // Another task may have loaded the same script.
                let _: Result<(), _> = self.planted.set(digest.clone());
                Ok(reply)
            }
            _ => self.reply(&command).await,
        }
    }
}

impl RedisLink for Link {
    fn send(&self, command: Cmd) -> LinkReply<'_> {
        Box::pin(self.reply_with_fault(command))
    }
}

fn words(command: &Cmd) -> Vec<Vec<u8>> {
    let words = command.args_iter().map(|word| match word {
        Arg::Simple(word) => word.to_vec(),
        _ => panic!("a word of a cursor"),
    });
    words.collect()
}

fn command_of(words: &[Vec<u8>]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word.as_slice());
    }
    command
}
