//! Samples of all resources come back, and the texts do not change.

use petstore_domain::{Sample, Version, Versioned, sample, sample_by};

use super::*;

fn versioned<R: Members>(of: Sample) -> Versioned<R> {
    Versioned { value: sample(of), version: Version::FIRST }
}

#[test]
fn each_member_of_each_resource_comes_back() {
    for of in Sample::ALL {
        for outcome in [
            Outcome::Pet(versioned(of)),
            Outcome::Category(versioned(of)),
            Outcome::Order(versioned(of)),
            Outcome::Item(versioned(of)),
        ] {
            assert_eq!(parse(&write(&outcome)).unwrap(), outcome);
        }
    }
}

#[test]
fn an_older_form_has_the_members_that_it_knows() {
    for form in 1..4 {
        let text = write_in(form, &Outcome::Pet(versioned(Sample::Fullest)));
        let value = sample_by(|member| if member.since <= form { Sample::Fullest } else { Sample::Least });
        assert_eq!(parse(&text).unwrap(), Outcome::Pet(Versioned { value, version: Version::FIRST }));
    }
}

/// Data files and databases contain these texts.
#[test]
fn the_texts_of_the_first_form_are_pinned() {
    for (outcome, text) in [
        (
            Outcome::Pet(versioned(Sample::Smallest)),
            r#"{"pet":{"id":1,"name":"a","category_id":1,"status":"available","version":1}}"#,
        ),
        (
            Outcome::Category(versioned(Sample::Least)),
            r#"{"category":{"id":1,"name":"a","description":null,"version":1}}"#,
        ),
        (
            Outcome::Order(versioned(Sample::Smallest)),
            r#"{"order":{"id":1,"pet_id":1,"quantity":1,"ship_date":"0001-01-01T00:00:00.000Z","complete":false,"version":1}}"#,
        ),
        (
            Outcome::Item(versioned(Sample::Least)),
            r#"{"item":{"pet_id":1,"quantity":0,"status":"available","version":1}}"#,
        ),
    ] {
        assert_eq!(write_in(1, &outcome), text);
    }
}

#[test]
fn what_is_no_outcome_is_refused() {
    for text in [
        "[]",
        "{}",
        r#"{"pet":1}"#,
        r#"{"dog":{}}"#,
        r#"{"pet":{"id":1,"name":"a","category_id":1,"status":"available"}}"#,
        r#"{"pet":{"id":1,"name":"a","category_id":1,"status":"available","version":1,"colour":"red"}}"#,
        r#"{"item":{"pet_id":"1","quantity":0,"status":"available","version":1}}"#,
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), "is not a known outcome", "{text}");
    }
}
