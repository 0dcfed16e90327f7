//! A client in Rust that keeps every rule in every scenario.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::Duration;

use petstore_testing::ExamShop;
use serde_json::{Value, json};
use ureq::http::{HeaderMap, Response, Uri};
use ureq::{Agent, Body};

/// The attempts of one request.
const ATTEMPTS: u32 = 5;

/// The pause after the first attempt that fails. Each further one is twice as long.
const SHORTEST_PAUSE: Duration = Duration::from_millis(800);

/// The pause before the server is asked again if a request is left.
const POLL: Duration = Duration::from_secs(1);

/// The number of times that the server is asked if a request is left.
const POLLS: u32 = 90;

/// One client, with its connections and the entity tags that it has read.
pub(super) struct CarefulClient {
    agent: Agent,
    shop: ExamShop,
    read: HashMap<String, (String, Value)>,
    /// The number of the last request that must take effect once.
    once: u64,
}

/// The header fields and the text of an answer.
struct Answer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the time that `Retry-After` asks for, in either form. A date is compared with that of the answer.
    fn wait(&self) -> Duration {
        let Some(value) = self.header("retry-after") else { return Duration::ZERO };
        if let Ok(secs) = value.parse() {
            return Duration::from_secs(secs);
        }
        let date = |name| httpdate::parse_http_date(self.header(name)?).ok();
        match (date("retry-after"), date("date")) {
            (Some(until), Some(now)) => until.duration_since(now).unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }

    /// Returns whether the quota headers, in whatever form, say that no request is left.
    fn leaves_nothing(&self) -> bool {
        let counts = ["x-ratelimit-remaining", "ratelimit-remaining"];
        let in_list =
            |text: &str| text.split([';', ',', ' ']).any(|part| matches!(part, "r=0" | "remaining=0"));
        counts.iter().any(|name| self.header(name) == Some("0"))
            || self.header("ratelimit").is_some_and(in_list)
    }

    /// Returns the path of the next page, as the server links it.
    fn next_page(&self) -> Option<String> {
        let link = self.header("link")?.split(',').find(|link| link.contains("rel=\"next\""))?;
        let uri: Uri = link.split_once('<')?.1.split_once('>')?.0.parse().ok()?;
        uri.path_and_query().map(ToString::to_string)
    }
}

impl CarefulClient {
    pub(super) fn new(shop: ExamShop) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).build();
        Self { agent: config.new_agent(), shop, read: HashMap::new(), once: 0 }
    }

    /// Returns the URL of a path, which may begin with that of the API.
    fn url(&self, path: &str) -> String {
        match path.strip_prefix("/v1") {
            Some(rest) => format!("{}{rest}", self.shop.url),
            None => format!("{}{path}", self.shop.url),
        }
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<Answer, ureq::Error> {
        let request = ureq::http::Request::builder().method(method).uri(self.url(path));
        let request = request.header("X-API-Key", &self.shop.key);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let mut answer: Response<Body> = match body {
            Some(body) => {
                let request = request.header("Content-Type", "application/json");
                self.agent.run(request.body(body.to_string())?)?
            }
            None => self.agent.run(request.body(())?)?,
        };
        let text = answer.body_mut().read_to_string()?;
        Ok(Answer { status: answer.status().as_u16(), headers: answer.headers().clone(), text })
    }

    /// Repeats what may succeed later: a lost answer, 429, 500 and more.
    fn ask(
        &mut self,
        method: &str,
        path: &str,
        if_match: Option<&str>,
        body: Option<&Value>,
    ) -> Result<(Answer, Value), String> {
        let mut headers: Vec<_> = if_match.map(|tag| ("If-Match", tag.to_owned())).into_iter().collect();
        if method == "POST" {
            self.once += 1;
            headers.push(("Idempotency-Key", format!("once-{}", self.once)));
        }
        let seen = self.read.get(path).filter(|_| method == "GET").cloned();
        headers.extend(seen.iter().map(|(tag, _)| ("If-None-Match", tag.clone())));
        let mut failure = String::new();
        for attempt in 0..ATTEMPTS {
            let mut pause = SHORTEST_PAUSE * 2_u32.pow(attempt);
            match self.send(method, path, &headers, body) {
                Ok(answer) if answer.status < 400 => {
                    let value = match &seen {
                        Some((_, value)) if answer.status == 304 => value.clone(),
                        _ => serde_json::from_str(&answer.text).map_err(|error| error.to_string())?,
                    };
                    if let Some(tag) = answer.header("etag").filter(|_| method == "GET") {
                        self.read.insert(path.to_owned(), (tag.to_owned(), value.clone()));
                    }
                    self.spare(&answer);
                    return Ok((answer, value));
                }
                Ok(answer) => {
                    failure = format!("{method} {path}: {}", answer.status);
                    if !matches!(answer.status, 408 | 429 | 500..) {
                        return Err(failure);
                    }
                    pause = pause.max(answer.wait());
                }
                Err(error) => failure = format!("{method} {path}: {error}"),
            }
            if attempt + 1 < ATTEMPTS {
                sleep(pause);
            }
        }
        Err(failure)
    }

    /// Waits while no request is left, before one is refused. It asks the server, which costs nothing, because some forms of the
    /// headers have a time by the server's clock, which may differ from this one.
    fn spare(&self, last: &Answer) {
        let mut is_used_up = last.leaves_nothing();
        for _ in 0..POLLS {
            if !is_used_up {
                return;
            }
            sleep(POLL);
            let Ok(answer) = self.send("GET", "/rate-limit", &[], None) else { return };
            sleep(answer.wait());
            is_used_up = answer.leaves_nothing();
        }
    }

    /// Does what a program does: reads pages and single objects, changes a category, and orders.
    pub(super) fn work(&mut self) -> Result<(), String> {
        let mut pets = 0;
        let mut next = Some("/pets?limit=50".to_owned());
        while let Some(path) = next {
            let (answer, page) = self.ask("GET", &path, None, None)?;
            pets += page.as_array().map_or(0, Vec::len);
            next = answer.next_page();
        }
        if pets < 100 {
            return Err(format!("found {pets} pets, and the shop has 100"));
        }
        let mut is_deprecated = false;
        for pet in 1..=15 {
            // In the list, which is the successor, once an answer has said that the operation is deprecated.
            let path = if is_deprecated { format!("/pets?id={pet}") } else { format!("/pets/{pet}") };
            let (answer, _) = self.ask("GET", &path, None, None)?;
            is_deprecated |= answer.header("deprecation").is_some();
        }
        self.ask("GET", "/categories/1", None, None)?;
        let (answer, _) = self.ask("GET", "/categories/1", None, None)?;
        self.read.remove("/categories/1");
        self.ask("PUT", "/categories/1", answer.header("etag"), Some(&json!({"name": "Birds of prey"})))?;
        for pet in [7, 8] {
            let (_, order) = self.ask("POST", "/store/orders", None, Some(&json!({"petId": pet})))?;
            if order["petId"] != pet {
                return Err(format!("ordered {order}"));
            }
        }
        let (_, orders) = self.ask("GET", "/store/orders?petId=7", None, None)?;
        if orders.as_array().map_or(0, Vec::len) != 1 {
            return Err(format!("ordered twice: {orders}"));
        }
        self.ask("GET", "/inventory", None, None).map(drop)
    }
}
