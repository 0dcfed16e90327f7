//! Tests of the conditional headers.

use proptest::prelude::*;

use super::*;

const EPOCH: u64 = 0x1f;

fn versions(numbers: &[u64]) -> Precondition {
    Precondition::AnyOf(numbers.iter().map(|number| Version::new(*number).unwrap()).collect())
}

fn headers(name: &HeaderName, values: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    headers
}

#[test]
fn if_match_selects_versions_of_this_epoch() {
    assert_eq!(if_match(&HeaderMap::new(), EPOCH), Ok(None));
    let cases: &[(&[&[u8]], Precondition)] = &[
        (&[b"*"], Precondition::Exists),
        (&[b" * "], Precondition::Exists),
        (&[b"\"1f-1\""], versions(&[1])),
        (&[b"\"1f-1\",\"1f-a\" ,\t\"1f-ffffffffffffffff\""], versions(&[1, 10, u64::MAX])),
        (&[b", ,\"1f-1\",,\"1f-2\", "], versions(&[1, 2])),
        (&[b"\"1f-1\"", b"\"1f-2\", \"1f-3\""], versions(&[1, 2, 3])),
        (&[b"\"1f-1\"", b""], versions(&[1])),
        // A weak tag, a tag of another epoch, and a malformed tag match no version.
        (&[b"W/\"1f-1\""], versions(&[])),
        (
            &[b"\"1e-1\", \"01f-1\", \"1F-1\", \"1f-0\", \"1f-01\", \"1f-\", \"-1\", \"1f1\", \"\""],
            versions(&[]),
        ),
        (&[b"\"1f-1-1\", \"1f-11111111111111111\", \"1f,1\", \"\\\", \"\xC3\xA9\""], versions(&[])),
        (&[b"\"*\""], versions(&[])),
    ];
    for (values, expected) in cases {
        assert_eq!(if_match(&headers(&IF_MATCH, values), EPOCH), Ok(Some(expected.clone())), "{values:?}");
    }
}

#[test]
fn if_match_and_if_none_match_of_a_change_are_combined() {
    let none_of = |versions| match versions {
        Precondition::AnyOf(versions) => Precondition::NoneOf(versions),
        other => other,
    };
    let cases = [
        (Precondition::None, &b"\"1f-1\", W/\"1f-2\", \"1e-3\""[..], none_of(versions(&[1, 2]))),
        (Precondition::Exists, b"\"1f-1\"", none_of(versions(&[1]))),
        (Precondition::Exists, b"\"other\"", none_of(versions(&[]))),
        (versions(&[1, 2]), b"\"1f-2\"", versions(&[1])),
        (Precondition::Required, b"\"1f-2\"", Precondition::Required),
        (Precondition::None, b"*", Precondition::Absent),
        (versions(&[1]), b"*", Precondition::Absent),
        (Precondition::Required, b"*", Precondition::Required),
    ];
    for (stated, value, expected) in cases {
        let headers = headers(&IF_NONE_MATCH, &[value]);
        assert_eq!(unless_known(&headers, EPOCH, stated.clone()), Ok(expected), "{stated:?} {value:?}");
    }
    assert_eq!(unless_known(&HeaderMap::new(), EPOCH, versions(&[1])), Ok(versions(&[1])));
    assert!(unless_known(&headers(&IF_NONE_MATCH, &[b"1f-1"]), EPOCH, Precondition::None).is_err());
}

#[test]
fn a_malformed_list_of_tags_is_refused() {
    let cases: &[&[&[u8]]] = &[
        &[b""],
        &[b","],
        &[b"1f-1"],
        &[b"\"1f-1"],
        &[b"1f-1\""],
        &[b"\""],
        &[b"w/\"1f-1\""],
        &[b"W/ \"1f-1\""],
        &[b"W/"],
        &[b"W/*"],
        &[b"\"a b\""],
        &[b"\"a\tb\""],
        &[b"\"a\" \"b\""],
        &[b"\"a\"\"b\""],
        &[b"\"a\";\"b\""],
        &[b"*, \"a\""],
        &[b"\"a\", *"],
        &[b"**"],
        &[b"*", b"*"],
        &[b"*", b"\"a\""],
        &[b"*", b""],
        &[b"\"a", b"b\""],
    ];
    for values in cases {
        let error = if_match(&headers(&IF_MATCH, values), EPOCH).unwrap_err();
        assert_eq!(error.message, "If-Match must be a list of entity tags or an asterisk.", "{values:?}");
        let error = if_none_match(&headers(&IF_NONE_MATCH, values)).unwrap_err();
        assert_eq!(error.code, Code::InvalidHeader);
        assert_eq!(error.message, "If-None-Match must be a list of entity tags or an asterisk.");
    }
}

#[test]
fn if_none_match_compares_weakly() {
    let resource = EntityTag::strong(EPOCH, Version::FIRST);
    let list = EntityTag::weak(0xabc);
    assert!(!if_none_match(&HeaderMap::new()).unwrap().matches(&resource));
    let cases: &[(&[&[u8]], bool, bool)] = &[
        (&[b"*"], true, true),
        (&[b"\"1f-1\""], true, false),
        (&[b"W/\"1f-1\""], true, false),
        (&[b"\"x\", \"1f-1\""], true, false),
        (&[b"\"x\"", b"W/\"0000000000000abc\""], false, true),
        (&[b"\"0000000000000abc\""], false, true),
        (&[b"\"1f-2\", \"1f-11\", \"1e-1\", \"\""], false, false),
    ];
    for (values, matches_resource, matches_list) in cases {
        let headers = headers(&IF_NONE_MATCH, values);
        let condition = if_none_match(&headers).unwrap();
        assert_eq!(condition.matches(&resource), *matches_resource, "{values:?}");
        assert_eq!(condition.matches(&list), *matches_list, "{values:?}");
    }
}

proptest! {
    #[test]
    fn a_tag_matches_its_own_version_alone(epoch: u64, other: u64, number in 1..=u64::MAX) {
        let version = Version::new(number).unwrap();
        let tag = EntityTag::strong(epoch, version);
        let headers = headers(&IF_MATCH, &[tag.as_bytes()]);
        prop_assert_eq!(if_match(&headers, epoch), Ok(Some(Precondition::AnyOf(vec![version]))));
        let expected = if other == epoch { vec![version] } else { vec![] };
        prop_assert_eq!(if_match(&headers, other), Ok(Some(Precondition::AnyOf(expected))));
    }

    #[test]
    fn no_value_makes_it_panic(value in proptest::collection::vec(
        proptest::sample::select(b"W/\"*, \t1f-a\x80~".to_vec()), 0..20,
    )) {
        let headers = headers(&IF_MATCH, &[&value]);
        let _either = if_match(&headers, EPOCH);
    }
}
