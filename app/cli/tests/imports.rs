//! `petstore import`, into a file at rest and through a running server: all of it or nothing.

mod common;

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use common::{Answer, BINARY, Client, Site, tools};

const DOGS: &str = r#"{"category":{"name":"Dogs","id":1}}"#;
const REX: &str = r#"{"pet":{"name":"Rex","categoryId":1,"status":"available","id":1}}"#;
const ITEM: &str = r#"{"inventoryItem":{"petId":1,"quantity":1,"status":"available"}}"#;
const SOLD: &str = r#"{"pet":{"name":"Tom","categoryId":1,"status":"sold","id":2}}"#;
const SOLD_ITEM: &str = r#"{"inventoryItem":{"petId":2,"quantity":0,"status":"sold"}}"#;
const HELD: &str = r#"{"pet":{"name":"Kim","categoryId":1,"status":"pending","id":3}}"#;
const HELD_ITEM: &str = r#"{"inventoryItem":{"petId":3,"quantity":0,"status":"pending"}}"#;

fn order(id: u64, pet: u64, complete: bool) -> String {
    format!(r#"{{"order":{{"id":{id},"petId":{pet},"quantity":1,"complete":{complete}}}}}"#)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Lines of which one is wrong: which, and what is said of it.
fn wrong() -> Vec<(Vec<String>, usize, &'static str)> {
    let lines = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    let and = |before: &[&str], last: &[String]| [lines(before), last.to_vec()].concat();
    vec![
        (lines(&[DOGS, "{"]), 2, "EOF while parsing"),
        (lines(&[DOGS, "", REX, ITEM]), 2, "EOF while parsing"),
        (
            lines(&[DOGS, r#"{"pet":{"name":"","categoryId":1,"status":"sold","id":1}}"#]),
            2,
            "name must not be empty",
        ),
        (lines(&[DOGS, r#"{"category":{"name":"Cats","id":2,"x":1}}"#]), 2, "unknown field `x`"),
        (lines(&[DOGS, DOGS]), 2, "category 1 is there twice"),
        (lines(&[DOGS, r#"{"category":{"name":"dogs","id":2}}"#]), 2, "category 2 has the name"),
        (lines(&[REX]), 1, "pet 1 belongs to category 1, which is not there"),
        (lines(&[DOGS, REX, ITEM, ITEM]), 4, "inventory item 1 is there twice"),
        (
            lines(&[DOGS, REX, r#"{"inventoryItem":{"petId":1,"quantity":0,"status":"sold"}}"#]),
            3,
            "inventory item 1 is sold, and its pet is available",
        ),
        (
            lines(&[
                DOGS,
                REX,
                r#"{"inventoryItem":{"petId":1,"quantity":18000000000000000000,"status":"available"}}"#,
            ]),
            3,
            "quantity must be at most 9007199254740991",
        ),
        (and(&[DOGS, REX, ITEM], &[order(1, 9, false)]), 4, "order 1 belongs to pet 9, which is not there"),
        // What no single line shows.
        (lines(&[DOGS, REX]), 2, "pet 1 has no inventory item"),
        (lines(&[DOGS, REX, SOLD, SOLD_ITEM]), 2, "pet 1 has no inventory item"),
        (
            and(&[DOGS, SOLD, SOLD_ITEM, REX, ITEM], &[order(1, 1, true), order(2, 2, false)]),
            7,
            "pet 2 is sold",
        ),
        (lines(&[DOGS, REX, HELD, HELD_ITEM, ITEM]), 4, "pet 3 is pending with 0 free units"),
        (
            lines(&[DOGS, REX, r#"{"inventoryItem":{"petId":1,"quantity":0,"status":"available"}}"#]),
            3,
            "pet 1 is available with 0 free units",
        ),
    ]
}

fn check_refused(refused: &Output, line: usize, why: &str) {
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{message}");
    assert!(
        message.contains(&format!("petstore: nothing was imported: line {line}: {why}")),
        "{line}: {message}"
    );
}

#[test]
fn a_wrong_line_is_named_with_its_reason_and_nothing_is_imported() {
    let site = Site::new("wrong-lines");
    let mut server = Site::new("wrong-lines-served");
    server.serve(&["--db", "memory"], &[]);
    for (lines, line, why) in wrong() {
        for site in [&site, &server] {
            std::fs::write(site.folder.join("lines"), lines.join("\n")).unwrap();
            let db: &[&str] = if site.server.is_some() { &["--db", "memory"] } else { &[] };
            check_refused(&site.run(&[&["import", "lines"], db].concat()), line, why);
            assert_eq!(text(&site.run(&[&["export", "-"], db].concat()).stdout), "", "{lines:?}");
        }
    }
}

/// An import whose lines the test writes.
fn begin(site: &Site) -> Child {
    let mut command = site.command(&["import", "-"]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn say(import: &mut Child, lines: &[&str]) {
    let mut input = import.stdin.as_ref().unwrap();
    input.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
}

/// Asks for a write that changes nothing until the import holds it out.
fn until_held_out(client: &mut Client) -> Answer {
    loop {
        let answer = client.ask("DELETE", "/v1/categories/1", "", "").unwrap();
        if answer.status != 404 {
            assert_eq!(answer.status, 503, "{}", answer.body);
            return answer;
        }
    }
}

/// Asks for a write until it is done.
fn until_let_in(client: &mut Client) {
    loop {
        let answer = client.ask("POST", "/v1/categories", "", r#"{"name":"Cats"}"#).unwrap();
        if answer.status == 201 {
            return;
        }
        assert_eq!(answer.status, 503, "{}", answer.body);
    }
}

fn served(name: &str) -> (Site, Client) {
    let mut site = Site::new(name);
    site.serve(&[], &[]);
    let key = site.printed().split_whitespace().last().unwrap().to_owned();
    let unlimited = ["accounts", "update", "default", "--minute", "2147483647", "--day", "2147483647"];
    assert!(site.run(&unlimited).status.success());
    let client = Client::connect(site.port, &key).unwrap();
    (site, client)
}

#[test]
fn writes_are_503_while_an_import_runs_and_reads_go_on() {
    let (site, mut client) = served("import-running");
    let mut import = begin(&site);
    say(&mut import, &[DOGS, REX]);
    let get = |client: &mut Client, path: &str| client.ask("GET", path, "", "").unwrap();
    let held_out = until_held_out(&mut client);
    assert!(held_out.retry_after.is_some());
    assert!(held_out.body.contains("\"code\":\"overloaded\""), "{}", held_out.body);
    assert_eq!(
        (get(&mut client, "/v1/pets").status, get(&mut client, "/v1/pets").body.as_str()),
        (200, "[]")
    );
    assert_eq!(get(&mut client, "/health").status, 200);
    let ready = get(&mut client, "/ready");
    assert!(ready.status == 503 && ready.body.contains("\"field\":\"store\""), "{}", ready.body);

    say(&mut import, &[ITEM]);
    drop(import.stdin.take());
    let done = import.wait_with_output().unwrap();
    // A pipe is told the outcome and no progress.
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), "petstore: 3 lines imported\n"));
    until_let_in(&mut client);
    assert!(get(&mut client, "/v1/pets").body.contains("Rex"));
    assert_eq!(get(&mut client, "/ready").status, 200);
}

#[test]
fn an_import_that_breaks_off_imports_nothing() {
    let (site, mut client) = served("import-broken");
    let mut import = begin(&site);
    // What has been sent would be a whole shop.
    say(&mut import, &[DOGS, REX, ITEM]);
    until_held_out(&mut client);
    import.kill().unwrap();
    import.wait().unwrap();
    until_let_in(&mut client);
    assert_eq!(client.ask("GET", "/v1/pets", "", "").unwrap().body, "[]");
    assert!(!client.ask("GET", "/v1/categories", "", "").unwrap().body.contains("Dogs"));
    // A folder can be opened and not read.
    let unread = site.run(&["import", "."]);
    assert!(text(&unread.stderr).contains("nothing was imported"), "{}", text(&unread.stderr));
}

#[test]
fn a_terminal_is_shown_progress() {
    if !tools::can_run("script", "--version") {
        return;
    }
    let mut lines: Vec<String> = vec![DOGS.to_owned()];
    for id in 1..=6_000 {
        lines.push(REX.replace("\"id\":1", &format!("\"id\":{id}")));
        lines.push(ITEM.replace("\"petId\":1", &format!("\"petId\":{id}")));
    }
    let mut served = Site::new("progress-served");
    served.serve(&["--db", "memory"], &[]);
    for (site, db, word) in [(&Site::new("progress"), "petstore.db", "imported"), (&served, "memory", "sent")]
    {
        std::fs::write(site.folder.join("lines"), lines.join("\n")).unwrap();
        let import = format!("{BINARY} import lines --db {db}");
        let mut script = Command::new("script");
        let seen = script.args(["-qec", &import, "/dev/null"]).current_dir(&site.folder).stdin(Stdio::null());
        let seen = text(&seen.output().unwrap().stdout);
        let expected = format!("\rpetstore: 10000 lines {word}\r\npetstore: 12001 lines imported\r\n");
        assert!(seen.ends_with(&expected), "{seen:?}");
    }
}
