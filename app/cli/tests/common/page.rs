//! Markdown pages whose commands are run as they are printed.
//!
//! A page is run by one shell in an empty folder, from top to bottom. A `sh` block must succeed. A `text` block right
//! after it is the expected output, in which `…` matches anything. A block whose fence names a file, such as `python
//! conftest.py`, is written to that file when the shell arrives at it, as a reader would paste it. Other blocks are
//! ignored.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use petstore_test_servers::system::{own_group, set_mode, symlink};

use super::{BINARY, Site, free_port, tools};

/// The maximum number of steps for which a page may run, and the length of a step.
const STEPS: u32 = 12_000;
const STEP: Duration = Duration::from_millis(10);

/// The host of the servers in the pages.
const HOST: &str = "127.0.0.1:";

/// The ports of the servers in the pages.
const PORTS: [u16; 12] = [8080, 8081, 8082, 8443, 8000, 9000, 8001, 9001, 8002, 9002, 8003, 9003];

/// A line that the shell prints after the output of each block.
const MARK: &str = "--- end of block";

/// A fenced block.
pub struct Block {
    /// The text after the fence.
    pub kind: String,
    pub text: String,
}

/// Returns the fenced blocks of a page, and the prose between them, line by line.
pub fn split(page: &str) -> (Vec<Block>, Vec<&str>) {
    let (mut blocks, mut prose): (Vec<Block>, Vec<&str>) = (vec![], vec![]);
    let mut is_inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) => {
                if !is_inside {
                    blocks.push(Block { kind: kind.to_owned(), text: String::new() });
                }
                is_inside = !is_inside;
            }
            None if is_inside => writeln!(blocks.last_mut().unwrap().text, "{line}").unwrap(),
            None => prose.push(line),
        }
    }
    assert!(!is_inside, "a block has no end");
    (blocks, prose)
}

/// Returns whether a line matches the expected one, in which `…` matches anything.
pub fn fits(line: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut ends_open = false;
    for part in parts {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
        ends_open = part.is_empty();
    }
    ends_open || rest.is_empty()
}

/// Panics if a block's output differs from the expected one.
pub fn assert_printed(command: &str, printed: &str, expected: &str) {
    assert_printed_with(command, printed, expected, String::new);
}

/// Panics if a block's output differs from the expected one. The message ends with the logs.
fn assert_printed_with(command: &str, printed: &str, expected: &str, logs: impl FnOnce() -> String) {
    let printed: Vec<_> = printed.trim().lines().map(str::trim_end).collect();
    let expected: Vec<_> = expected.trim().lines().collect();
    let same = printed.len() == expected.len() && printed.iter().zip(&expected).all(|(a, b)| fits(a, b));
    let (printed, expected) = (printed.join("\n"), expected.join("\n"));
    assert!(same, "{command}\nprinted\n{printed}\nand not\n{expected}\n{}", logs());
}

/// Returns the folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The surroundings of a page that needs more than the petstore.
#[derive(Default)]
pub struct Surroundings {
    /// Ports of the page with the ports that take their place. Every other port of a server gets a free one.
    pub ports: Vec<(u16, u16)>,
    /// Other texts of the page and their replacements.
    pub texts: Vec<(&'static str, String)>,
    /// Variables of the shell.
    pub variables: Vec<(&'static str, OsString)>,
    /// Programs that come before those of the machine: their names and their scripts.
    pub programs: Vec<(&'static str, String)>,
}

impl Surroundings {
    /// Adapts the text of a page. Ports are replaced in addresses, and at the end of a line after the word `port`.
    fn settle(&self, text: String) -> String {
        let text = self.texts.iter().fold(text, |text, (printed, used)| text.replace(printed, used));
        let given = self.ports.iter().copied();
        let others = PORTS.into_iter().filter(|port| self.ports.iter().all(|(printed, _)| printed != port));
        given.chain(others.map(|port| (port, free_port()))).fold(text, |text, (printed, used)| {
            text.replace(&format!("{HOST}{printed}"), &format!("{HOST}{used}"))
                .replace(&format!(" port {printed}\n"), &format!(" port {used}\n"))
        })
    }
}

/// Runs a page of `docs`, and returns the folder in which it ran.
pub fn run(name: &str) -> Site {
    let site = Site::new(name);
    run_in(&site, name, &Surroundings::default());
    site
}

/// Runs a page of `docs` in a folder, with its surroundings.
pub fn run_in(site: &Site, name: &str, surroundings: &Surroundings) {
    let text = fs::read_to_string(root().join("docs").join(name)).unwrap();
    // Each server gets a free port, because other pages may use the same ports.
    let text = surroundings.settle(text);
    let blocks = split(&text).0;
    // The folder is part of a checkout, whose example shop some pages import.
    symlink(root().join("docs"), site.folder.join("docs")).unwrap();
    let pasted = site.folder.join(".pasted");
    fs::create_dir(&pasted).unwrap();
    let mut script = "set -e\n".to_owned();
    for (place, block) in blocks.iter().enumerate() {
        match block.kind.split_once(' ') {
            None if block.kind == "sh" => {
                writeln!(script, "{}printf '\\n{MARK}\\n'", block.text).unwrap();
            }
            Some((_, file)) => {
                fs::write(pasted.join(place.to_string()), &block.text).unwrap();
                writeln!(script, "cp .pasted/{place} '{file}'").unwrap();
            }
            None => {}
        }
    }
    let (status, printed, errors) = Shell::run(site, &script, surroundings);
    let printed: Vec<_> = printed.split(MARK).collect();
    let mut done = printed.iter().take(printed.len() - 1);
    for (place, block) in blocks.iter().enumerate().filter(|(_, block)| block.kind == "sh") {
        let Some(printed) = done.next() else {
            let logs = logs(&site.folder);
            panic!("{name}: {status}\n{}\n{}\n{errors}\n{logs}", block.text, printed.last().unwrap());
        };
        if let Some(expected) = blocks.get(place + 1).filter(|next| next.kind == "text") {
            let command = format!("{name}\n{}", block.text);
            assert_printed_with(&command, printed, &expected.text, || logs(&site.folder));
        }
    }
    assert!(status.success(), "{name}: {status}\n{errors}");
}

/// A shell in a separate process group, so that none of its children outlives the test.
struct Shell(Child);

impl Shell {
    /// Runs a script. Returns its status, its output and its standard error.
    fn run(site: &Site, script: &str, surroundings: &Surroundings) -> (ExitStatus, String, String) {
        let own = site.folder.join(".programs");
        fs::create_dir(&own).unwrap();
        for (name, script) in &surroundings.programs {
            fs::write(own.join(name), script).unwrap();
            set_mode(own.join(name), 0o755);
        }
        let folders = [own, Path::new(BINARY).parent().unwrap().to_owned(), programs(".venv/bin")];
        let folders = folders.into_iter().chain([programs("node_modules/.bin")]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap();
        let (out, errors) = (site.folder.join(".printed"), site.folder.join(".errors"));
        let mut command = Command::new("sh");
        own_group(command.args(["-c", script]).current_dir(&site.folder));
        // Temporary files of the page's commands are in the folder, so they are removed with it.
        command.env("PATH", path).env("TMPDIR", &site.folder);
        command.envs(surroundings.variables.iter().map(|(name, value)| (name, value)));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&errors).unwrap());
        let mut shell = Self(command.spawn().unwrap());
        let status = (0..STEPS).find_map(|_| {
            std::thread::sleep(STEP);
            shell.0.try_wait().unwrap()
        });
        drop(shell);
        let (printed, errors) = (fs::read_to_string(out).unwrap(), fs::read_to_string(errors).unwrap());
        let status = status.unwrap_or_else(|| {
            panic!(
                "the commands of the page have not ended in time\n{printed}\n{errors}\n{}",
                logs(&site.folder)
            )
        });
        (status, printed, errors)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        // The whole process group is killed. After a successful page it has no process any more.
        let _ = Command::new("kill").args(["-KILL", "--", &group]).output();
        let _ = self.0.wait();
    }
}

/// Returns the last lines of each server's log.
fn logs(folder: &Path) -> String {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let ends = logs.map(|path| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(20)..];
        format!("{}\n{}\n", path.display(), last.join("\n"))
    });
    ends.collect()
}

/// Returns the folders into which `tests/tools/install` puts programs.
fn programs(folder: &str) -> PathBuf {
    let folder = tools::folder().join(folder);
    folder.canonicalize().unwrap_or(folder)
}
