//! A reset of the sandbox while the command runs.

use super::{CURL, ExamFolder, text};
use crate::common::{BINARY, Site};

/// A part of the failure of an exam whose sandbox was reset.
const FAILURE: &str = "the sandbox was reset while the command ran in the scenario ";

#[test]
fn a_command_that_resets_its_sandbox_fails_the_exam() {
    let folder = ExamFolder::new("exam-reset");
    for query in ["", "?journal=keep"] {
        // Its six identical attempts without a pause break a rule, if they are judged.
        let script = format!("set -- 6; curl -s -X POST \"$PETSTORE_SANDBOX/reset{query}\"; {CURL}");
        let done = folder.run(&["--scenario", "overload"], &["sh", "-c", &script]);
        assert_eq!(done.status.code(), Some(1), "{query}: {done:?}");
        let told = format!("{FAILURE}overload, so it cannot be judged: leave POST /sandbox/reset out");
        assert!(text(&done.stderr).contains(&told), "{query}: {done:?}");
        assert_eq!(text(&done.stdout), "", "{query}");
    }
}

#[test]
fn an_exam_that_another_one_resets_fails() {
    let mut site = Site::new("exam-reset-url");
    site.serve(&["--db", "memory", "--sandbox", "--demo", "3"], &[]);
    let url = format!("http://127.0.0.1:{}/v1", site.port);
    // The second run has another exam in it, which begins and ends meanwhile.
    let other =
        format!("\"{BINARY}\" exam --url \"$PETSTORE_URL\" --scenario calm -- sh -c 'set -- 1; {CURL}'");
    let script = format!("set -- 1; {CURL}; [ ! -e begun ] || {other} || exit 9; touch begun");
    let flags = ["--scenario", "calm", "--scenario", "grown", "--report", "exam.json"];
    let done = site.run(&[&["exam", "--url", &url], &flags[..], &["--", "sh", "-c", &script]].concat());
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(text(&done.stderr).contains(&format!("{FAILURE}grown, ")), "{done:?}");
    let shown = text(&done.stdout);
    assert!(shown.contains("\ncalm ") && shown.ends_with("\nThe exam was interrupted.\n"), "{done:?}");
}
