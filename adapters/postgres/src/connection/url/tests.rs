use std::path::Path;

use petstore_remote_connection::Roots;

use super::*;

fn target(url: &str) -> Target {
    Target::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

#[test]
fn a_url_names_hosts_a_database_and_a_schema() {
    for (url, shown) in [
        ("postgres://pets@db.example/shop", "postgres://pets@db.example/shop?schema=petstore"),
        ("postgresql://pets@a,b:5433/shop?schema=blue", "postgres://pets@a,b:5433/shop?schema=blue"),
        ("POSTGRES://pets@[::1]:5433/shop", "postgres://pets@[::1]:5433/shop?schema=petstore"),
        (
            "postgres://pets@/shop?host=/run/pg&port=5433",
            "postgres://pets@/shop?host=/run/pg&port=5433&schema=petstore",
        ),
        (
            "postgres://pets@db/shop?target_session_attrs=read-write",
            "postgres://pets@db/shop?schema=petstore",
        ),
    ] {
        assert_eq!(target(url).to_string(), shown, "{url}");
        assert!(Target::is_url(url));
    }
    assert!(!Target::is_url("petstore.db"));
}

#[test]
fn no_form_of_a_target_shows_its_password() {
    let mut given = target("postgres://pets@db.example/shop");
    given.set_password("s3cr3t");
    for target in [
        target("postgres://pets:s3cr3t@db.example/shop"),
        target("postgres://pets@db.example/shop?password=s3cr3t"),
        target("postgres://pets:a%40s3cr3t@db.example/shop"),
        target("postgres://pets%3As3cr3t@db.example/shop"),
        given,
    ] {
        let shown = format!("{target} {target:?}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
        assert!(shown.contains("pets:***@"), "{shown}");
    }
}

#[test]
fn no_error_shows_a_password_that_is_not_encoded() {
    for url in [
        "postgres://pets:s3cr3t@more@db.example/shop",
        "postgres://pets:on@s3cr3t@db.example/shop",
        "postgres://pets:one/s3cr3t@db.example/shop",
        "postgres://pets:one?s3cr3t=x@db.example/shop",
        "postgres://pets:one?s3cr3t@db.example/shop",
        "postgres://pets:one@s3cr3t/more?@db.example/shop",
    ] {
        let why = Target::parse(url).unwrap_err().to_string();
        assert!(why.contains("percent-encoded") && !why.contains("s3cr3t"), "{url}: {why}");
    }
    for url in
        ["postgres://db/shop?password=a&s3cr3t=b", "postgres://db/shop?password=a&password_of_s3cr3t=b"]
    {
        let why = Target::parse(url).unwrap_err().to_string();
        assert!(why.contains("an unknown parameter; expected") && !why.contains("s3cr3t"), "{url}: {why}");
    }
    let why = Target::parse("postgres://pets:s3cr3t@db:port/shop").unwrap_err().to_string();
    assert!(why.contains("port") && !why.contains("s3cr3t"), "{why}");
}

#[test]
fn unknown_and_wrong_parameters_are_named() {
    for (parameters, named) in [
        ("sslmod=require", "\"sslmod\""),
        ("connect_timeout=10", "\"connect_timeout\""),
        ("sslmode=allow", "sslmode can be"),
        ("sslmode=require&sslrootcert=ca.pem", "sslrootcert needs"),
        ("target_session_attrs=any", "target_session_attrs"),
        ("schema=pg_pets", "schema must"),
        ("schema=a%22b", "schema must"),
        ("schema=Pets", "schema must"),
        ("schema=", "schema must"),
        ("channel_binding=maybe", "channel_binding"),
        ("user", "no value"),
    ] {
        let why = Target::parse(&format!("postgres://db/shop?{parameters}")).unwrap_err().to_string();
        assert!(why.contains(named), "{parameters}: {why}");
    }
    assert!(Target::parse("postgres:///shop").unwrap_err().to_string().contains("no host"));
    assert!(Target::parse("mysql://db/shop").unwrap_err().to_string().contains("postgres://"));
}

#[test]
fn a_remote_host_is_verified_unless_the_url_says_otherwise() {
    let system = |url: &str| target(url).roots() == Roots::System;
    for url in ["postgres://db.example/x", "postgres://localhost,db.example/x", "postgres://192.0.2.1/x"] {
        assert!(system(url), "{url}");
        assert_eq!(target(url).encryption().1, None);
    }
    // The address is what is connected to.
    assert!(system("postgres://localhost/x?hostaddr=192.0.2.1"));
    for url in [
        "postgres://localhost/x",
        "postgres://127.0.0.1,[::1]/x",
        "postgres:///x?host=/run/pg",
        "postgres://db.example/x?hostaddr=127.0.0.1",
    ] {
        assert_eq!(target(url).roots(), Roots::NotNeeded, "{url}");
        assert_eq!(target(url).encryption(), ("none, to this machine", None));
    }
    let named = target("postgres://127.0.0.1/x?sslrootcert=%2Fetc%2Fca.pem");
    assert_eq!(named.roots(), Roots::File(Path::new("/etc/ca.pem")));
    // As in libpq, this is no file.
    assert!(system("postgres://127.0.0.1/x?sslrootcert=system"));
    assert!(system("postgres://db.example/x?sslmode=verify-full&sslrootcert=system"));
    let why = Target::parse("postgres://db.example/x?sslmode=verify-ca&sslrootcert=system").unwrap_err();
    assert!(why.to_string().contains("sslrootcert=system needs sslmode=verify-full"), "{why}");
}

#[test]
fn each_weaker_mode_has_a_warning_that_names_it() {
    for mode in ["disable", "prefer", "require", "verify-ca"] {
        let target = target(&format!("postgres://db.example/x?sslmode={mode}"));
        let (_, warning) = target.encryption();
        assert!(warning.is_some_and(|warning| warning.contains(&format!("sslmode={mode}"))), "{mode}");
    }
    assert_eq!(target("postgres://db.example/x?sslmode=verify-full").encryption().1, None);
}
