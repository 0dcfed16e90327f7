use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use ureq::{Agent, http::HeaderMap};

/// A copy of all pets that follows the shop.
pub struct Copy {
    agent: Agent,
    base: String,
    key: String,
    pets: BTreeMap<u64, Value>,
}

/// A page, or the sign that the log does not have the place.
enum Answer {
    Page(Vec<Value>, HeaderMap),
    Expired,
}

impl Copy {
    pub fn new(base: &str, key: &str) -> Self {
        let config = Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(Duration::from_mins(1))).build().into();
        Self { agent, base: base.to_owned(), key: key.to_owned(), pets: BTreeMap::new() }
    }

    /// Copies all pets, then applies each change. Returns only if the server refuses a request.
    pub fn follow(&mut self, print: impl Fn(String)) -> Result<(), String> {
        loop {
            let mut place = self.snapshot()?;
            print(format!("{} pets", self.pets.len()));
            while let Answer::Page(events, headers) =
                self.get(&format!("{}/events?after={place}&type=pet.*&wait=30", self.base))?
            {
                for event in events {
                    self.apply(&event);
                    let pet = &event["data"];
                    print(format!(
                        "{} {} {} {}",
                        event["sequence"], event["type"], pet["name"], pet["status"]
                    ));
                }
                place = header(&headers, "last-event-id");
            }
        }
    }

    /// Lists the pets. Returns the place of the log from which on their changes are still to be applied.
    fn snapshot(&mut self) -> Result<String, String> {
        let Answer::Page(_, headers) = self.get(&format!("{}/events?sort=-id&limit=1", self.base))? else {
            return Err("a log has an end".to_owned());
        };
        self.pets.clear();
        let mut next = Some(format!("{}/pets?limit=100", self.base));
        while let Some(url) = next {
            let Answer::Page(pets, headers) = self.get(&url)? else { return Err(url) };
            self.pets.extend(pets.into_iter().filter_map(|pet| Some((pet["id"].as_u64()?, pet))));
            let links = header(&headers, "link");
            let link = links.split(", ").find_map(|link| link.strip_suffix(">; rel=\"next\""));
            next = link.map(|link| link.trim_start_matches('<').to_owned());
        }
        Ok(header(&headers, "last-event-id"))
    }

    fn apply(&mut self, event: &Value) {
        let pet = &event["data"];
        let Some(id) = pet["id"].as_u64() else { return };
        match event["type"].as_str() {
            Some("pet.deleted") => drop(self.pets.remove(&id)),
            Some("pet.created" | "pet.updated" | "pet.status_changed") => {
                self.pets.insert(id, pet.clone());
            }
            _ => {}
        }
    }

    /// Sends a request until it is answered.
    fn get(&self, url: &str) -> Result<Answer, String> {
        loop {
            let sent = self.agent.get(url).header("X-API-Key", &self.key).call();
            let Ok(mut answer) = sent else {
                sleep(Duration::from_secs(1));
                continue;
            };
            let headers = answer.headers().clone();
            match answer.status().as_u16() {
                200 => {
                    let text = answer.body_mut().read_to_string().map_err(|error| error.to_string())?;
                    let page = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                    return Ok(Answer::Page(page, headers));
                }
                410 => return Ok(Answer::Expired),
                429 | 503 => sleep(Duration::from_secs(header(&headers, "retry-after").parse().unwrap_or(1))),
                status => return Err(format!("{url}: {status}")),
            }
        }
    }
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}
