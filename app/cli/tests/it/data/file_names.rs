//! A data file that is opened under another name, and a data file that is a mount point. The latest changes are in the
//! log beside the first name.

use std::path::Path;
use std::process::{Command, Output};

use super::{stocked, text};
use crate::common::{BINARY, Client, Site, tools};

/// Checks that a command was refused, and returns the reason.
fn refused(output: &Output) -> String {
    let why = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{why}");
    why
}

fn hard_link(site: &Site, name: &str) {
    std::fs::create_dir_all(site.folder.join(name).parent().unwrap()).unwrap();
    std::fs::hard_link(site.folder.join("petstore.db"), site.folder.join(name)).unwrap();
}

/// Kills a server, so that the changes that it acknowledged last are in the log only.
fn kill(site: &mut Site) {
    let mut server = site.server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
}

const SERVE: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn a_file_in_use_is_refused_under_every_other_name() {
    let mut site = stocked("hard-links");
    let server = site.server.as_ref().unwrap().id();
    for name in ["link.db", "other/petstore.db"] {
        hard_link(&site, name);
        let db = ["--db", name];
        for args in [&SERVE[..], &["keys", "list"], &["import", "/dev/null"], &["backup", "copy"]] {
            let why = refused(&site.run(&[args, &db].concat()));
            assert!(why.contains("is in use under another name"), "{name} {args:?}: {why}");
            assert!(why.contains(&format!("process {server} holds it")), "{name} {args:?}: {why}");
        }
        let why = refused(&site.run(&["export", "-", "--db", name]));
        assert!(why.contains("another process holds the data file under another name"), "{why}");
        // A refused command creates no files.
        assert!(!site.folder.join(format!("{name}.lock")).exists());
        assert!(!site.folder.join(format!("{name}-wal")).exists());
    }
    assert!(!site.folder.join("copy").exists());
    // Under the first name, the file has all changes.
    assert_eq!(site.run(&["export", "-"]).status.code(), Some(0));
    assert_eq!(site.run(&["backup", "copy"]).status.code(), Some(0));
    // A lock file beside the other name, such as one from an earlier use of that name, makes no difference.
    std::fs::write(site.folder.join("link.db.lock"), "").unwrap();
    let why = refused(&site.run(&[&SERVE[..], &["--db", "link.db"]].concat()));
    assert!(
        why.contains(&format!("under another name, by a hard link or another mount: process {server}")),
        "{why}"
    );
    site.stop();
}

#[test]
fn another_name_is_refused_while_a_killed_server_s_log_exists() {
    let mut site = stocked("hard-link-left");
    kill(&mut site);
    hard_link(&site, "link.db");
    hard_link(&site, "other/petstore.db");
    let why = refused(&site.run(&["keys", "list", "--db", "link.db"]));
    assert!(why.contains("petstore.db-wal holds the last changes: open it by that name"), "{why}");
    // The other name may be in any folder.
    let why = refused(&site.run(&["keys", "list", "--db", "other/petstore.db"]));
    assert!(why.contains("open it by that name, or copy the file and open the copy"), "{why}");
    let export = |db: &str| text(&site.run(&["export", "-", "--db", db]).stdout).lines().count();
    assert!(export("petstore.db") > 30);
    // After the other names are removed, the remaining name is accepted.
    assert_eq!(site.run(&["keys", "list"]).status.code(), Some(0));
    std::fs::remove_file(site.folder.join("petstore.db")).unwrap();
    std::fs::remove_file(site.folder.join("other/petstore.db")).unwrap();
    assert_eq!(site.run(&["keys", "list", "--db", "link.db"]).status.code(), Some(0));
    assert!(export("link.db") > 30);
}

/// A lock file shows that the data file was opened under this name at some time. It does not show that this was the last
/// name under which the file was opened.
#[test]
fn an_earlier_name_in_another_folder_is_refused_while_the_log_exists() {
    let mut site = stocked("hard-link-used");
    site.stop();
    hard_link(&site, "other/petstore.db");
    // The file is opened under the other name, and the server is killed.
    std::fs::copy(site.folder.join("petstore.db.lock"), site.folder.join("other/petstore.db.lock")).unwrap();
    site.serve(&["--db", "other/petstore.db"], &[]);
    let key = site.run(&["keys", "create", "--quiet", "--db", "other/petstore.db"]);
    assert_eq!(key.status.code(), Some(0), "{}", text(&key.stderr));
    kill(&mut site);
    for args in [&SERVE[..], &["keys", "list"], &["export", "-"], &["backup", "copy"]] {
        let why = refused(&site.run(args));
        assert!(
            why.contains("it was last opened as") && why.contains("other/petstore.db-wal holds"),
            "{why}"
        );
    }
    // The file has all changes if it is opened under the other name, also through a linked folder. After this command
    // has closed the file, every name works.
    petstore_test_servers::system::symlink("other", site.folder.join("folder")).unwrap();
    let linked = site.run(&["export", "-", "--db", "folder/petstore.db"]);
    assert_eq!(linked.status.code(), Some(0), "{}", text(&linked.stderr));
    let keys = |db: &str| text(&site.run(&["keys", "list", "--db", db, "--json"]).stdout);
    let all = keys("other/petstore.db");
    assert!(all.contains(text(&key.stdout).trim().get(..12).unwrap()), "{all}");
    assert_eq!(keys("petstore.db"), all);
}

/// Returns whether this machine allows its users to create mounts.
fn has_mounts() -> bool {
    if !tools::can_run("unshare", "--version") {
        return false;
    }
    let tried = Command::new("unshare").args(["-m", "true"]).output().unwrap();
    if tried.status.success() {
        return true;
    }
    let why = text(&tried.stderr);
    tools::skips::skip(&format!("mounts are tried as root, in a container with --privileged: {why}"));
    false
}

/// Runs a command in a mount namespace in which one path is mounted on another.
fn mounted(site: &Site, from: &str, to: &str, args: &[&str]) -> Output {
    let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", script, "sh", from, to, BINARY]).args(args);
    unshare.current_dir(&site.folder).output().unwrap()
}

#[test]
fn a_data_file_that_is_a_mount_is_refused_and_its_folder_named() {
    if !has_mounts() {
        return;
    }
    let site = Site::new("mounted");
    let folder = std::fs::canonicalize(&site.folder).unwrap().join("data");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(site.folder.join("host")).unwrap();
    let db = "data/petstore.db";
    for (from, to) in [("host/petstore.db", db), ("host/petstore.db-wal", "data/petstore.db-wal")] {
        std::fs::write(site.folder.join(from), "").unwrap();
        std::fs::write(site.folder.join(to), "").unwrap();
        for args in
            [&SERVE[..], &["keys", "list"], &["import", "/dev/null"], &["backup", "copy"], &["export", "-"]]
        {
            let why = refused(&mounted(&site, from, to, &[args, &["--db", db]].concat()));
            assert!(why.contains("is a mount of its own"), "{args:?}: {why}");
            assert!(
                why.contains(&format!("mount the folder {} instead", folder.display())),
                "{args:?}: {why}"
            );
        }
        assert!(!site.folder.join("data/petstore.db.lock").exists() && is_empty(&site.folder.join(from)));
    }
    std::fs::remove_file(site.folder.join(db)).unwrap();
    // A link to a mount is refused as well, and the message names the folder to mount.
    petstore_test_servers::system::symlink("data/mounted.db", site.folder.join("link.db")).unwrap();
    std::fs::write(site.folder.join("data/mounted.db"), "").unwrap();
    let linked = mounted(&site, "host/petstore.db", "data/mounted.db", &["keys", "list", "--db", "link.db"]);
    assert!(refused(&linked).contains("is a mount of its own"));
    std::fs::write(site.folder.join("host/shop.db"), "").unwrap();
    let served = mounted(&site, "host", "data", &["keys", "list", "--db", "data/shop.db"]);
    assert_eq!(served.status.code(), Some(0), "{}", text(&served.stderr));
    assert!(!is_empty(&site.folder.join("host/shop.db")));
}

#[test]
fn an_output_file_that_is_a_mount_is_reported_as_a_mount() {
    if !has_mounts() {
        return;
    }
    let site = stocked("mounted-outputs");
    for name in ["host", "out"] {
        std::fs::write(site.folder.join(name), "").unwrap();
    }
    let key = ["--db", "memory", "--initial-key-file", "out", "--listen", "127.0.0.1:0"];
    for args in [&["export", "out"][..], &key] {
        let why = refused(&mounted(&site, "host", "out", args));
        assert!(why.contains("it is a mount point") && why.contains("mount its folder"), "{args:?}: {why}");
        assert!(is_empty(&site.folder.join("host")) && !site.folder.join("out.part").exists());
    }
}

fn is_empty(file: &Path) -> bool {
    file.metadata().unwrap().len() == 0
}

#[test]
fn a_file_that_is_served_in_one_mount_is_in_use_in_another() {
    if !has_mounts() {
        return;
    }
    let site = stocked("two-mounts");
    let server = site.server.as_ref().unwrap().id();
    std::fs::create_dir(site.folder.join("there")).unwrap();
    let db = ["--db", "there/petstore.db", "--admin-socket", "none.sock"];
    let why = refused(&mounted(&site, ".", "there", &[&SERVE[..], &db].concat()));
    assert!(why.contains(&format!("process {server} holds")), "{why}");
    let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
    assert_eq!(client.ask("GET", "/v1/pets/1", "", "").unwrap().status, 200);
}

#[test]
fn a_place_of_the_store_is_no_target_of_a_copy_where_its_folder_is_mounted_a_second_time() {
    if !has_mounts() {
        return;
    }
    let mut site = stocked("mounted-twice");
    site.stop();
    std::fs::create_dir_all(site.folder.join("view")).unwrap();
    for command in ["backup", "export"] {
        // None of these exists.
        for name in ["petstore.db-wal", "petstore.db-journal", "petstore.db.sock"] {
            let target = format!("view/{name}");
            let why = refused(&mounted(&site, ".", "view", &[command, &target]));
            assert!(why.contains("a part of the data file") || why.contains("the admin socket"), "{why}");
            assert!(!site.folder.join(name).exists(), "{name}");
        }
    }
    let copied = mounted(&site, ".", "view", &["backup", "view/copy.db"]);
    assert_eq!(copied.status.code(), Some(0), "{}", text(&copied.stderr));
}
