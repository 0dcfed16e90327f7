//! A small file system that a test fills.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::postgres::Postgres;
use crate::skips;

/// The folder of the file system in that of a cluster. The cluster's reaper unmounts it.
const FOLDER: &str = "small";

/// A small file system in memory for the tables of a database. It is unmounted with its cluster.
pub struct SmallDisk {
    folder: PathBuf,
}

impl Postgres {
    /// Creates a database whose tables are in a file system of this size, while the server's log of writes is elsewhere.
    /// None after the calling test was reported as skipped, because the process may not mount.
    #[track_caller]
    pub fn database_on_small_disk(&self, database: &str, mebibytes: u32) -> Option<SmallDisk> {
        let folder = self.socket_folder().join(FOLDER);
        fs::create_dir(&folder).expect("a folder can be made");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"]).arg(&folder);
        let mounted = mount.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !mounted.is_ok_and(|status| status.success()) {
            skips::skip_even_under_ci("mounting a file system needs root");
            return None;
        }
        self.programs().give(&folder);
        let tables = folder.join("tables");
        fs::create_dir(&tables).expect("a folder can be made");
        self.programs().give(&tables);
        self.sql_in("postgres", &format!("create tablespace small location '{}'", tables.display()));
        self.sql_in("postgres", &format!("create database {database} tablespace small"));
        Some(SmallDisk { folder })
    }
}

impl SmallDisk {
    /// Fills the file system, so that no table can grow.
    pub fn fill(&self) {
        let mut file = File::create(self.ballast()).expect("the file system has a place for a file");
        while file.write_all(&[0; 4_096]).is_ok() {}
    }

    /// Frees the space again.
    pub fn free(&self) {
        fs::remove_file(self.ballast()).expect("the file can be removed");
    }

    fn ballast(&self) -> PathBuf {
        Path::new(&self.folder).join("ballast")
    }
}
