//! `petstore accounts`: the owners of keys, and their plans.

use clap::{Args, Subcommand};
use serde::Serialize;

use super::tables::{accounts_table, keys_table};
use super::via_server::{print_json, unexpected};
use super::{StoreTarget, name};
use crate::admin::{AccountView, AdminAnswer, AdminRequest, KeyView, PlanChoice, PlanName};
use crate::failure::Failure;
use crate::table::show;
use crate::terminal::print;

/// The plan of an account.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The account's plan; default for a new account: Free
    #[arg(long, value_enum)]
    plan: Option<PlanName>,

    /// Requests a minute (enterprise)
    #[arg(long, value_name = "N", requires = "day")]
    minute: Option<u32>,

    /// Requests a day (enterprise)
    #[arg(long, value_name = "N", requires = "minute")]
    day: Option<u32>,
}

impl PlanArgs {
    /// The plan of the options. Limits without a plan mean the enterprise plan.
    pub(super) fn choice(&self) -> Result<Option<PlanChoice>, Failure> {
        let plan = self.plan.or(self.minute.map(|_| PlanName::Enterprise));
        let choice = plan.map(|plan| PlanChoice { plan, minute: self.minute, day: self.day });
        // An invalid combination of options is reported before the server is asked, with the exit code of a usage
        // fault.
        choice.map(PlanChoice::plan).transpose().map_err(Failure::usage)?;
        Ok(choice)
    }
}

/// `petstore accounts …`
#[derive(Debug, Subcommand)]
pub(crate) enum AccountsCommand {
    /// List all accounts
    List,
    /// Show one account with its keys
    Show {
        /// Its name
        #[arg(value_parser = name)]
        account: String,
    },
    /// Rename an account, or move it to another plan
    Update {
        /// Its name
        #[arg(value_parser = name)]
        account: String,
        #[command(flatten)]
        plan: PlanArgs,
        /// Its new name
        #[arg(long, value_parser = name, value_name = "NAME")]
        name: Option<String>,
    },
}

/// The JSON form of an account with its keys.
#[derive(Serialize)]
struct AccountWithKeys {
    #[serde(flatten)]
    account: AccountView,
    keys: Vec<KeyView>,
}

impl AccountsCommand {
    pub(crate) fn run(self, target: &StoreTarget) -> Result<(), Failure> {
        match self {
            Self::List => {
                let accounts = target.accounts()?;
                if target.json { print_json(&accounts) } else { show(&accounts_table(&accounts)) }
            }
            Self::Show { account } => {
                let (account, keys) = target.account(account)?;
                if target.json {
                    return print_json(&AccountWithKeys { account, keys });
                }
                show(&accounts_table(&[account]))?;
                print("\n").and_then(|()| show(&keys_table(&keys)))
            }
            Self::Update { account, plan, name } => {
                let plan = plan.choice()?;
                if plan.is_none() && name.is_none() {
                    return Err(Failure::usage(
                        "nothing to change: give at least one of --plan, --minute with --day, --name",
                    ));
                }
                match target.ask(AdminRequest::UpdateAccount { account, name, plan })? {
                    AdminAnswer::Account { account } if target.json => print_json(&account),
                    AdminAnswer::Account { account } => show(&accounts_table(&[account])),
                    _ => Err(unexpected()),
                }
            }
        }
    }
}
