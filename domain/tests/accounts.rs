//! Operations of an operator on accounts.

mod common;

use petstore_domain::*;

use common::keys::{account, shop};
use common::{account_id, account_name, create_key, limits};

#[test]
fn an_account_is_called_after_its_id_as_far_as_that_is_free() {
    // The name of the third account would be account-3, but the second account has been renamed to account-3.
    let mut shop = shop();
    let rename = UpdateAccount { id: account_id(2), name: Some(account_name("account-3")), plan: None };
    shop.run(&rename).unwrap();
    let create = create_key(KeyHolder::New { plan: Plan::Free });
    let made = shop.run(&create).map(|created| (created.account.id, created.account.name));
    assert_eq!(made, Ok((account_id(3), account_name("account-3-2"))));
    // Accounts 4 to 11 take all candidate names of the twelfth.
    for name in AccountName::made_for(account_id(12)) {
        shop.run(&create_key(KeyHolder::Named { name, plan: None })).unwrap();
    }
    assert_eq!(shop.run(&create), Err(CreateKeyRejection::NameTaken));
}

#[test]
fn an_account_is_changed_in_what_is_named() {
    let zoo = |name: &str, plan| account(account_id(1), name, plan);
    let cases = [
        (Some("park"), None, zoo("park", Plan::Pro)),
        (None, Some(Plan::Free), zoo("zoo", Plan::Free)),
        (Some("ZOO"), Some(Plan::Business), zoo("ZOO", Plan::Business)),
        (None, Some(Plan::Enterprise(limits(1, 2))), zoo("zoo", Plan::Enterprise(limits(1, 2)))),
        (None, None, zoo("zoo", Plan::Pro)),
        (Some("zoo"), Some(Plan::Pro), zoo("zoo", Plan::Pro)),
    ];
    for (name, plan, after) in cases {
        let mut shop = shop();
        let update = UpdateAccount { id: account_id(1), name: name.map(account_name), plan };
        let written = !shop.decide(&update).unwrap().0.is_empty();
        assert_eq!(written, after != shop.accounts[&account_id(1)], "{update:?}");
        assert_eq!(shop.run(&update), Ok(after.clone()), "{update:?}");
        assert_eq!(shop.accounts[&account_id(1)], after, "{update:?}");
    }
}

#[test]
fn rejects_an_account_that_is_not_there_or_a_name_that_is_taken() {
    let update = |id, name| UpdateAccount { id, name: Some(account_name(name)), plan: Some(Plan::Free) };
    let shop = shop();
    assert_eq!(shop.decide(&update(account_id(8), "farm")), Err(UpdateAccountRejection::NotFound));
    assert_eq!(shop.decide(&update(account_id(1), "farm")), Err(UpdateAccountRejection::NameTaken));
    assert_eq!(shop.decide(&update(account_id(1), "FARM")), Err(UpdateAccountRejection::NameTaken));
    assert!(shop.decide(&update(account_id(1), "farms")).is_ok());
}
