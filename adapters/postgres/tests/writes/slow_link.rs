//! Reads of a runtime that is far from its database.

use std::time::Duration;

use petstore_ports::{PageRequest, PetFilter, PetReader, SortDirection};
use petstore_test_servers::Postgres;

use crate::epochs::wait_until;
use crate::proxy::Proxy;
use crate::shop::{Shop, block_on, open};

/// The time of a message in each direction. The messages that open a connection take longer together than the first read waits
/// for it.
const DELAY: Duration = Duration::from_millis(60);

#[test]
fn the_connection_of_a_runtime_opens_however_far_the_database_is() {
    let Some(server) = Postgres::start() else { return };
    let proxy = Proxy::start(server.port());
    let schema = server.new_schema();
    let shop = Shop { server: &server, store: open(&proxy.url(), &schema), schema };
    let pet = block_on(shop.add_pet(1));
    // A connection for pages is open, which reads use until that of their runtime is.
    let page = PageRequest { order: SortDirection::Ascending, after: None, limit: 1 };
    block_on(shop.store.pets(&PetFilter::default(), &page, &mut |_| {})).unwrap();
    let connections = || -> u32 {
        let count = "select count(*) from pg_stat_activity where backend_type = 'client backend'";
        server.sql(count).parse().expect("a number")
    };
    proxy.set_delay(DELAY);
    let before = connections();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let read = || runtime.block_on(shop.store.pet(pet)).expect("each read is answered");
    wait_until("the connection of the runtime is open", || read().is_some() && connections() > before);
}
