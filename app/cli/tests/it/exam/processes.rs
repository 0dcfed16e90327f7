//! The processes of a command: it hangs, leaves others behind, or is interrupted.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{ExamFolder, text};
use crate::common::tools;

/// Sends one request, so that the scenario is judged.
const ONE: &str = "curl -s -o /dev/null $PETSTORE_URL/pets?limit=1 -H X-API-Key:$PETSTORE_KEY";

/// Returns whether a process of the file with its number lives.
fn lives(folder: &Path, name: &str) -> bool {
    let pid = std::fs::read_to_string(folder.join(name)).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_command_that_hangs_is_ended_with_all_its_processes() {
    let folder = ExamFolder::new("exam-hangs");
    // One process ignores the request to end, and one has left the group and its parent.
    let script = format!(
        "{ONE}; sh -c 'trap \"\" TERM; echo $$ >stubborn; while :; do sleep 1; done' &\n\
         setsid sh -c 'echo $$ >apart; exec sleep 600' &\nsleep 600"
    );
    let done = folder.run(&["--scenario", "calm", "--timeout", "1s"], &["sh", "-c", &script]);
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    assert!(text(&done.stdout).contains("was stopped after "), "{done:?}");
    for name in ["stubborn", "apart"] {
        assert!(!lives(&folder.0.folder, name), "{name}");
    }
    // Where the command may fail, that is a part of the report.
    let script = format!("{ONE}; exec sleep 600");
    let done = folder.run(&["--scenario", "busy", "--timeout", "1s"], &["sh", "-c", &script]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}

#[test]
fn processes_that_a_command_leaves_behind_are_ended() {
    let folder = ExamFolder::new("exam-orphans");
    let script = format!(
        "{ONE}; (sleep 600 & echo $! >member)\nsetsid sh -c 'echo $$ >apart; exec sleep 600' >/dev/null 2>&1 &\n\
         until [ -s apart ]; do sleep 0.02; done"
    );
    let done = folder.run(&["--scenario", "calm"], &["sh", "-c", &script]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(text(&done.stdout).contains("The command left 2 processes behind"), "{done:?}");
    for name in ["member", "apart"] {
        assert!(!lives(&folder.0.folder, name), "{name}");
    }
}

#[test]
fn an_interrupted_exam_ends_its_command_and_reports() {
    let folder = ExamFolder::new("exam-interrupted");
    let script = format!("{ONE}; echo $$ >member; exec sleep 600");
    let flags = ["--scenario", "calm", "--scenario", "grown", "--report", "exam.json"];
    let mut command = folder.command(&flags, &["sh", "-c", &script]);
    let exam = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let has_begun = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        folder.0.folder.join("member").exists()
    });
    assert!(has_begun, "the command has not started within a minute");
    assert!(Command::new("kill").args(["-INT", &exam.id().to_string()]).status().unwrap().success());
    let done = exam.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{done:?}");
    assert!(text(&done.stdout).ends_with("The exam was interrupted.\n"), "{done:?}");
    assert!(!lives(&folder.0.folder, "member"));
    let exam = folder.json("exam.json");
    assert_eq!((exam["scenarios"].as_array().unwrap().len(), &exam["interrupted"]), (1, &true.into()));
}

#[test]
fn a_terminal_shows_the_running_scenario() {
    if !tools::can_run("script", "--version") {
        return;
    }
    let folder = ExamFolder::new("exam-terminal");
    folder.write("client.sh", &format!("{ONE}; sleep 0.3"));
    let shown = folder.0.on_terminal("exam --scenario calm -- sh client.sh", &[]);
    assert!(shown.contains("calm [") && shown.contains("] 0."), "{shown:?}");
    assert!(shown.contains("petstore: calm: ") && shown.contains("SCENARIO"), "{shown:?}");
}
