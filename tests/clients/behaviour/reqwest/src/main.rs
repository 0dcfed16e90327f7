//! reqwest with the middleware of reqwest-retry, whose pauses grow without regard to Retry-After.

use std::env::var;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, LINK};
use reqwest::{Method, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use serde_json::{Value, json};

/// The client with its retries.
struct Client(ClientWithMiddleware);

type Failure = Box<dyn std::error::Error>;

impl Client {
    fn new() -> Self {
        let policy = ExponentialBackoff::builder().build_with_max_retries(4);
        let retries = RetryTransientMiddleware::new_with_policy(policy);
        Self(ClientBuilder::new(reqwest::Client::new()).with(retries).build())
    }

    /// Sends a request. Fails if the library has no more attempts for it.
    async fn need(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        idempotency_key: Option<&str>,
    ) -> Result<(Option<String>, Value), Failure> {
        let url = if path.starts_with("http") { path.to_owned() } else { var("PETSTORE_URL")? + path };
        let mut request = self.0.request(method, url).header(AUTHORIZATION, format!("Bearer {}", var("PETSTORE_KEY")?));
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        if let Some(key) = idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        let answer: Response = request.send().await?.error_for_status()?;
        let links = answer.headers().get(LINK).and_then(|links| links.to_str().ok()).map(str::to_owned);
        Ok((links, serde_json::from_slice(&answer.bytes().await?)?))
    }

    async fn get(&self, path: &str) -> Result<(Option<String>, Value), Failure> {
        self.need(Method::GET, path, None, None).await
    }
}

/// Returns the address of the next page.
fn next_of(links: Option<String>) -> Option<String> {
    let links = links?;
    let link = links.split(", ").find(|link| link.ends_with("rel=\"next\""))?;
    Some(link.trim_start_matches('<').split('>').next()?.to_owned())
}

fn len(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let client = Client::new();

    // All pets, by the links of the server.
    let (mut link, mut pets) = (Some("/pets?limit=20".to_owned()), 0);
    while let Some(path) = link {
        let (links, page) = client.get(&path).await?;
        pets += len(&page);
        link = next_of(links);
    }
    assert!(pets >= 100, "{pets} pets");

    // Some pets, each by its number.
    for pet in 1..=12 {
        client.get(&format!("/pets?id={pet}")).await?;
    }

    // A category is read twice and changed.
    for _ in 0..2 {
        client.get("/categories/1").await?;
    }
    client.need(Method::PUT, "/categories/1", Some(json!({"name": "Birds of prey"})), None).await?;

    // Two orders. What the library repeats has the same Idempotency-Key.
    for pet in [7, 8] {
        let key = format!("order-of-{pet}");
        let (_, order) =
            client.need(Method::POST, "/store/orders", Some(json!({"petId": pet})), Some(&key)).await?;
        assert_eq!(order["petId"], pet);
    }
    let (_, orders) = client.get("/store/orders?petId=7").await?;
    assert_eq!(len(&orders), 1);
    client.get("/inventory").await?;
    Ok(())
}
