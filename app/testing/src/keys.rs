//! Keys for a test.

use petstore_domain::{Limits, Plan};
use serde_json::{Map, Value};

/// The account and the scopes of a new key. Without further settings it is the key of a new account on the Free plan, with all
/// scopes.
///
/// ```
/// # use petstore_testing::{NewKey, Petstore, Plan};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), petstore_testing::TestingError> {
/// # let shop = Petstore::start().await?;
/// let free = shop.new_key(Plan::Free).await?;
/// let reader = shop.new_key(NewKey::new().account("acme").plan(Plan::Pro).scopes("read")).await?;
/// # assert_ne!(free, reader);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewKey(pub(crate) Map<String, Value>);

impl NewKey {
    /// A key of a new account on the Free plan, with all scopes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The plan of the account.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Self {
        if let Plan::Enterprise(Limits { minute, day }) = plan {
            self = self.member("minute", minute.get()).member("day", day.get());
        }
        self.member("plan", plan.as_str())
    }

    /// The name of the account, which is created if it does not exist.
    #[must_use]
    pub fn account(self, name: &str) -> Self {
        self.member("account", name)
    }

    /// The scopes: `read`, `read,write` or `read,write,webhooks`.
    #[must_use]
    pub fn scopes(self, scopes: &str) -> Self {
        self.member("scopes", scopes)
    }

    fn member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }
}

impl From<Plan> for NewKey {
    fn from(plan: Plan) -> Self {
        Self::new().plan(plan)
    }
}
