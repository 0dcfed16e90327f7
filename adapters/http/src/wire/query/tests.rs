//! Queries against the rules of their parameters.

use proptest::prelude::*;

use super::*;
use crate::wire::error::Code;

const EPOCH: u64 = 3;

fn pets(query: &str) -> Result<Listing<PetFilter>, ApiError> {
    list_pets(Some(query), EPOCH)
}

/// Returns `field code` of each fault.
fn faults<T: std::fmt::Debug>(parsed: Result<T, ApiError>) -> String {
    let error = parsed.expect_err("refused");
    assert_eq!(error.code, Code::InvalidParameter, "{error:?}");
    let details: Vec<_> =
        error.details.iter().map(|detail| format!("{} {}", detail.field, detail.code)).collect();
    details.join(",")
}

fn next(links: &str) -> &str {
    let (_, next) = links.split_once("first\", <http://h/pets?").expect("there is a next page");
    next.strip_suffix(">; rel=\"next\"").expect("it is the last one")
}

#[test]
fn without_parameters_a_list_shows_its_first_page() {
    for query in [None, Some(""), Some("&"), Some("&&&")] {
        let listing = list_pets(query, EPOCH).unwrap();
        assert_eq!(listing.filter, PetFilter::default());
        assert_eq!(listing.page, PageRequest { order: SortDirection::Ascending, after: None, limit: 20 });
        assert_eq!(list_categories(query, EPOCH).unwrap().page.limit, 100);
        assert_eq!(list_orders(query, EPOCH).unwrap().page.limit, 100);
        assert_eq!(list_inventory(query, EPOCH).unwrap().page.limit, 100);
        assert_eq!(no_parameters(query), Ok(()));
    }
}

#[test]
fn reads_every_parameter() {
    let listing =
        pets("limit=5&sort=-id&status=available,sold&status=sold&categoryId=2&name=+%52e%78%20&id=3,1&id=3")
            .unwrap();
    assert_eq!(listing.page, PageRequest { order: SortDirection::Descending, after: None, limit: 5 });
    let filter = listing.filter;
    assert!(filter.statuses.admits(PetStatus::Available) && filter.statuses.admits(PetStatus::Sold));
    assert!(!filter.statuses.admits(PetStatus::Pending));
    assert_eq!(filter.category_id.map(CategoryId::get), Some(2));
    assert!(filter.name.unwrap().matches("REX"));
    assert_eq!(filter.ids.unwrap().iter().map(|id| id.get()).collect::<Vec<_>>(), [1, 3]);

    let orders = list_orders(Some("petId=10&complete=false"), EPOCH).unwrap().filter;
    assert_eq!((orders.pet_id.map(PetId::get), orders.complete), (Some(10), Some(false)));
    let inventory = list_inventory(Some("petId=10%2C11&status=sold"), EPOCH).unwrap().filter;
    assert_eq!(inventory.ids.unwrap().len(), 2);
    let categories = list_categories(Some("name=H%c3%BChner"), EPOCH).unwrap().filter;
    assert!(categories.name.unwrap().matches("hühner"));
    // These characters are not valid in a URI, but some clients send them.
    assert!(list_categories(Some("name=Hühner"), EPOCH).unwrap().filter.name.unwrap().matches("HÜHNER"));
}

#[test]
fn every_fault_is_reported_with_its_parameter() {
    let long_name = format!("name={}", "x".repeat(101));
    let many_ids = format!("id={}1", "1,".repeat(100));
    let many_parameters = "status=sold&".repeat(257);
    let cases = [
        ("limit=", "limit invalid_format"),
        ("limit", "limit invalid_format"),
        ("limit=0", "limit out_of_range"),
        ("limit=101", "limit out_of_range"),
        ("limit=99999999999999999999999", "limit out_of_range"),
        ("limit=05", "limit invalid_format"),
        ("limit=%2B5", "limit invalid_format"),
        ("limit=-1", "limit invalid_format"),
        ("limit=5.0", "limit invalid_format"),
        ("limit=+5", "limit invalid_format"),
        ("limit=5&limit=5", "limit repeated_parameter"),
        ("cursor=a&cursor=a", "cursor repeated_parameter"),
        ("sort=", "sort unknown_value"),
        ("sort=ID", "sort unknown_value"),
        ("sort=name", "sort unknown_value"),
        ("status=", "status unknown_value"),
        ("status=available,", "status unknown_value"),
        ("status=available&status=", "status unknown_value"),
        ("status=Sold", "status unknown_value"),
        ("status[]=sold", "status[] unknown_parameter"),
        ("categoryId=", "categoryId invalid_format"),
        ("categoryId=abc", "categoryId invalid_format"),
        ("categoryId=1,2", "categoryId invalid_format"),
        ("categoryId=0", "categoryId out_of_range"),
        ("categoryId=9007199254740992", "categoryId out_of_range"),
        ("name=", "name too_short"),
        ("name=+%09", "name too_short"),
        ("name=a%00b", "name invalid_character"),
        (&long_name, "name too_long"),
        ("id=", "id invalid_format"),
        ("id=1,,2", "id invalid_format"),
        ("id=1,0", "id out_of_range"),
        ("id=1+2", "id invalid_format"),
        (&many_ids, "id too_long"),
        (&many_parameters, " too_long"),
        ("name=%", "name invalid_format"),
        ("name=%4", "name invalid_format"),
        ("name=%zz", "name invalid_format"),
        ("name=%ff", "name invalid_format"),
        ("name=%C3", "name invalid_format"),
        ("status=%ed%a0%80", "status invalid_format"),
        ("%ff=1", "%ff invalid_format"),
        ("=1", " unknown_parameter"),
        ("=", " unknown_parameter"),
        ("Limit=5", "Limit unknown_parameter"),
        ("api_key=x&api_key=y", "api_key unknown_parameter"),
        ("a%0ab=%", "a\u{FFFD}b unknown_parameter"),
        (
            "limit=0&colour=red&sort=x&%25=",
            "limit out_of_range,sort unknown_value,colour unknown_parameter,% unknown_parameter",
        ),
        ("limit=5;sort=id", "limit invalid_format"),
        ("limit=5?sort=id", "limit invalid_format"),
        // A cursor is parsed only if all other parameters are valid.
        ("cursor=x&limit=0", "limit out_of_range"),
    ];
    for (query, expected) in cases {
        assert_eq!(faults(pets(query)), expected, "{query}");
    }
    for query in ["complete=", "complete=1", "complete=TRUE", "complete=true,false"] {
        assert_eq!(faults(list_orders(Some(query), EPOCH)), "complete unknown_value", "{query}");
    }
    assert_eq!(faults(list_orders(Some("petId=1&petId=2"), EPOCH)), "petId repeated_parameter");
    assert_eq!(faults(list_inventory(Some("id=1"), EPOCH)), "id unknown_parameter");
    assert_eq!(faults(no_parameters(Some("verbose"))), "verbose unknown_parameter");
}

#[test]
fn a_hundred_values_are_accepted_in_any_notation() {
    let ids = (1..=100).map(|id| id.to_string()).collect::<Vec<_>>();
    for query in [format!("id={}", ids.join(",")), format!("id={}", ids.join("&id="))] {
        assert_eq!(pets(&query).unwrap().filter.ids.unwrap().len(), 100);
        assert_eq!(faults(pets(&format!("{query}&id=1"))), "id too_long");
    }
}

#[test]
fn messages_read_as_sentences() {
    let error = pets("limit=0&colour=").unwrap_err();
    assert_eq!(
        error.message,
        "2 parameters are not valid: limit must be between 1 and 100; it is 0; colour is not a parameter of this operation."
    );
    assert_eq!(error.details[0].message, "limit must be between 1 and 100; it is 0.");
    assert_eq!(error.details[1].message, "colour is not a parameter of this operation.");
    assert_eq!(
        pets("a").unwrap_err().message,
        "1 parameter is not valid: a is not a parameter of this operation."
    );
}

#[test]
fn a_cursor_continues_with_the_same_filters_and_any_limit() {
    let listing = pets("limit=2&status=sold&status=pending&name=%20R%26x%20").unwrap();
    assert_eq!(
        listing.links("http://h", "/pets", None),
        r#"<http://h/pets?limit=2&status=sold%2Cpending&name=R%26x>; rel="first""#
    );
    let links = listing.links("http://h", "/pets", Some(7));
    let followed = pets(next(&links)).unwrap();
    assert_eq!(followed.page, PageRequest { after: Some(7), ..listing.page });
    assert_eq!(followed.filter, listing.filter);
    assert_eq!(followed.links("http://h", "/pets", Some(7)), links);

    let cursor = next(&links).split_once("cursor=").unwrap().1.to_owned();
    let same = |query: &str| pets(&format!("{query}&cursor={cursor}")).map_err(|error| error.code);
    assert_eq!(same("status=pending,sold,sold&name=r%26X&limit=50").unwrap().page.after, Some(7));
    for query in
        ["", "status=sold&name=r%26x", "status=sold,pending", "status=sold,pending&name=R%26x&sort=-id"]
    {
        assert_eq!(same(query), Err(Code::InvalidCursor), "{query}");
    }
    for query in ["cursor=", "cursor", "cursor=%zz", "cursor=é"] {
        assert_eq!(pets(query).map_err(|error| error.code), Err(Code::InvalidCursor), "{query}");
    }
    let elsewhere = list_pets(Some(next(&links)), EPOCH + 1);
    assert_eq!(elsewhere.map_err(|error| error.code), Err(Code::InvalidCursor));
}

#[test]
fn a_link_omits_insignificant_white_space() {
    let listing = pets(&format!("name={}x", "+".repeat(8_000))).unwrap();
    assert_eq!(listing.links("http://h", "/pets", None), r#"<http://h/pets?name=x>; rel="first""#);
}

/// Runs every parser on one query. An error must be within the bounds of the published schema.
fn try_all(query: &str) -> Result<(), TestCaseError> {
    let query = Some(query);
    let errors = [
        list_pets(query, EPOCH).err(),
        list_categories(query, EPOCH).err(),
        list_orders(query, EPOCH).err(),
        list_inventory(query, EPOCH).err(),
        no_parameters(query).err(),
    ];
    for error in errors.into_iter().flatten() {
        prop_assert_eq!(error.code == Code::InvalidParameter, !error.details.is_empty());
        for detail in error.details {
            prop_assert!(detail.field.chars().count() <= 200 && !detail.field.contains(char::is_control));
            prop_assert!(
                detail.message.chars().count() <= 1_000 && !detail.message.contains(char::is_control)
            );
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_query_makes_a_parser_panic(query in "\\PC{0,60}") {
        try_all(&query)?;
    }

    #[test]
    fn nothing_that_looks_like_a_query_makes_a_parser_panic(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "limit", "cursor", "sort", "status", "name", "id", "petId", "complete", "&", "=", ",", "%", "%41", "%zz", "%c3",
            "+", "-id", "sold", "5", "true", "é", "\0",
        ]), 0..12),
    ) {
        try_all(&pieces.concat())?;
    }

    #[test]
    fn a_next_link_leads_to_the_same_filter(name in "\\PC{1,100}", limit in 1..=100_usize, id in 1..1_000_u64) {
        let mut query = format!("limit={limit}");
        links::push_parameter(&mut query, "name", &name);
        if let Ok(listing) = pets(&query) {
            let followed = pets(next(&listing.links("http://h", "/pets", Some(id)))).unwrap();
            prop_assert_eq!(followed.filter, listing.filter);
            prop_assert_eq!((followed.page.limit, followed.page.after), (limit, Some(id)));
        }
    }
}
