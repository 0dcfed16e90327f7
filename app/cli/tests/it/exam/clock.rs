//! The clock of a scenario stands still until the client has to wait.

use serde_json::Value;

use super::ExamFolder;

#[test]
fn the_clock_runs_from_the_answer_on_that_leaves_nothing() {
    let folder = ExamFolder::new("exam-clock");
    // Each request is followed by the clock, which needs no key.
    let script = r#"for n in 1 2 3; do
        curl -s -o /dev/null "$PETSTORE_URL/categories/1" -H "X-API-Key: $PETSTORE_KEY"; curl -s "$PETSTORE_SANDBOX/clock"; echo
        done"#;
    let done = folder.run(&["--scenario", "busy", "--report", "exam.json"], &["sh", "-c", script]);
    let exam = folder.json("exam.json");
    let busy = &exam["scenarios"][0];
    let clocks = busy["output"].as_str().unwrap().lines().map(|line| serde_json::from_str(line).unwrap());
    let clocks: Vec<Value> = clocks.collect();
    let frozen: Vec<_> = clocks.iter().map(|clock| clock["frozen"].as_bool().unwrap()).collect();
    assert_eq!(frozen, [true, false, false], "{done:?}");
    assert!(clocks[0]["now"].as_str().unwrap().ends_with(":57.500Z"), "{clocks:?}");
    assert_eq!(clocks[0]["freezeFor"], busy["keyPrefix"]);
    let requests = busy["requests"].as_array().unwrap().iter();
    let statuses: Vec<_> = requests.map(|one| one["answer"]["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 200, 429]);
}
