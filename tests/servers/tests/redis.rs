//! A Redis server starts, follows another one, fails in each way that the tests need, and ends with its handle.

use std::path::Path;

use petstore_test_servers::Redis;

#[test]
fn a_promoted_replica_has_the_data_and_accepts_writes() {
    let (Some(primary), Some(replica)) = (Redis::start(), Redis::start()) else { return };
    replica.follow(&primary);
    primary.command(&["SET", "pets", "5"]);
    primary.wait_for_replicas(1);
    let refused = replica.try_command(&["SET", "pets", "6"]).unwrap_err();
    assert!(refused.starts_with("READONLY"), "{refused}");
    primary.kill();
    replica.promote();
    assert_eq!(replica.command(&["INCR", "pets"]), "6");
    assert_eq!(replica.info("role").as_deref(), Some("master"));
}

#[test]
fn a_restart_keeps_the_port_and_forgets_the_data() {
    let Some(server) = Redis::start() else { return };
    server.command(&["SET", "pets", "5"]);
    let port = server.port();
    server.kill();
    assert!(server.try_command(&["PING"]).is_err());
    server.start_again();
    assert_eq!((server.port(), server.command(&["EXISTS", "pets"]).as_str()), (port, "0"));
}

#[test]
fn settings_files_and_passwords_reach_the_server() {
    let builder = Redis::builder().setting("requirepass", "s3cret").setting("maxmemory", "10mb");
    let Some(server) = builder.file("note", b"a note").start() else { return };
    assert_eq!(server.info("maxmemory").as_deref(), Some("10485760"));
    assert_eq!(std::fs::read(server.folder().join("note")).unwrap(), b"a note");
    server.set("requirepass", "other");
    assert_eq!(server.command(&["PING"]), "PONG");
    assert_ne!(server.new_prefix(), server.new_prefix());
}

#[test]
fn a_dropped_server_leaves_neither_a_process_nor_a_folder() {
    let Some(server) = Redis::start() else { return };
    let (process, folder) = (server.process_id(), server.folder().to_path_buf());
    let runs = || Path::new(&format!("/proc/{process}")).exists();
    server.freeze();
    assert!(folder.exists() && runs());
    drop(server);
    assert!(!folder.exists() && !runs());
}
