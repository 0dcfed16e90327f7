//! The reference page: its files, their codings and validators, and the redirects to it.

use std::io::Read;

use flate2::read::GzDecoder;
use petstore_http::Cors;
use petstore_pages::reference::FILES;

use crate::fixture::request;
use crate::harness::{Answer, Connection, Shop, ShopOptions};

/// The path of a file of the page.
fn path(name: &str) -> String {
    if name.is_empty() { "/docs".to_owned() } else { format!("/docs/{name}") }
}

fn unpack(gzip: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(gzip).read_to_end(&mut bytes).unwrap();
    bytes
}

fn ask(shop: &Shop, path: &str, headers: &[(&str, &str)]) -> Answer {
    shop.anonymous().send("GET", path, headers, None)
}

/// All values of a header as one list.
fn list(answer: &Answer, name: &str) -> String {
    let values = answer.headers.iter().filter(|(one, _)| one == name);
    values.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_file_is_served_compressed_or_as_it_is() {
    let shop = Shop::open();
    for file in FILES {
        let path = path(file.name);
        let packed = ask(&shop, &path, &[("accept-encoding", "gzip, deflate, br")]);
        assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")), "{path}");
        assert_eq!(packed.header("content-type"), Some(file.content_type), "{path}");
        assert!(packed.body == file.gzip, "{path}");
        // Only the first of these requests decompresses the file. The server keeps the result for the others.
        for headers in [&[][..], &[("accept-encoding", "gzip;q=0, br")], &[("accept-encoding", "identity")]] {
            let plain = ask(&shop, &path, headers);
            assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
            assert_eq!(plain.header("content-type"), Some(file.content_type), "{path}");
            assert!(plain.body == unpack(file.gzip), "{path}");
        }
    }
}

#[test]
fn the_page_names_its_files_and_no_other_origin() {
    let shop = Shop::open();
    let page = ask(&shop, "/docs", &[]);
    let page = std::str::from_utf8(&page.body).unwrap();
    let named: Vec<_> = ["src=\"", "href=\""]
        .iter()
        .flat_map(|attribute| page.split(attribute).skip(1))
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(named.len() >= 5, "{named:?}");
    for name in named {
        // All references are relative, so that the page works under any path prefix of a proxy.
        assert!(!name.contains("//") && !name.starts_with('/'), "{name}");
        assert_eq!(ask(&shop, &format!("/{name}"), &[]).status, 200, "{name}");
    }
    assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("<script>"), "inline");
}

#[test]
fn a_client_that_has_the_file_gets_304() {
    let shop = Shop::open();
    for file in FILES {
        let path = path(file.name);
        let coded = ("accept-encoding", "gzip");
        let packed = ask(&shop, &path, &[coded]).header("etag").unwrap().to_owned();
        let plain = ask(&shop, &path, &[]).header("etag").unwrap().to_owned();
        assert!(packed.starts_with('"') && plain.starts_with('"'), "strong: the bytes are the same");
        assert_ne!(packed, plain, "two codings are two representations");
        let known = ask(&shop, &path, &[coded, ("if-none-match", &packed)]);
        assert_eq!(
            (known.status, known.body.len(), known.header("etag")),
            (304, 0, Some(&*packed)),
            "{path}"
        );
        assert!(list(&known, "vary").contains("Accept-Encoding"));
        assert_eq!(ask(&shop, &path, &[("if-none-match", &plain)]).status, 304);
        assert_eq!(ask(&shop, &path, &[("if-none-match", &packed)]).status, 200);
        assert_eq!(ask(&shop, &path, &[coded, ("if-none-match", "\"x\"")]).status, 200);
    }
    let tags: std::collections::BTreeSet<_> = FILES
        .iter()
        .map(|file| ask(&shop, &path(file.name), &[]).header("etag").unwrap().to_owned())
        .collect();
    assert_eq!(tags.len(), FILES.len(), "each its own");
}

#[test]
fn the_policy_allows_the_page_itself_and_nothing_else() {
    let shop = Shop::open();
    for file in FILES {
        let answer = ask(&shop, &path(file.name), &[]);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(!policy.contains("http") && !policy.contains('*'), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        let vary = list(&answer, "vary");
        assert!(vary.contains("Accept-Encoding") && vary.contains("Origin"), "{vary}");
        assert_eq!(answer.header("x-ratelimit-limit"), None, "it is not the contract's");
    }
}

#[test]
fn the_root_and_a_slash_too_many_lead_to_the_page() {
    let shop = Shop::open();
    for from in ["/", "/docs/", "/?x=1"] {
        for method in ["GET", "HEAD"] {
            let answer = shop.anonymous().send(method, from, &[], None);
            assert_eq!((answer.status, answer.header("location")), (302, Some("/docs")), "{method} {from}");
            assert!(answer.body.is_empty());
        }
    }
    assert_eq!(ask(&shop, "/docs?x=1", &[]).status, 200);
}

#[test]
fn a_path_that_is_no_file_of_the_page_is_404() {
    let shop = Shop::open();
    let names = [
        "x.js",
        "index.html",
        "page.js/",
        "/page.js",
        "../openapi.yaml",
        "%2e%2e/x",
        "PAGE.JS",
        "page.js.gz",
    ];
    for name in names {
        for method in ["GET", "HEAD", "OPTIONS", "POST"] {
            let answer = shop.anonymous().send(method, &format!("/docs/{name}"), &[], None);
            assert_eq!(answer.status, 404, "{method} {name}");
            if method == "GET" {
                assert_eq!(answer.code(), "not_found");
            }
        }
    }
    assert_eq!(ask(&shop, "/docsx", &[]).outcome(), (404, "not_found".to_owned()));
}

#[test]
fn head_options_and_other_methods_are_as_elsewhere() {
    let shop = Shop::open();
    let anonymous = shop.anonymous();
    for path in ["/docs", "/docs/swagger-ui-bundle.js", "/docs/favicon.svg"] {
        for coding in ["gzip", "identity"] {
            let headers = [("accept-encoding", coding)];
            let get = anonymous.send("GET", path, &headers, None);
            let mut connection = Connection::open(anonymous.address);
            connection.send(&request(&anonymous, "HEAD", path, &headers, b""));
            let head = connection.read_answer(true).unwrap();
            assert_eq!(head.status, get.status, "{path}");
            for name in
                ["content-type", "content-length", "content-encoding", "etag", "cache-control", "location"]
            {
                assert_eq!(head.header(name), get.header(name), "{name} of {path}");
            }
            // No body follows the head, so the next answer begins directly after it.
            connection.send(&request(&anonymous, "GET", "/health", &[("connection", "close")], b""));
            assert_eq!(connection.read_answer(false).unwrap().status, 200, "{path}");
        }
        let options = anonymous.send("OPTIONS", path, &[], None);
        assert_eq!((options.status, options.header("allow")), (204, Some("GET, HEAD, OPTIONS")), "{path}");
        let posted = anonymous.send("POST", path, &[], None);
        assert_eq!(posted.outcome(), (405, "method_not_allowed".to_owned()), "{path}");
        assert_eq!(posted.header("allow"), Some("GET, HEAD, OPTIONS"));
    }
    assert_eq!(ask(&shop, "/docs", &[("if-none-match", "x")]).outcome(), (400, "invalid_header".to_owned()));
}

#[test]
fn the_deprecation_link_of_getpet_leads_to_its_sunset() {
    let shop = Shop::open();
    let pet = shop.anonymous().get("/v1/pets/1");
    for rel in ["deprecation", "sunset"] {
        let target = pet.link(rel).unwrap();
        let (page, fragment) = target.split_once('#').unwrap();
        assert_eq!(ask(&shop, page, &[]).status, 200);
        assert!(fragment.ends_with("/getPet"), "{fragment}");
    }
}

#[test]
fn the_page_is_there_under_any_base_path() {
    for (base, api) in [("", "/pets"), ("/shop/api", "/shop/api/pets"), ("/docs/v1", "/docs/v1/pets")] {
        let mut options = ShopOptions::default();
        options.http.base_path = base.to_owned();
        options.http.cors = Cors::Off;
        let shop = Shop::open_as(options);
        assert_eq!(ask(&shop, "/docs", &[]).status, 200, "{base}");
        assert_eq!(ask(&shop, "/docs/page.css", &[]).status, 200, "{base}");
        assert_eq!(ask(&shop, "/", &[]).status, 302, "{base}");
        assert_eq!(ask(&shop, api, &[]).outcome(), (401, "missing_api_key".to_owned()), "{base}");
    }
}

#[test]
fn without_files_there_is_no_page() {
    let mut options = ShopOptions::default();
    options.http.documents.page = std::sync::Arc::new([]);
    let shop = Shop::open_as(options);
    for path in ["/docs", "/docs/", "/docs/page.js", "/"] {
        assert_eq!(ask(&shop, path, &[]).outcome(), (404, "not_found".to_owned()), "{path}");
    }
}

#[test]
fn the_page_has_a_section_for_each_code_of_the_contract_and_no_other() {
    const CONTRACT: &str = include_str!("../../../openapi.yaml");
    const PAGE: &str = include_str!("../../../adapters/pages/page/reference/index.html");
    let rows = CONTRACT.lines().filter_map(|line| {
        let mut cells = line.trim().strip_prefix("| ")?.split(" | ");
        let (status, code) = (cells.next()?, cells.next()?.strip_prefix('`')?.strip_suffix('`')?);
        (status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit())).then_some((status, code))
    });
    let rows: Vec<_> = rows.collect();
    assert!(rows.len() > 40, "{rows:?}");
    for (status, code) in &rows {
        let heading = format!("<dt id=\"errors/{code}\"><code>{code}</code> <span>{status} ");
        assert!(PAGE.contains(&heading), "{code}");
    }
    assert_eq!(PAGE.matches("<dt id=\"errors/").count(), rows.len());
}
