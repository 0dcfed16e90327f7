//! The commands about a sandbox on the page at `/docs`, run as printed.

use std::process::Command;

use crate::common::{Client, Site, free_port, tools};

/// Returns the output of a command.
fn run(command: &str) -> String {
    let output = Command::new("sh").args(["-ec", command]).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the commands of the page, in order.
fn commands(html: &str) -> Vec<String> {
    let blocks = html.split("<pre").skip(1).map(|rest| rest.split("</pre>").next().unwrap());
    // Each piece begins inside a tag, and only the text after that tag is kept. The first piece begins inside the `pre`
    // tag.
    blocks.map(|block| block.split('<').map(|piece| piece.split_once('>').unwrap().1).collect()).collect()
}

#[test]
fn the_sandbox_does_what_its_page_says() {
    if !tools::can_run("curl", "--version") {
        return;
    }
    let ops = format!("127.0.0.1:{}", free_port());
    for apart in [&[][..], &["--ops-listen", &ops]] {
        let site = Site::served("sandbox-page", &[&["--sandbox", "--demo", "3"], apart].concat());
        let here = format!("127.0.0.1:{}", site.port);
        let commands = commands(&run(&format!("curl -sSf http://{here}/docs")));
        let there = if apart.is_empty() { &here } else { &ops };
        for command in &commands {
            assert!(command.contains(&format!(" 'http://{there}/sandbox/")), "{command}");
        }
        let [reset, turn, advance, turn_back, plan, forget] = &commands[..] else { panic!("{commands:#?}") };

        let mut client = Client::connect(site.port, &site.printed_key()).unwrap();
        let mut ask = |method: &str, path: &str| client.ask(method, path, "", "").unwrap();
        let pet = ask("GET", "/v1/pets?id=1").body;
        assert_eq!(ask("DELETE", "/v1/pets/1").status, 204);
        assert_eq!(ask("GET", "/v1/pets?id=1").body, "[]");
        assert_eq!(run(reset), "");
        assert_eq!(ask("GET", "/v1/pets?id=1").body, pet, "the shop is reset");

        assert!(run(turn).contains("\"now\":\"2030-12-05T"));
        assert_eq!(ask("GET", "/v1/pets/1").status, 410, "the sunset is over");
        assert!(run(advance).contains("\"now\":\"2030-12-06T12:"));
        assert!(run(turn_back).contains("\"frozen\":false"));
        assert_eq!(ask("GET", "/v1/pets/1").status, 200);

        for is_forgotten in [false, true] {
            assert!(run(plan).contains("\"calls\":0"));
            if is_forgotten {
                assert_eq!(run(forget), "");
            }
            let failed = ask("GET", "/v1/pets");
            assert_eq!(failed.status, if is_forgotten { 200 } else { 503 }, "{}", failed.body);
            assert_eq!(ask("GET", "/v1/pets").status, 200, "only the first call was to fail");
        }
    }
}

#[test]
fn without_a_sandbox_the_page_has_no_note() {
    if !tools::can_run("curl", "--version") {
        return;
    }
    let site = Site::served("no-sandbox-page", &["--db", "memory"]);
    let page = run(&format!("curl -sSf http://127.0.0.1:{}/docs", site.port));
    assert!(page.contains("<main") && !page.contains("sandbox"), "{page}");
}
