//! Two webhooks of an account: the receiver of one gets every event, that of the other is dead.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::receiver::{Delivered, Receiver};
use crate::common::{Client, free_port};
use crate::load::{Run, hash_of};
use crate::requests::Connections;
use crate::scene::Node;
use crate::{now, unix_time};

/// The pause between two looks at what has arrived.
const LOOK: Duration = Duration::from_millis(100);

/// The time limit for the next event to arrive, after the last change. On a busy machine deliveries are behind by then.
const ARRIVAL_MAX: Duration = Duration::from_mins(2);

/// The maximum age of a request's timestamp, in seconds, which receivers accept: five minutes.
const AGE_MAX: u64 = 300;

/// The number of missing events that a violation names.
const NAMED_MAX: usize = 5;

/// The webhooks of a run.
pub(crate) struct Hooks {
    receiver: Receiver,
    /// The paths of the webhook whose receiver is alive, and of the other one.
    alive: String,
    dead: String,
    secret: String,
}

/// The requests that have arrived.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) requests: usize,
    pub(crate) repeated: usize,
    /// The time from the last change of the shop until the last event had arrived.
    pub(crate) behind: Duration,
    /// The hashes of the events without their ids.
    events: BTreeSet<u64>,
}

impl Hooks {
    /// Prepares nodes to deliver to receivers of this machine.
    pub(crate) fn prepare(nodes: &mut [Node]) {
        let file = nodes[0].site.folder.join("webhook-key");
        std::fs::write(&file, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
        for node in nodes {
            let args = ["--webhook-allow", "127.0.0.0/8", "--webhook-key-file", file.to_str().unwrap()];
            node.args.extend(args.map(str::to_owned));
        }
    }

    /// Creates the webhooks on the node with this port. They get all events of the shop from the first one on.
    pub(crate) fn create(port: u16, key: &str) -> Self {
        let receiver = Receiver::start(|_| Some(204));
        let mut client = Client::connect(port, key).unwrap();
        let mut create = |url: &str| -> Value {
            let body = json!({"url": url, "from": "oldest"}).to_string();
            let made = client.ask("POST", "/v1/webhooks", "", &body).unwrap();
            assert_eq!(made.status, 201, "{}", made.body);
            serde_json::from_str(&made.body).unwrap()
        };
        let dead = create(&format!("http://127.0.0.1:{}/", free_port()));
        let alive = create(&receiver.url);
        let path = |webhook: &Value| format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
        let secret = alive["secret"].as_str().unwrap().to_owned();
        Self { alive: path(&alive), dead: path(&dead), receiver, secret }
    }

    /// Takes the requests as they arrive, until the run is settled and every event that the shop then has was among them.
    pub(crate) fn follow(&self, run: &Run) -> Arrived {
        let mut arrived = Arrived::default();
        while !run.is_settled.load(Ordering::SeqCst) {
            self.look(run, &mut arrived);
        }
        let mut connections = Connections::new(run, 0);
        let ended = now();
        let (mut latest, mut requests) = (ended, arrived.requests);
        // An event that was just delivered may not be counted as delivered yet.
        while Self::state(&mut connections, &self.alive)["lag"] != 0 && latest.elapsed() < ARRIVAL_MAX {
            self.look(run, &mut arrived);
            if arrived.requests > requests {
                (latest, requests) = (now(), arrived.requests);
            }
        }
        self.look(run, &mut arrived);
        arrived.behind = latest - ended;
        arrived
    }

    fn look(&self, run: &Run, arrived: &mut Arrived) {
        sleep(LOOK);
        for delivered in self.receiver.take() {
            arrived.requests += 1;
            let event = delivered.event();
            run.name(("event", &delivered.headers["webhook-id"]), &event.to_string());
            if !arrived.events.insert(without_id(&event)) {
                arrived.repeated += 1;
            }
            if let Some(why) = self.refusal(&delivered) {
                run.violation(format!("{why}: {:?}", delivered.headers));
            }
        }
    }

    /// Returns the reason for which a receiver refuses a request.
    fn refusal(&self, delivered: &Delivered) -> Option<&'static str> {
        if delivered.signatures_of(&self.secret) != 1 {
            return Some("a webhook is not signed");
        }
        let timestamp = delivered.headers["webhook-timestamp"].parse().unwrap_or(0_u64);
        (timestamp.abs_diff(unix_time()) > AGE_MAX).then_some("a webhook has a wrong timestamp")
    }

    fn state(connections: &mut Connections<'_>, path: &str) -> Value {
        for node in 0..connections.run.ports.len() {
            if let Some(read) = connections.ask(node, "GET", path, "", "") {
                return serde_json::from_str(&read.answer.body).unwrap_or_default();
            }
        }
        Value::Null
    }

    /// Checks that each event of the shop has arrived, and that the dead receiver has disabled neither webhook.
    pub(crate) fn check(&self, run: &Run, arrived: &Arrived, events: &[Value]) {
        let missing: Vec<_> =
            events.iter().filter(|event| !arrived.events.contains(&without_id(event))).collect();
        if !missing.is_empty() {
            let some = &missing[..missing.len().min(NAMED_MAX)];
            run.violation(format!("{} of {} events did not arrive: {some:?}", missing.len(), events.len()));
        }
        let mut connections = Connections::new(run, 0);
        for (path, right) in [(&self.alive, "active"), (&self.dead, "failing")] {
            let state = Self::state(&mut connections, path);
            if state["status"] != right {
                run.violation(format!("a webhook should be {right}: {state}"));
            }
        }
    }
}

/// Returns the hash of an event without its id, which a new epoch changes.
fn without_id(event: &Value) -> u64 {
    let mut event = event.clone();
    event.as_object_mut().and_then(|members| members.remove("id"));
    hash_of(&event.to_string())
}
