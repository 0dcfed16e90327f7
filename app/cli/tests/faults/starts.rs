//! Five nodes that start at once, of which some are killed while the schema is made.
//! `PETSTORE_START_ROUNDS` sets the number of rounds, which is one by default.

use std::thread::sleep;
use std::time::Duration;

use petstore_test_servers::{Cut, FaultProxy, How, Mode, Postgres, Side};

use crate::common::Client;
use crate::now;
use crate::outage::{RECOVERY_MAX, number};
use crate::scene::{Node, PETS};
use crate::trader::Random;

const NODES: usize = 5;

/// The first tables of all, which the first release made.
const FIRST_SCHEMA: &str = include_str!("../../../../adapters/postgres/src/schema/1.sql");

/// The columns and the indexes of a schema, as text.
fn structure(server: &Postgres, schema: &str) -> String {
    let columns = format!(
        "select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
         where table_schema = '{schema}' order by 1, 2"
    );
    let indexes =
        format!("select indexname, indexdef from pg_indexes where schemaname = '{schema}' order by 1");
    format!("{}\n{}", server.sql(&columns), server.sql(&indexes)).replace(schema, "petstore")
}

/// Creates the tables of the first release, with the rows that it wrote.
fn make_first_schema(server: &Postgres, schema: &str, complete: &str) {
    server.sql(&format!(
        "create schema {schema}; set search_path = {schema}; {FIRST_SCHEMA};
         insert into shop (epoch, is_sandbox) values ('00000000000000aa', false);
         insert into event_log (epoch) values ('00000000000000aa');
         insert into key_changes (number) values (0);
         insert into schema_version (version, oldest_reader, folding, event_form)
             select 1, 1, folding, event_form from {complete}.schema_version"
    ));
}

/// Starts five nodes at once on a schema, kills some of them, and starts those again. All must serve.
fn start_and_kill(server: &Postgres, schema: &str, cut: Option<Cut>, random: &mut Random) {
    let proxy = FaultProxy::before(server.port());
    // A slow network, so that the schema is not made before all nodes have started.
    proxy.set_mode(Mode::Delay(Duration::from_millis(5)));
    let url = format!("postgres://petstore@127.0.0.1:{}/petstore?schema={schema}", proxy.port());
    let mut nodes: Vec<_> = (0..NODES).map(|_| Node::new("starts", &url)).collect();
    if let Some(cut) = cut {
        proxy.plan(cut);
    }
    nodes.iter_mut().for_each(Node::spawn);
    let limit = Duration::from_millis(200 + random.below(1_500));
    for _ in 0..limit.as_millis() / 10 {
        if cut.is_some() && !proxy.is_planned() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let (first, count) = (random.below(NODES as u64), 1 + random.below(NODES as u64));
    let killed: Vec<_> =
        (first..first + count).map(|place| usize::try_from(place).unwrap() % NODES).collect();
    for place in &killed {
        nodes[*place].kill();
    }
    for place in killed {
        nodes[place].spawn();
    }
    // A node whose connection has become silent waits for it, and then it is killed, too.
    if !all_serve(&mut nodes, Duration::from_secs(6)) {
        for node in &mut nodes {
            if !node.serves() {
                node.kill();
                node.spawn();
            }
        }
    }
    let all_do = all_serve(&mut nodes, Duration::from_mins(1));
    let logs: Vec<_> = nodes.iter().map(Node::log).collect();
    assert!(all_do, "{cut:?}: {}", logs.join("\n--- next node\n"));
    let admin = server.url_of(schema);
    let output = nodes[0].site.run(&["keys", "create", "--quiet", "--plan", "business", "--db", &admin]);
    let key = String::from_utf8(output.stdout).unwrap();
    for node in &nodes {
        let mut client = Client::connect(node.site.port, key.trim()).unwrap();
        let began = now();
        // The first request of a node opens connections, over the slow network and beside those of the other nodes.
        let pets = loop {
            let pets = client.ask("GET", "/v1/pets?limit=100", "", "").unwrap();
            if pets.status != 503 || began.elapsed() > RECOVERY_MAX {
                break pets;
            }
        };
        let count = pets.body.matches("\"categoryId\"").count();
        assert_eq!((pets.status, count as u64), (200, PETS), "{cut:?}: {}\n{}", pets.body, node.log());
    }
}

/// Waits until all nodes serve. Returns `false` if a node does not within this time.
fn all_serve(nodes: &mut [Node], within: Duration) -> bool {
    let began = now();
    while began.elapsed() < within {
        if nodes.iter_mut().all(Node::serves) {
            return true;
        }
        sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn five_nodes_that_are_killed_while_the_schema_is_made() {
    let Some(server) = Postgres::start() else { return };
    let complete = server.new_schema();
    Node::new("complete", &server.url_of(&complete)).start();
    let expected = structure(&server, &complete);
    let version = server.sql(&format!("select version from {complete}.schema_version"));
    let mut random = Random(number("PETSTORE_SOAK_SEED").unwrap_or(39));
    let rounds = number("PETSTORE_START_ROUNDS").unwrap_or(1);
    for round in 1..=rounds {
        for is_old in [false, true] {
            let schema = server.new_schema();
            if is_old {
                make_first_schema(&server, &schema, &complete);
            }
            let message = u32::try_from(round * 2).unwrap();
            let cut = (round % 3 != 0).then_some(Cut { side: Side::Node, message, how: How::Silence });
            start_and_kill(&server, &schema, cut, &mut random);
            assert_eq!(structure(&server, &schema), expected, "round {round}, old: {is_old}");
            assert_eq!(server.sql(&format!("select version from {schema}.schema_version")), version);
        }
    }
}
