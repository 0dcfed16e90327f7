//! The effects of the settings for damaged data.

use super::Trial;

pub(crate) fn drop_damaged_wal() {
    let mut trial = Trial::with("damaged-wal", &["--db", "petstore.db"]);
    for name in ["Kept", "Hurt", "Behind", "Last"] {
        let made = trial.ask("POST", "/v1/categories", "", &format!("{{\"name\":\"{name}\"}}"));
        assert_eq!(made.status, 201);
    }
    let site = &mut trial.site;
    let mut server = site.server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let log = site.folder.join("petstore.db-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    let place = bytes.windows(4).position(|bytes| bytes == b"Hurt").unwrap();
    bytes[place] ^= 0x20;
    std::fs::write(&log, bytes).unwrap();
    let refused = site.run(&["--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = site.log_of_start(&["--listen", "127.0.0.1:0", "--drop-damaged-wal"], &[]);
    assert!(
        told.contains("petstore.db-wal was damaged in its frame ") && told.contains("were dropped"),
        "{told}"
    );
    let left = String::from_utf8(site.run(&["export", "-"]).stdout).unwrap();
    assert!(left.contains("\"Kept\"") && !left.contains("\"Behind\""), "{left}");
}
