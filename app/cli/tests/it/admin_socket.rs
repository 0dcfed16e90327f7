//! Answers of another process that listens at the admin socket, and text in them that a terminal would interpret.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;

use petstore_test_servers::system::{give, is_root, run_as, set_mode};
use serde_json::{Value, json};

use crate::common::{BINARY, Site, admin_channel, tools};

/// Control sequences that clear the screen (in two forms), set the title of the window, and reverse the direction of
/// text.
const EVIL: &str = "\u{1b}[2J\u{9b}2J\u{1b}]0;x\u{7}\u{202e}\r\u{8}evil";

/// Answers every client of this socket with the same lines.
fn answer_with(site: &Site, lines: &[String]) {
    let socket = site.folder.join("evil.sock");
    let _ = fs::remove_file(&socket);
    let listener = admin_channel::Listener::bind(socket);
    let said: String = lines.iter().map(|line| line.clone() + "\n").collect();
    // The thread ends with the process of the test.
    thread::spawn(move || {
        loop {
            let mut client = listener.accept();
            let mut asked = String::new();
            let _ = BufReader::new(&client).read_line(&mut asked);
            let _ = client.write_all(said.as_bytes());
        }
    });
}

fn key() -> Value {
    json!({"id": 1, "prefix": EVIL, "account": EVIL, "plan": EVIL, "label": format!("{EVIL}\n2"), "scopes": [EVIL],
           "state": EVIL, "createdAt": EVIL, "expiresAt": EVIL})
}

/// Returns a line of JSON in which the control characters are not escaped.
fn raw(line: &Value) -> String {
    line.to_string().replace("\\u001b", "\u{1b}").replace("\\u0007", "\u{7}")
}

#[test]
fn control_characters_in_answers_do_not_reach_a_terminal() {
    if !tools::can_run("script", "--version") {
        return;
    }
    let site = Site::new("evil-answers");
    let secret = site.new_key();
    let account = json!({"id": 1, "name": EVIL, "plan": EVIL, "createdAt": EVIL});
    let refused = json!({"answer": "refused", "why": EVIL});
    let replaced = json!({"id": 2, "expiresAt": EVIL, "isCutShort": true});
    let created =
        |secret: &str| json!({"answer": "created", "secret": secret, "key": key(), "replaced": replaced});
    let ready = json!({"answer": "ready"});
    let exported = [
        ready.to_string(),
        raw(&json!({"pet": EVIL})),
        json!({"answer": "exported", "lines": 1}).to_string(),
    ];
    for (command, lines) in [
        ("keys list", vec![json!({"answer": "keys", "keys": [key()], "more": false}).to_string()]),
        ("keys list --json", vec![json!({"answer": "keys", "keys": [key()], "more": false}).to_string()]),
        ("keys show 1", vec![json!({"answer": "key", "key": key()}).to_string()]),
        ("keys show 1 --json", vec![json!({"answer": "key", "key": key()}).to_string()]),
        ("keys rotate 1", vec![created(&secret).to_string()]),
        ("keys rotate 1 --quiet", vec![created(&secret).to_string()]),
        ("keys rotate 1 --json", vec![created(&secret).to_string()]),
        ("keys create", vec![created(&format!("{secret}{EVIL}")).to_string()]),
        ("keys create --quiet", vec![created(&format!("{secret}{EVIL}")).to_string()]),
        ("keys create --json", vec![created(&format!("{secret}{EVIL}")).to_string()]),
        (
            "accounts list",
            vec![json!({"answer": "accounts", "accounts": [account], "more": false}).to_string()],
        ),
        ("reload", vec![json!({"answer": "reloaded", "lines": [EVIL]}).to_string()]),
        ("reload --json", vec![json!({"answer": "reloaded", "lines": [EVIL]}).to_string()]),
        ("keys revoke 1", vec![refused.to_string()]),
        ("import /dev/null", vec![ready.to_string(), refused.to_string()]),
        ("export -", vec![ready.to_string(), refused.to_string()]),
        ("export -", exported.to_vec()),
    ] {
        answer_with(&site, &lines);
        let args = format!("{command} --admin-socket evil.sock");
        let shown = site.on_terminal(&args, &[("NO_COLOR", "1")]);
        let acts = |sign: char| sign != '\n' && (sign.is_control() || sign == '\u{202e}');
        assert!(!shown.contains(acts), "{command}: {shown:?}");
        let is_refused_whole = command.starts_with("keys create");
        assert_eq!(shown.contains("evil"), !is_refused_whole, "{command}: {shown:?}");
        assert_eq!(shown.contains("unexpected answer"), is_refused_whole, "{command}: {shown:?}");
    }
    // The JSON output has the unchanged values.
    answer_with(&site, &[json!({"answer": "key", "key": key()}).to_string()]);
    let shown = site.run(&["keys", "show", "1", "--json", "--admin-socket", "evil.sock"]);
    assert_eq!(serde_json::from_slice::<Value>(&shown.stdout).unwrap()["account"], EVIL);
}

const NOBODY: u32 = 65_534;

#[test]
fn commands_send_nothing_to_another_user_s_server_unless_it_owns_the_data() {
    let mut site = Site::new("other-user");
    let folder = site.folder.join("theirs");
    fs::create_dir(&folder).unwrap();
    if !is_root() {
        tools::skips::skip("only root may start a server of another user");
        return;
    }
    give(&folder, NOBODY, NOBODY);
    // The binary is copied, because other users may not read the build folder. A child process makes the copy, because
    // a file that is open for writing cannot be run. If this process made the copy, a process that another test starts
    // meanwhile could inherit the open descriptor.
    let program = site.folder.join("petstore");
    assert!(Command::new("cp").arg(BINARY).arg(&program).status().unwrap().success());
    set_mode(&site.folder, 0o755);
    let mut server = Command::new(&program);
    server.args(["--listen", &format!("127.0.0.1:{}", site.port)]).current_dir(&folder);
    let mut server =
        run_as(&mut server, NOBODY, NOBODY).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(log.any(|line| line.contains("serving")));
    site.server = Some(server);
    thread::spawn(move || log.for_each(drop));

    let socket = ["--admin-socket", "theirs/petstore.db.sock"];
    for args in [&["keys", "create"][..], &["reload"], &["export", "-"], &["import", "/dev/null"]] {
        let refused = site.run(&[args, &socket].concat());
        let why = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{args:?}: {why}");
        let said = "a process of user 65534 listens at theirs/petstore.db.sock, which is neither your user nor root, nor the owner of petstore.db";
        assert!(why.contains(said) && why.contains("nothing was sent to it"), "{args:?}: {why}");
        assert_eq!(refused.stdout, b"", "{args:?}");
    }
    // A server that runs as the owner of the data file is accepted.
    let listed = site.run(&["keys", "list", "--json", "--db", "theirs/petstore.db"]);
    let why = String::from_utf8_lossy(&listed.stderr);
    assert_eq!(listed.status.code(), Some(0), "{why}");
    let keys: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(keys.as_array().unwrap().len(), 1, "none was made by those that were refused: {keys}");
}
