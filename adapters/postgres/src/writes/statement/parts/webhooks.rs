//! The parts that write webhooks.

use petstore_domain::AccountWebhooks;

use super::{Part, column, push};
use crate::writes::net_changes::Rows;
use crate::writes::statement::Column;
use crate::writes::wanted::signed;

pub(super) fn of<'r>(rows: &Rows<'r, AccountWebhooks>, parts: &mut Vec<Part<'r>>) {
    let columns = |rows: &[&'r AccountWebhooks]| -> Vec<Column<'r>> {
        vec![
            column(rows, |one| signed(one.account.get())),
            column(rows, petstore_outcome_json::write_webhooks),
        ]
    };
    push(
        parts,
        20,
        !rows.inserted.is_empty(),
        "insert into webhooks (account_id, webhooks)
         select a, w::json from unnest(?::int8[], ?::text[]) as i (a, w)",
        columns(&rows.inserted),
    );
    push(
        parts,
        21,
        !rows.updated.is_empty(),
        "update webhooks set webhooks = i.w::json
         from unnest(?::int8[], ?::text[]) as i (a, w) where account_id = i.a",
        columns(&rows.updated),
    );
    let sql = "delete from webhooks where account_id = any(?::int8[])";
    push(parts, 22, !rows.deleted.is_empty(), sql, vec![Box::new(rows.deleted.clone())]);
    let is_changed = !rows.is_empty();
    let sql = "update webhook_changes set number = number + 1 where one and ?::bool";
    push(parts, 23, is_changed, sql, vec![Box::new(is_changed)]);
}
