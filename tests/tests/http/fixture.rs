//! A shop with a category, and clients that stay on one connection.

use std::fmt::Write;

use petstore_domain::{Limit, Limits, Plan};
use serde_json::{Value, json};

use crate::harness::{Answer, Client, Connection, Shop, ShopOptions, accept_line};

/// A plan whose limits no test reaches.
pub(crate) const PLENTY: Plan = Plan::Enterprise(Limits { minute: MILLION, day: MILLION });

const MILLION: Limit = Limit::new(1_000_000).unwrap();

/// Fields of a request's head.
pub(crate) type Fields<'a> = &'a [(&'a str, &'a str)];

/// A shop with one category, and a client with practically unlimited requests.
pub(crate) struct Fixture {
    pub(crate) shop: Shop,
    pub(crate) client: Client,
    pub(crate) category: u64,
}

impl Fixture {
    pub(crate) fn open() -> Self {
        Self::open_in(Shop::open())
    }

    pub(crate) fn open_as(options: ShopOptions) -> Self {
        Self::open_in(Shop::open_as(options))
    }

    pub(crate) fn open_in(shop: Shop) -> Self {
        let client = shop.client(PLENTY);
        let category = client.post("/v1/categories", &json!({"name": "Dogs"})).id();
        Self { shop, client, category }
    }

    /// A new pet: available, with one free unit.
    pub(crate) fn pet(&self) -> u64 {
        self.client.post("/v1/pets", &json!({"name": "Rex", "categoryId": self.category})).id()
    }

    /// A new pet with this many free units.
    pub(crate) fn pet_of(&self, units: u64) -> u64 {
        let pet = self.pet();
        self.set_stock(pet, units);
        pet
    }

    pub(crate) fn set_stock(&self, pet: u64, units: u64) {
        let set = self.client.patch(&format!("/v1/inventory/{pet}"), &json!({"quantity": units}));
        assert_eq!(set.status, 200, "{}", set.text());
    }

    /// An open order for this many units.
    pub(crate) fn order(&self, pet: u64, units: u64) -> u64 {
        self.client.post("/v1/store/orders", &json!({"petId": pet, "quantity": units})).id()
    }

    pub(crate) fn complete(&self, order: u64) {
        let complete = self.client.patch(&format!("/v1/store/orders/{order}"), &json!({"complete": true}));
        assert_eq!(complete.status, 200, "{}", complete.text());
    }

    /// The pet's status and its free units, after a check that the pet and its item agree.
    pub(crate) fn state(&self, pet: u64) -> (String, u64) {
        let item = self.client.get(&format!("/v1/inventory/{pet}")).json();
        let status = self.client.get(&format!("/v1/pets?id={pet}")).json()[0]["status"].clone();
        assert_eq!(item["status"], status);
        (status.as_str().unwrap().to_owned(), item["quantity"].as_u64().unwrap())
    }
}

impl Answer {
    /// The id of the created resource.
    pub(crate) fn id(&self) -> u64 {
        assert_eq!(self.status, 201, "{}", self.text());
        self.json()["id"].as_u64().unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The address of this relation in the Link header.
    pub(crate) fn link(&self, rel: &str) -> Option<&str> {
        let mut links = self.header("link")?.split(", ");
        let suffix = format!(">; rel=\"{rel}\"");
        links.find_map(|link| link.strip_suffix(suffix.as_str())?.strip_prefix('<'))
    }

    /// Field and code of every fault, in order.
    pub(crate) fn details(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let error = self.json();
        let details = error["details"].as_array().unwrap_or_else(|| panic!("no details in {error}"));
        details.iter().map(|detail| (text(&detail["field"]), text(&detail["code"]))).collect()
    }
}

/// The ids of the items of a list.
pub(crate) fn ids(list: &Answer) -> Vec<u64> {
    assert_eq!(list.status, 200, "{}", list.text());
    let list = list.json();
    let key = |item: &Value| item.get("id").unwrap_or(&item["petId"]).as_u64().unwrap();
    list.as_array().unwrap().iter().map(key).collect()
}

/// The bytes of a request that leaves its connection open.
pub(crate) fn request(
    client: &Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", client.address);
    if let Some(key) = &client.key {
        write!(head, "authorization: Bearer {key}\r\n").unwrap();
    }
    head += &accept_line(headers);
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    if !body.is_empty() {
        write!(head, "content-type: application/json\r\ncontent-length: {}\r\n", body.len()).unwrap();
    }
    let mut bytes = (head + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends the head of a POST that creates a category. The request has passed the gate and is in flight, because the
/// server waits for its body.
pub(crate) fn hold(client: &Client, body: &[u8]) -> Connection {
    let mut held = Connection::open(client.address);
    let mut bytes = request(client, "POST", "/v1/categories", &[("expect", "100-continue")], body);
    bytes.truncate(bytes.len() - body.len());
    held.send(&bytes);
    // The server asks for the body only once the request has passed the gate.
    assert_eq!(held.read_answer(false).unwrap().status, 100);
    held
}

/// A client on one persistent connection.
pub(crate) struct Caller {
    client: Client,
    connection: Connection,
}

impl Caller {
    pub(crate) fn of(client: &Client) -> Self {
        Self { client: client.clone(), connection: Connection::open(client.address) }
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], Some(body))
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.connection.send(&request(&self.client, method, path, headers, body.as_bytes()));
        self.connection.read_answer(method == "HEAD").expect("the connection lives on")
    }
}
