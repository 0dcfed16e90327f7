use petstore_domain::ApiKey;

use super::*;

fn shown(text: &str) -> String {
    String::from_utf8(masked(text.as_bytes()).into_owned()).unwrap()
}

#[test]
fn keys_and_secrets_are_cut_to_their_prefix_wherever_they_are() {
    let key = ApiKey::from_entropy([7; 32]);
    let (key, prefix) = (key.reveal(), key.display_prefix());
    for (text, expected) in [
        (format!("?a={key}&b=1"), format!("?a={prefix}...&b=1")),
        (format!("{key}{key}"), format!("{prefix}...")),
        (format!("{key},{key}"), format!("{prefix}...,{prefix}...")),
        (format!("x{}", &key[..40]), format!("x{prefix}...")),
        ("pet_food pet_ pet".to_owned(), "pet_food pet_ pet".to_owned()),
        (
            "{\"secret\":\"whsec_MfKQ9r8G+/=\",\"id\":1}".to_owned(),
            "{\"secret\":\"whsec_...\",\"id\":1}".to_owned(),
        ),
        ("{\"secret\" :\n \"a\\\"b\\\\\"}".to_owned(), "{\"secret\" :\n \"...\"}".to_owned()),
        ("{\"secret\":\"cut o".to_owned(), "{\"secret\":\"...".to_owned()),
        ("{\"secret\":\"cut o\\".to_owned(), "{\"secret\":\"...".to_owned()),
        (
            "{\"secret\":\"\",\"secret\":null,\"secret\"".to_owned(),
            "{\"secret\":\"\",\"secret\":null,\"secret\"".to_owned(),
        ),
        (r#"{"secret":["abc", "]"],"id":1}"#.to_owned(), r#"{"secret":[...],"id":1}"#.to_owned()),
        (
            r#"{"secret": {"a": [{"b": "}\"}"}], "secret": "c"}, "id": 1}"#.to_owned(),
            r#"{"secret": {...}, "id": 1}"#.to_owned(),
        ),
        (
            r#"{"secret":123,"a":{"secret":-1.5e3}}"#.to_owned(),
            r#"{"secret":...,"a":{"secret":...}}"#.to_owned(),
        ),
        (
            r#"[{"secret":true}, {"secret": abc }]"#.to_owned(),
            r#"[{"secret":...}, {"secret": ... }]"#.to_owned(),
        ),
        (r#"{"secret":[["cut o"#.to_owned(), r#"{"secret":[..."#.to_owned()),
        (r#"{"secret":{"a":"cut o\"#.to_owned(), r#"{"secret":{..."#.to_owned()),
        (r#"{"secret":12"#.to_owned(), r#"{"secret":..."#.to_owned()),
        (
            r#"{"secret":[],"secret":{},"secret":,"secret":null}"#.to_owned(),
            r#"{"secret":[],"secret":{},"secret":,"secret":null}"#.to_owned(),
        ),
        ("a whsec_ and whsec_x!".to_owned(), "a whsec_ and whsec_...!".to_owned()),
        (format!("?a={}&b=1", key.replace('_', "%5f")), format!("?a={prefix}...&b=1")),
        (format!("%70et_{}.", &key[4..]), format!("{prefix}....")),
        (format!("{{\"a\":\"pet\\u005F{}\"}}", &key[4..]), format!("{{\"a\":\"{prefix}...\"}}")),
        ("?s=whsec_ab%2Fcd%2Bef%3D&b=1".to_owned(), "?s=whsec_...&b=1".to_owned()),
        (r#"{"a":"whsec_ab\/cd="}"#.to_owned(), r#"{"a":"whsec_..."}"#.to_owned()),
        (r#"{"s\u0065cret":"ab"}"#.to_owned(), r#"{"s\u0065cret":"..."}"#.to_owned()),
        ("http://me:pw@h/p?a=b@c".to_owned(), "http://...@h/p?a=b@c".to_owned()),
        ("http://me:50%@h/".to_owned(), "http://...@h/".to_owned()),
        ("http://me@h".to_owned(), "http://...@h".to_owned()),
        ("http://me:p@w%2F%40x@h, ftp://h/@".to_owned(), "http://...@h, ftp://h/@".to_owned()),
        (r#"{"url":"https:\/\/me:p\u0040@h\/p"}"#.to_owned(), r#"{"url":"https:\/\/...@h\/p"}"#.to_owned()),
        ("?u=https%3A%2F%2Fme%3Apw%40h%2Fp%40".to_owned(), "?u=https%3A%2F%2F...%40h%2Fp%40".to_owned()),
        (
            "a://b c@d http://h:80 @ me@example.com".to_owned(),
            "a://b c@d http://h:80 @ me@example.com".to_owned(),
        ),
        ("100%, %5, %zz, \\u00, \\u00zz".to_owned(), "100%, %5, %zz, \\u00, \\u00zz".to_owned()),
    ] {
        assert_eq!(shown(&text), expected, "{text}");
    }
}

#[test]
fn headers_with_credentials_keep_the_scheme_and_the_prefix_of_a_key() {
    let key = ApiKey::from_entropy([9; 32]);
    let (key, prefix) = (key.reveal(), key.display_prefix());
    for (name, value, expected) in [
        ("authorization", format!("Bearer {key}"), format!("Bearer {prefix}...")),
        ("authorization", "Basic dXNlcjpwYXNz".to_owned(), "Basic ...".to_owned()),
        ("authorization", "opaque".to_owned(), "...".to_owned()),
        ("authorization", "Bearer ".to_owned(), "Bearer ".to_owned()),
        ("authorization", "Bearer pet_short".to_owned(), "Bearer pet_short...".to_owned()),
        ("x-api-key", key.to_owned(), format!("{prefix}...")),
        ("x-api-key", "another service's".to_owned(), "...".to_owned()),
        ("x-api-key", String::new(), String::new()),
        ("x-api-key", format!("{key}, {key}"), "...".to_owned()),
        ("cookie", "session=abc".to_owned(), "...".to_owned()),
        ("x-auth-token", "another service's".to_owned(), "...".to_owned()),
        ("api-key", key.to_owned(), format!("{prefix}...")),
        ("idempotency-key", "order-1".to_owned(), "order-1".to_owned()),
        ("referer", format!("http://x/?k={key}"), format!("http://x/?k={prefix}...")),
        ("accept", "*/*".to_owned(), "*/*".to_owned()),
        ("x-authorization", "Bearer abc".to_owned(), "Bearer ...".to_owned()),
        ("x-vault-token", "abc".to_owned(), "...".to_owned()),
        ("set-cookie", "session=abc; Path=/".to_owned(), "...".to_owned()),
        (
            "referer",
            "https://me:pw@h/?accessToken=abc&b=1".to_owned(),
            "https://...@h/?accessToken=...&b=1".to_owned(),
        ),
        ("host", "me:pw@localhost:80".to_owned(), "...@localhost:80".to_owned()),
        ("host", "localhost:80".to_owned(), "localhost:80".to_owned()),
        ("webhook-signature", "v1,abc=".to_owned(), "v1,abc=".to_owned()),
    ] {
        assert_eq!(masked_header(name, value.as_bytes()), expected.as_bytes(), "{name}: {value}");
    }
}

#[test]
fn a_key_that_was_cut_off_shows_no_more_than_its_prefix() {
    let key = ApiKey::from_entropy([7; 32]);
    let (key, prefix) = (key.reveal(), key.display_prefix());
    for len in [KeyPrefix::LEN + 1, KeyPrefix::LEN + 5, 40, key.len()] {
        let text = format!("a {}", &key[..len]);
        assert_eq!(masked_part(text.as_bytes()), format!("a {prefix}...").as_bytes(), "{len}");
    }
    for text in [&key[..KeyPrefix::LEN], "pet_foodstuffs is food"] {
        assert_eq!(masked_part(text.as_bytes()), text.as_bytes());
    }
}

#[test]
fn a_target_shows_no_credentials_in_its_query() {
    let key = ApiKey::from_entropy([7; 32]);
    let (key, prefix) = (key.reveal(), key.display_prefix());
    for (target, expected) in [
        (format!("/v1/pets?api_key={key}&limit=1"), format!("/v1/pets?api_key={prefix}...&limit=1")),
        (format!("/v1/{key}?access_token=a"), format!("/v1/{prefix}...?access_token=...")),
        ("/v1/pets?".to_owned(), "/v1/pets?".to_owned()),
        ("/v1/pets?token=&token&a=b".to_owned(), "/v1/pets?token=&token&a=b".to_owned()),
        ("/v1/pets?X-Api-Key=a?b&c".to_owned(), "/v1/pets?X-Api-Key=...&c".to_owned()),
        ("*".to_owned(), "*".to_owned()),
        (
            "/v1/pets?access%5Ftoken=a&AccessToken=b".to_owned(),
            "/v1/pets?access%5Ftoken=...&AccessToken=...".to_owned(),
        ),
        ("http://me:pw@h/v1/pets".to_owned(), "http://...@h/v1/pets".to_owned()),
        ("me:pw@h:443".to_owned(), "...@h:443".to_owned()),
    ] {
        assert_eq!(masked_target(&target), expected);
    }
}

#[test]
fn the_places_of_secrets_are_found_without_reading_each_character() {
    let key = ApiKey::from_entropy([7; 32]);
    let parts = [
        key.reveal(),
        "pet_",
        "whsec_",
        "MfKQ9r8G+/=",
        "_",
        "p",
        "w",
        "\"secret\"",
        "\"secret",
        "\"",
        ":",
        "null",
        "[",
        "]",
        "://",
        "https://h",
        "me:pw",
        "@",
        "/",
        " ",
        "\u{1f430}",
    ];
    let mut state = 1_u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    let mut masked = 0;
    for _ in 0..20_000 {
        let text: String = (0..below(14)).map(|_| parts[below(parts.len())]).collect();
        let text = text.as_bytes();
        for (is_cut, has_urls) in [(false, true), (true, true), (true, false)] {
            let (quick, slow) =
                (mask(text, is_cut, has_urls), mask_at(0..text.len(), text, is_cut, has_urls));
            assert_eq!(quick, slow, "{}", String::from_utf8_lossy(text));
            masked += usize::from(slow != text);
        }
    }
    assert!(masked > 10_000, "{masked}");
}
