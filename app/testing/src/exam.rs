//! The exam of a client.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::TestingError;
use crate::exam_process::{ExamProcess, ExamShop};
use crate::exam_report::ExamReport;
use crate::petstore::Petstore;

/// The exam of a client: it works in one scenario after the other, and is judged. The scenarios and the judge are those of the
/// program, as `petstore exam` has them.
///
/// ```no_run
/// # use petstore_testing::Exam;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), petstore_testing::TestingError> {
/// let exam = Exam::new("petstore").scenario("lost-answers").scenario("busy");
/// let report = exam
///     .run(async |shop| {
///         // The client under test works here.
///         ureq::get(format!("{}/pets", shop.url)).header("X-API-Key", &shop.key).call().map(drop)
///     })
///     .await?;
/// assert!(report.is_passed(), "{report}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is examined before it runs"]
pub struct Exam {
    binary: PathBuf,
    arguments: Vec<OsString>,
}

impl Exam {
    /// An exam in all built-in scenarios, by this program `petstore`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), arguments: vec![] }
    }

    /// Adds a scenario: the name of one that is built in, or a file that ends with `.toml`. An exam has only those that are added.
    pub fn scenario(self, scenario: impl AsRef<OsStr>) -> Self {
        let scenario = scenario.as_ref();
        let path = Path::new(scenario);
        let is_file = path.extension().is_some_and(|end| end == "toml") || path.components().count() > 1;
        self.argument("--scenario", if is_file { absolute(path).into_os_string() } else { scenario.into() })
    }

    /// Begins each scenario with the shop in this file, the lines of `petstore import`, instead of a hundred demonstration pets.
    pub fn shop(self, file: impl AsRef<Path>) -> Self {
        self.argument("--sandbox-shop", absolute(file.as_ref()).into_os_string())
    }

    /// Examines on this petstore, which is reset before each scenario, instead of on one that the exam starts.
    pub fn on(self, shop: &Petstore) -> Self {
        self.argument("--url", shop.url().into())
    }

    /// Lets the client work in each scenario. An error that it returns is a part of the report. If the future is dropped before its end,
    /// the exam removes its faults, key and clock from the petstore of [`Exam::on`].
    ///
    /// # Errors
    /// The program cannot be started, or refuses a scenario; its message says why.
    pub async fn run<E: fmt::Display>(
        self,
        mut client: impl AsyncFnMut(ExamShop) -> Result<(), E>,
    ) -> Result<ExamReport, TestingError> {
        let mut process = ExamProcess::start(self.binary, self.arguments).await?;
        while let Some(step) = process.next_step().await? {
            let ended = client(step).await;
            process.end_step(ended.map_err(|error| error.to_string())).await?;
        }
        process.report().await
    }

    /// Adds a flag with its value. The program runs in another folder.
    fn argument(mut self, flag: &str, value: OsString) -> Self {
        let mut argument = OsString::from(format!("{flag}="));
        argument.push(value);
        self.arguments.push(argument);
        self
    }
}

fn absolute(path: &Path) -> PathBuf {
    // Only an empty path has none, and the program names it.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
