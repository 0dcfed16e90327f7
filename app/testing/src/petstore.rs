//! The petstore of a test.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use serde::Deserialize;

use crate::baseline::{self, BaselineCounts};
use crate::builder::Builder;
use crate::client::{SandboxClient, StartedServer};
use crate::clock::ShopClock;
use crate::error::TestingError;
use crate::faults::Faults;
use crate::in_process::{self, InProcess};
use crate::keys::NewKey;
use crate::program::Program;
use crate::program_start;
use crate::report::BehaviorReport;
use crate::requests::{self, RequestQuery, encoded, key_prefix};
use crate::scope::Scope;

/// A petstore that serves on a free port of this machine. It stops when the value is dropped.
#[derive(Debug)]
pub struct Petstore {
    url: String,
    key: String,
    version: String,
    sandbox: SandboxClient,
    server: RunningServer,
}

/// The server of a petstore.
#[derive(Debug)]
enum RunningServer {
    InProcess(InProcess),
    Program(Arc<Program>),
}

/// The part of a created key that this crate reads.
#[derive(Deserialize)]
struct MadeKey {
    secret: String,
}

impl Builder {
    /// Starts the petstore.
    ///
    /// # Errors
    /// A limit is 0 or above [`Limit::MAX`](crate::Limit::MAX); a flag is given without a program; the program cannot be started, ended early or
    /// is not ready within [`Builder::start_limit`], with the end of its log; no port, thread or randomness is available.
    pub async fn start(self) -> Result<Petstore, TestingError> {
        if self.binary.is_some() {
            return program_start::start(self).await.map(|started| started.petstore(RunningServer::Program));
        }
        if !self.flags.is_empty() {
            let why =
                "flags are for the program: name it with `Builder::binary`, or leave out `Builder::flag`";
            return Err(TestingError::Start(why.to_owned()));
        }
        in_process::start(self).await.map(|started| started.petstore(RunningServer::InProcess))
    }
}

impl<S> StartedServer<S> {
    fn petstore(self, server: impl FnOnce(S) -> RunningServer) -> Petstore {
        let Self { url, key, version, sandbox, server: started } = self;
        Petstore { url, key, version, sandbox, server: server(started) }
    }
}

impl Petstore {
    /// Starts a petstore without data in this process. [`Petstore::builder`] starts others.
    ///
    /// # Errors
    /// No port, thread or randomness is available.
    pub async fn start() -> Result<Self, TestingError> {
        Self::builder().start().await
    }

    /// The settings of a petstore.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The base of the contract's paths, for example `http://127.0.0.1:41237/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A key of an account on the Business plan.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The base of the sandbox, for example `http://127.0.0.1:41237/sandbox`.
    pub fn sandbox_url(&self) -> String {
        format!("http://{}/sandbox", self.sandbox.address)
    }

    /// The version of the petstore.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The process of the program; none for a petstore in this process.
    pub fn pid(&self) -> Option<u32> {
        match &self.server {
            RunningServer::InProcess(_) => None,
            RunningServer::Program(program) => Some(program.id()),
        }
    }

    /// Creates a key, for example of a new account on a plan: `shop.new_key(Plan::Free)`.
    ///
    /// # Errors
    /// The petstore refused an argument, and its message names it; or it did not answer.
    pub async fn new_key(&self, key: impl Into<NewKey>) -> Result<String, TestingError> {
        let wanted = key.into().0.into();
        self.sandbox.read(Method::POST, "/sandbox/keys", Some(&wanted)).await.map(|made: MadeKey| made.secret)
    }

    /// Restores the shop of the baseline, at first that of the start. Accounts and keys stay; used quotas, bans, kept answers and planned faults are deleted.
    /// The clock does not change.
    ///
    /// # Errors
    /// A request in flight did not end within two seconds, or the petstore did not answer.
    pub async fn reset(&self) -> Result<(), TestingError> {
        self.sandbox.send(Method::POST, "/sandbox/reset", None).await.map(drop)
    }

    /// The lines of the shop that a reset restores: categories, then pets, then orders.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn baseline(&self) -> Result<String, TestingError> {
        baseline::read(&self.sandbox).await
    }

    /// Sets the shop that a reset restores, to these lines of `petstore import`: all of them, or none if a line is wrong. The
    /// present shop stays until a reset.
    ///
    /// # Errors
    /// The petstore refused the lines, and its message names the line; or it did not answer.
    pub async fn put_baseline(&self, lines: impl Into<Bytes>) -> Result<BaselineCounts, TestingError> {
        baseline::put(&self.sandbox, lines.into()).await
    }

    /// Makes the shop as it is now the one that a reset restores.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn save_baseline(&self) -> Result<BaselineCounts, TestingError> {
        baseline::save(&self.sandbox).await
    }

    /// Lets a reset restore the shop of the start again.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn drop_baseline(&self) -> Result<(), TestingError> {
        baseline::discard(&self.sandbox).await
    }

    /// The requests that clients sent since the start or the last reset.
    pub fn requests(&self) -> RequestQuery<'_> {
        RequestQuery::new(&self.sandbox)
    }

    /// Deletes what was recorded of the requests so far.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn clear_requests(&self) -> Result<(), TestingError> {
        requests::clear(&self.sandbox).await
    }

    /// Judges the behaviour of the clients by the requests that were recorded.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn report(&self) -> Result<BehaviorReport, TestingError> {
        self.sandbox.read(Method::GET, "/sandbox/report", None).await
    }

    /// Judges the behaviour of the client with this key.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn report_of(&self, key: &str) -> Result<BehaviorReport, TestingError> {
        let path = format!("/sandbox/report?key={}", encoded(&key_prefix(key)));
        self.sandbox.read(Method::GET, &path, None).await
    }

    /// The clock of the petstore.
    pub fn clock(&self) -> ShopClock<'_> {
        ShopClock(&self.sandbox)
    }

    /// The planned faults of the petstore.
    pub fn faults(&self) -> Faults<'_> {
        Faults(&self.sandbox)
    }

    /// The part of this petstore that belongs to one test: with a header for its client, and with faults, requests and a report of
    /// the requests that have it. The name is the value of the header, such as `orders.create`.
    pub fn scope(&self, name: &str) -> Scope<'_> {
        Scope::new(&self.sandbox, name)
    }

    /// Stops the petstore, and waits until the last answer was sent.
    ///
    /// # Errors
    /// Some answers were cut off, or the program ended with a failure.
    pub async fn stop(self) -> Result<(), TestingError> {
        match self.server {
            RunningServer::InProcess(server) => server.stop().await,
            RunningServer::Program(program) => program.stop().await,
        }
    }
}
