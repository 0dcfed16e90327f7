//! Many tasks that begin at the same moment.

use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinHandle;

/// Runs `count` tasks, which begin together when the last of them is ready. Returns their answers, in the order of
/// their numbers.
pub(crate) async fn together<T, F>(count: usize, task: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let start = Arc::new(Barrier::new(count));
    let tasks: Vec<JoinHandle<T>> = (0..count)
        .map(|number| {
            let (start, work) = (Arc::clone(&start), task(number));
            tokio::spawn(async move {
                start.wait().await;
                work.await
            })
        })
        .collect();
    let mut answers = Vec::with_capacity(count);
    for task in tasks {
        answers.push(joined(task).await);
    }
    answers
}

/// The answer of a task. If the task has panicked, the caller panics with the same payload, so that the case fails.
pub(crate) async fn joined<T>(task: JoinHandle<T>) -> T {
    match task.await {
        Ok(answer) => answer,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
