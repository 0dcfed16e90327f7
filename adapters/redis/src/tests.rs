//! Tests of the quotas, most of them on a Redis server.

mod batches;
mod lost_script;
mod model;
mod nodes;
mod random_requests;
mod test_link;

use tokio::task::JoinHandle;

/// Runs a future on a runtime of one thread, as a thread of the server has it.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// The results of tasks, in their order.
async fn joined<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.await.expect("the task ends"));
    }
    results
}
