//! The reports of an exam, in the form that the ending of a file names.

mod html;
mod junit;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use super::examined::Exam;
use super::judgement::FailOn;
use crate::failure::Failure;

pub(super) use text::text;

/// A file for a report.
#[derive(Debug, Clone)]
pub(super) struct ReportFile {
    path: PathBuf,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    JUnit,
    Json,
    Text,
    Html,
}

impl ReportFile {
    /// Parses the path of a report.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let form = match ending {
            Some("xml") => Form::JUnit,
            Some("json") => Form::Json,
            Some("txt") => Form::Text,
            Some("html") => Form::Html,
            _ => return Err("expected a file that ends with .xml (JUnit), .html, .json or .txt".to_owned()),
        };
        Ok(Self { path, form })
    }

    /// Writes the report.
    pub(super) fn write(&self, exam: &Exam, fail_on: FailOn) -> Result<(), Failure> {
        let body = match self.form {
            Form::JUnit => junit::junit(exam, fail_on),
            Form::Json => json(exam)?,
            Form::Text => text(exam),
            Form::Html => html::html(exam),
        };
        fs::write(&self.path, body).map_err(|error| self.unwritten(&error))
    }

    /// Checks that the folder exists, and that the file is none itself, before the exam begins.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.path.is_dir() {
            return Err(Failure::usage(format!("{}: it is a folder", self.path.display())));
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match fs::metadata(folder.unwrap_or(Path::new("."))) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(Failure::usage(format!("{}: its folder is a file", self.path.display()))),
            Err(error) => Err(Failure::usage(format!("{}: its folder: {error}", self.path.display()))),
        }
    }

    fn unwritten(&self, error: &std::io::Error) -> Failure {
        Failure::because(format!("cannot write {}: {error}", self.path.display()))
    }
}

fn json(exam: &Exam) -> Result<String, Failure> {
    let json = serde_json::to_string_pretty(exam).map_err(|error| Failure::because(error.to_string()))?;
    Ok(format!("{json}\n"))
}
