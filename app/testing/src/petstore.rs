//! The petstore of a test.

use hyper::Method;

use crate::builder::Builder;
use crate::client::SandboxClient;
use crate::clock::ShopClock;
use crate::error::TestingError;
use crate::faults::Faults;
use crate::in_process::InProcess;
use crate::program::Program;
use petstore_domain::Plan;

/// A petstore that serves on a free port of this machine. It stops when the value is dropped.
#[derive(Debug)]
pub struct Petstore {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) sandbox: SandboxClient,
    pub(crate) server: RunningServer,
}

/// The server of a petstore.
#[derive(Debug)]
pub(crate) enum RunningServer {
    InProcess(InProcess),
    Program(Program),
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

    /// Creates an account on this plan, and returns its key.
    ///
    /// # Errors
    /// The petstore did not answer.
    pub async fn new_key(&self, plan: Plan) -> Result<String, TestingError> {
        match &self.server {
            RunningServer::InProcess(server) => server.new_key(plan).await,
            RunningServer::Program(program) => program.new_key(plan).await,
        }
    }

    /// Restores the shop of the start. Accounts and keys stay; used quotas, bans, kept answers and planned faults are deleted.
    /// The clock does not change.
    ///
    /// # Errors
    /// A request in flight did not end within two seconds, or the petstore did not answer.
    pub async fn reset(&self) -> Result<(), TestingError> {
        self.sandbox.send(Method::POST, "/sandbox/reset", None).await.map(drop)
    }

    /// The clock of the petstore.
    pub fn clock(&self) -> ShopClock<'_> {
        ShopClock(&self.sandbox)
    }

    /// The planned faults of the petstore.
    pub fn faults(&self) -> Faults<'_> {
        Faults(&self.sandbox)
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
