//! The settings of a petstore. Its start is in the module `petstore`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use petstore_domain::{Limit, Limits, PlanTable};

use crate::error::TestingError;

/// The settings of a petstore, and its start.
///
/// ```
/// # use petstore_testing::Petstore;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), petstore_testing::TestingError> {
/// // A hundred pets, and a Free plan that is exhausted after three requests.
/// let shop = Petstore::builder().demo(100).free(3, 1_000).start().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Builder {
    pub(crate) demo: Option<u32>,
    pub(crate) shop: Option<PathBuf>,
    pub(crate) free: Option<(u32, u32)>,
    pub(crate) pro: Option<(u32, u32)>,
    pub(crate) business: Option<(u32, u32)>,
    pub(crate) binary: Option<PathBuf>,
    pub(crate) flags: Vec<OsString>,
    pub(crate) start_limit: Option<Duration>,
}

impl Builder {
    /// Begins with ten categories and this many pets, always the same ones. A reset restores them.
    #[must_use]
    pub fn demo(mut self, pets: u32) -> Self {
        self.demo = Some(pets);
        self
    }

    /// Begins with the shop in this file instead, which has the lines of `petstore import`. A reset restores it.
    #[must_use]
    pub fn shop(mut self, file: impl Into<PathBuf>) -> Self {
        self.shop = Some(file.into());
        self
    }

    /// The requests a minute and a day that the Free plan admits.
    #[must_use]
    pub fn free(mut self, minute: u32, day: u32) -> Self {
        self.free = Some((minute, day));
        self
    }

    /// The requests a minute and a day that the Pro plan admits.
    #[must_use]
    pub fn pro(mut self, minute: u32, day: u32) -> Self {
        self.pro = Some((minute, day));
        self
    }

    /// The requests a minute and a day that the Business plan admits, which is the plan of [`Petstore::key`](crate::Petstore::key).
    #[must_use]
    pub fn business(mut self, minute: u32, day: u32) -> Self {
        self.business = Some((minute, day));
        self
    }

    /// Starts this program `petstore` instead of a server in this process. It ends with this process.
    #[must_use]
    pub fn binary(mut self, program: impl Into<PathBuf>) -> Self {
        self.binary = Some(program.into());
        self
    }

    /// Adds a flag of the program, for example `--require-if-match`. Needs [`Builder::binary`].
    #[must_use]
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Sets the time limit for the start of the program, which is 10 seconds otherwise.
    #[must_use]
    pub fn start_limit(mut self, limit: Duration) -> Self {
        self.start_limit = Some(limit);
        self
    }

    /// The limits of the named plans.
    pub(crate) fn plans(&self) -> Result<PlanTable, TestingError> {
        let defaults = PlanTable::SPECIFICATION;
        Ok(PlanTable {
            free: limits("free", self.free, defaults.free)?,
            pro: limits("pro", self.pro, defaults.pro)?,
            business: limits("business", self.business, defaults.business)?,
        })
    }
}

fn limits(plan: &str, wanted: Option<(u32, u32)>, default: Limits) -> Result<Limits, TestingError> {
    let Some((minute, day)) = wanted else { return Ok(default) };
    let limit = |requests: u32| {
        Limit::new(requests).ok_or_else(|| {
            TestingError::Start(format!(
                "{plan}: a limit is a number from 1 to {}, not {requests}",
                Limit::MAX
            ))
        })
    };
    Ok(Limits { minute: limit(minute)?, day: limit(day)? })
}
