//! `petstore check-config`: the settings that would be in force, and the origin of each value.

use petstore_ports::Unwatched;
use petstore_postgres::{Examined, Target};
use petstore_redis::RedisTarget;

use crate::failure::Failure;
use crate::files::has_folder;
use crate::first_key::FirstKey;
use crate::nodes;
use crate::runtime::single_threaded;
use crate::sandbox::FirstShop;
use crate::serve::Inputs;
use crate::settings::{Db, Loaded, ServeArgs, shared};
use crate::store::{check_server, check_usable, examine, nodes_of};
use crate::table::{Table, show};
use crate::terminal::notify;

/// Prints every setting with its value and its origin. Also checks the files that a start would read: the certificate,
/// the first key, the shop of a sandbox, the path of the admin socket, the place of the data file. Warns of settings in which a
/// node would differ from those that run.
pub(crate) fn check_config(args: &ServeArgs, loaded: &Loaded) -> Result<(), Failure> {
    let Inputs { db, redis, warning, first_key, .. } = Inputs::read(args, loaded)?;
    if let FirstKey::ToFile(file) = first_key
        && !has_folder(file)
    {
        // A start would succeed if the store already has accounts. The command reports a failure anyway, because it
        // does not open the store to find that out.
        let setting = loaded.named("initial-key-file");
        return Err(Failure::usage(format!(
            "{setting}: the folder does not exist, so a first key cannot be written: make the folder first"
        )));
    }
    if let Db::File(file) = &db {
        check_usable(file, args.drop_damaged_wal)?;
    }
    if let Some(socket) = args.admin_socket.as_deref().filter(|socket| !has_folder(socket)) {
        return Err(Failure::because(format!(
            "{}: the folder of {} does not exist: make the folder first",
            loaded.named("admin-socket"),
            socket.display()
        )));
    }
    if let Some(file) = &args.sandbox_shop {
        FirstShop::read(file, &loaded.named("sandbox-shop"), &Unwatched)?;
    }
    let of_redis = redis.as_ref().and_then(|target| target.encryption().1);
    for warning in warning.as_deref().into_iter().chain(db.warning()).chain(of_redis) {
        notify(&format!("warning: {warning}"));
    }
    let database = if let Db::Postgres(target) = &db { Some(database(target, args.sandbox)?) } else { None };
    if let Db::Postgres(target) = &db {
        let nodes = nodes_of(target)?.unwrap_or_default();
        for warning in nodes::warnings(&shared(&loaded.in_force()), &nodes) {
            notify(&format!("warning: {warning}"));
        }
    }
    let redis = redis.map(|target| redis_server(&target, args)).transpose()?;
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    for setting in loaded.in_force() {
        let value = setting.shown().to_owned();
        table.row([setting.key, value, setting.origin]);
    }
    show(&table)?;
    [database, redis].into_iter().flatten().try_for_each(|found| show(&found))
}

/// Connects to the Redis server in the same way as a start, without changing it. Returns the facts that a start relies on.
fn redis_server(target: &RedisTarget, args: &ServeArgs) -> Result<Table<2>, Failure> {
    // The number in the default prefix is that of the database. An access rule for its keys cannot depend on it.
    let prefix = args.redis_prefix.as_deref().unwrap_or("petstore:1");
    let checked = single_threaded()?.block_on(check_server(target, prefix, args.redis_allow_eviction));
    let server = checked?;
    let mut table = Table::new(["REDIS", "FOUND"]);
    let rows = [
        ("server", format!("{} {}", server.program, server.version)),
        ("encryption", target.encryption().0.to_owned()),
        ("maxmemory-policy", server.eviction),
        (
            "appendonly",
            if server.is_durable { "yes" } else { "no: a restart forgets all counts and strikes" }.to_owned(),
        ),
        ("replicas", server.replicas),
    ];
    for (name, found) in rows {
        table.row([name.to_owned(), found]);
    }
    Ok(table)
}

/// Connects to a database in the same way as a start, without changing the database. Returns the facts that a start
/// relies on.
fn database(target: &Target, is_sandbox: bool) -> Result<Table<2>, Failure> {
    let Examined { server, schema } = examine(target, is_sandbox)?;
    let mut table = Table::new(["DATABASE", "FOUND"]);
    let rows = [
        ("server", format!("PostgreSQL {}", server.version)),
        ("encryption", target.encryption().0.to_owned()),
        ("encoding", server.encoding),
        ("fsync", server.fsync),
        ("synchronous_commit", server.synchronous_commit),
        ("schema", format!("{}, {schema}", target.schema())),
    ];
    for (name, found) in rows {
        table.row([name.to_owned(), found]);
    }
    Ok(table)
}
