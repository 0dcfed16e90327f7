//! Nodes on one PostgreSQL database.

use petstore_test_servers::Postgres;

use super::alternating::AlternatingProxy;
use super::{PATIENT, Site};

/// Servers on one schema of the tests' PostgreSQL server, and a proxy before them that alternates their requests.
pub struct Nodes {
    /// The URL of the database, with the schema.
    pub url: String,
    pub sites: Vec<Site>,
    /// The first key.
    pub key: String,
    pub proxy: AlternatingProxy,
}

impl Nodes {
    /// Calls `prepare` with the folder of the first node and the URL, and then starts nodes with these arguments. If
    /// PostgreSQL is not installed, reports the test as skipped and returns none.
    #[track_caller]
    pub fn prepared(
        name: &str,
        count: usize,
        args: &[&str],
        prepare: impl FnOnce(&Site, &str),
    ) -> Option<Self> {
        let server = Postgres::shared()?;
        let url = server.url_of(&server.new_schema());
        let mut sites: Vec<_> = (0..count).map(|_| Site::new(name)).collect();
        prepare(&sites[0], &url);
        let key = sites[0].new_key();
        for site in &mut sites {
            site.serve(&[&["--db", &url], args].concat(), &[("PETSTORE_INITIAL_KEY", &key), PATIENT]);
        }
        let proxy = AlternatingProxy::before(sites.iter().map(|site| site.port).collect());
        Some(Self { url, sites, key, proxy })
    }

    /// Starts nodes on an empty schema.
    #[track_caller]
    pub fn start(name: &str, count: usize, args: &[&str]) -> Option<Self> {
        Self::prepared(name, count, args, |_, _| ())
    }
}
