//! Secrets in requests and answers: no form of the journal has them.

use serde_json::{Value, json};

use super::Frames;
use crate::sandbox::Sandbox;

#[test]
fn no_form_of_the_journal_has_a_secret() {
    let sandbox = Sandbox::start("journal-secrets", &["--db", "memory", "--demo", "3"]);
    let key = sandbox.key.clone();
    let url = format!("http://127.0.0.1:{}/sandbox/sinks/hook", sandbox.site.port);
    let hook = json!({"url": url, "description": key}).to_string();
    let made = sandbox.authorized("POST", "/v1/webhooks", "", &hook).unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let rotated = sandbox.authorized("POST", &format!("/v1/webhooks/{id}/rotate"), "", "").unwrap();
    assert!((200..300).contains(&rotated.status), "{} {}", rotated.status, rotated.body);
    let secret_of = |reply: &Value| reply["secret"].as_str().unwrap()["whsec_".len()..].to_owned();
    let secrets = [secret_of(&made.json()), secret_of(&rotated.json()), key[12..].to_owned()];
    assert_ne!(secrets[0], secrets[1]);

    sandbox.authorized("GET", &format!("/v1/pets?api_key={key}"), "", "");
    sandbox.once("GET", "/v1/pets", &format!("authorization: Bearer {key}\r\n"), "");
    sandbox.once("GET", "/v1/pets", &format!("authorization: bearer   {key}\r\nx-request-id: {key}\r\n"), "");
    sandbox.once("GET", "/v1/pets", &format!("x-api-key: {key}, {key}\r\nreferer: http://x/?{key}\r\n"), "");
    sandbox.once(
        "GET",
        "/v1/pets",
        "authorization: Basic c2VjcmV0OnBhc3N3b3Jk\r\ncookie: session=5ecre7\r\n",
        "",
    );
    sandbox.authorized("POST", "/v1/webhooks", "", r#"{"url": 1, "secret": "my own 5ecre7"}"#);

    // Links of an answer repeat the parameters, and escapes hide no secret.
    let escaped = key.replace('_', "%5F");
    sandbox.authorized("GET", &format!("/v1/pets?name={key}&limit=1"), "", "");
    sandbox.authorized(
        "GET",
        &format!("/v1/pets?name={escaped}&access_token=5ecre7"),
        "x-auth-token: 5ecre7\r\n",
        "",
    );
    let nested = json!({"url": 1, "note": made.json()["secret"].as_str().unwrap().replace('/', "\\/")});
    sandbox.authorized("POST", "/v1/webhooks", "", &nested.to_string().replace("\\\\/", "\\/"));
    sandbox.authorized("POST", "/v1/webhooks", "", r#"{"url": 1, "s\u0065cret": "my own 5ecre7"}"#);
    let cut = format!("{}{key}", " ".repeat(64 * 1024 - 20));
    sandbox.authorized("POST", "/v1/categories", "", &cut);

    let records = sandbox.records("?count=13&wait=10");
    assert_eq!(records.len(), 13);
    let mut forms = vec![json!(records).to_string()];
    forms.push(sandbox.once("GET", "/sandbox/requests.har", "", "").unwrap().body);
    for record in &records {
        let (id, sequence) = (record["id"].as_str().unwrap(), &record["sequence"]);
        let line = sandbox
            .once("GET", &format!("/sandbox/requests/{id}?as=curl&sequence={sequence}"), "", "")
            .unwrap();
        assert!(line.body.contains("curl "), "{}", line.body);
        forms.push(line.body);
    }
    let mut frames = Frames::open(&sandbox);
    forms.extend((0..13).map(|_| frames.next().1.to_string()));
    for form in &forms {
        // Seven characters of a key are enough to recognize it, also if it was cut off.
        let start_of_key = &key[12..19];
        let others = ["c2VjcmV0OnBhc3N3b3Jk", "5ecre7", start_of_key];
        for secret in secrets.iter().map(String::as_str).chain(others) {
            assert!(!form.contains(secret), "{secret} is in {form}");
        }
    }
    assert!(forms[0].contains("\\\"secret\\\":\\\"whsec_...\\\""), "{}", forms[0]);
    assert!(forms[0].contains(&format!("api_key={}...", &key[..12])), "{}", forms[0]);
    assert!(forms.iter().any(|form| form.contains("?api_key='\"$KEY\"")), "{forms:?}");
}

#[test]
fn credentials_of_other_services_are_masked_in_every_spelling_and_in_sinks() {
    let sandbox = Sandbox::start("journal-spellings", &["--db", "memory"]);
    let key = sandbox.key.clone();
    for target in [
        "/v1/pets?access%5Ftoken=5ecre7",
        "/v1/pets?accessToken=5ecre7",
        "/v1/pets?%61ccess-TOKEN=5ecre7",
        "/v1/pets?user%5Bpassword%5D=5ecre7",
        "/v1/pets?to=https%3A%2F%2Fme%3A5ecre7%40h%2F%3Ftoken%3D5ecre7",
        "http://me:5ecre7@localhost/v1/pets",
    ] {
        sandbox.once("GET", target, "", "");
    }
    let headers = "x-authorization: Bearer 5ecre7\r\nx-gitlab-token: 5ecre7\r\nreferer: \
                   https://me:5ecre7@h/?apiKey=5ecre7\r\nx-api-token: 5ecre7\r\n";
    sandbox.authorized("GET", "/v1/pets", headers, r#"{"url":"https:\/\/me:5ecre7@h"}"#);
    let body = format!("{{\"secret\": \"5ecre7\", \"key\": \"{key}\", \"url\": \"http://me:5ecre7@h/\"}}");
    sandbox.authorized("POST", "/sandbox/sinks/hook", headers, &body);
    assert_eq!(sandbox.records("?count=7&wait=10").len(), 7);
    let forms = ["/sandbox/requests", "/sandbox/requests.har", "/sandbox/sinks/hook"]
        .map(|path| sandbox.once("GET", path, "", "").unwrap().body);
    for form in &forms {
        assert!(!form.contains("5ecre7") && !form.contains(&key[12..19]), "{form}");
        assert!(form.is_ascii(), "{form}");
    }
    let headers = r#"["x-authorization","Bearer ..."],["x-gitlab-token","..."],["referer","https://...@h/?apiKey=..."]"#;
    assert!(forms[0].contains(headers) && forms[2].contains(headers), "{}", forms[2]);
    let sink =
        format!(r#"{{\"secret\": \"...\", \"key\": \"{}...\", \"url\": \"http://...@h/\"}}"#, &key[..12]);
    assert!(forms[2].contains(&sink), "{}", forms[2]);
}
