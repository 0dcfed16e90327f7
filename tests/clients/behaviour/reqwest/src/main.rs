//! reqwest with reqwest-retry, whose pauses grow without regard to Retry-After.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use serde_json::{Value, json};

struct Client {
    http: ClientWithMiddleware,
    base: String,
}

impl Client {
    fn new() -> Self {
        let setting = |name| std::env::var(name).expect(name);
        let key = HeaderValue::from_str(&format!("Bearer {}", setting("PETSTORE_KEY"))).unwrap();
        let headers = HeaderMap::from_iter([(reqwest::header::AUTHORIZATION, key)]);
        let http = reqwest::Client::builder().default_headers(headers).build().unwrap();
        let policy = ExponentialBackoff::builder()
            .retry_bounds(Duration::from_millis(100), Duration::from_secs(1))
            .build_with_max_retries(3);
        let retries = RetryTransientMiddleware::new_with_policy(policy);
        Self { http: ClientBuilder::new(http).with(retries).build(), base: setting("PETSTORE_URL") }
    }

    async fn get(&self, path: &str) -> Result<Response, Error> {
        // A link of the server is a whole address.
        let address = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        self.http.get(address).send().await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: [(&str, &str); 2],
        body: Value,
    ) -> Result<Response, Error> {
        let request = self.http.request(method, format!("{}{path}", self.base)).body(body.to_string());
        headers.into_iter().fold(request, |request, (name, value)| request.header(name, value)).send().await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = Client::new();

    // All pets, by the links of the server.
    let mut link = Some("/pets?limit=50".to_owned());
    while let Some(address) = link {
        let page = client.get(&address).await.unwrap();
        assert!(page.status().is_success());
        let links = page.headers()["link"].to_str().unwrap();
        let next = links.split(", ").find(|one| one.ends_with("rel=\"next\""));
        link = next.map(|one| one.trim_start_matches('<').split('>').next().unwrap().to_owned());
        page.bytes().await.unwrap();
    }

    // A category is read twice and changed.
    for _ in 0..2 {
        client.get("/categories/1").await.unwrap().bytes().await.unwrap();
    }
    let merge_patch = [("content-type", "application/merge-patch+json"), ("accept", "application/json")];
    let changed =
        client.send(Method::PATCH, "/categories/1", merge_patch, json!({"description": "Small"})).await;
    assert!(changed.unwrap().status().is_success());

    // An order whose first answer is lost.
    let once = [("content-type", "application/json"), ("idempotency-key", "order-1")];
    let order = client.send(Method::POST, "/store/orders", once, json!({"petId": 7})).await;
    assert!(order.unwrap().status().is_success());

    // A list that is refused twice.
    assert!(client.get("/inventory").await.unwrap().status().is_success());

    // A list that always fails.
    assert_eq!(client.get("/store/orders").await.unwrap().status(), 503);
}
