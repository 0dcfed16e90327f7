//! Bodies are read as they were written, damage is an error, and the bytes of the format do not change.

use std::ops::ControlFlow;

use petstore_domain::*;
use petstore_event_codec::{Body, BodyError, FORMAT, is_empty_in, read};
use proptest::prelude::*;

fn order(number: u64) -> Order {
    Order {
        ship_date: Some(Timestamp::MAX),
        complete: true,
        ..Order::new(
            OrderId::new(number).unwrap(),
            PetId::new(ID_MAX - number).unwrap(),
            OrderQuantity::new(10_000).unwrap(),
        )
    }
}

fn pet(name: &str) -> Pet {
    let name = PetName::parse(name).unwrap();
    Pet::new(PetId::FIRST, name, CategoryId::FIRST, PetStatus::Sold)
}

fn category(description: Option<&str>) -> Category {
    let description = description.map(|text| Description::parse(text).unwrap());
    Category { description, ..Category::new(CategoryId::FIRST, CategoryName::parse("Dogs").unwrap()) }
}

fn ban() -> KeyBan {
    KeyBan {
        key: KeyId::new(3).unwrap(),
        account: AccountId::new(5).unwrap(),
        label: KeyLabel::parse("").unwrap(),
        until: Timestamp::MIN,
    }
}

/// An event of each kind, with values at the bounds of their ranges.
fn all() -> Vec<Happening> {
    let long = "é".repeat(NAME_MAX);
    let item = InventoryItem { pet_id: PetId::FIRST, quantity: u64::MAX, status: PetStatus::Available };
    let before = Category {
        description: Some(Description::parse(&"🦤".repeat(DESCRIPTION_MAX)).unwrap()),
        ..Category::new(CategoryId::FIRST, CategoryName::parse(&long).unwrap())
    };
    let renamed = Pet {
        name: PetName::parse(&long).unwrap(),
        category_id: CategoryId::new(ID_MAX).unwrap(),
        ..pet("Rex")
    };
    let earlier = |ship_date| Box::new(Previous::between(&Order { ship_date, ..order(2) }, &order(2)));
    let events = vec![
        Happening::OrderPlaced(order(1)),
        Happening::OrderUpdated { order: order(2), previous: earlier(Some(Timestamp::MIN)) },
        Happening::OrderUpdated { order: order(2), previous: earlier(None) },
        Happening::OrderCompleted(order(3)),
        Happening::OrderCancelled(Order { ship_date: None, ..order(ID_MAX - 1) }),
        Happening::PetCreated(pet("Rex")),
        Happening::PetStatusChanged { pet: pet(&long), previous: PetStatus::Pending },
        Happening::PetUpdated { pet: pet("Rex"), previous: Box::new(Previous::none(&pet("Rex"))) },
        Happening::PetUpdated {
            pet: pet("Rex"),
            previous: Box::new(Previous::between(&renamed, &pet("Rex"))),
        },
        Happening::PetDeleted(pet("Rex")),
        Happening::CategoryCreated(category(Some(""))),
        Happening::CategoryUpdated {
            category: category(None),
            previous: Box::new(Previous::between(&before, &category(None))),
        },
        Happening::CategoryUpdated {
            category: category(Some("Barks")),
            previous: Box::new(Previous::between(&category(None), &category(Some("Barks")))),
        },
        Happening::CategoryDeleted(category(None)),
        Happening::InventoryUpdated {
            item,
            previous: Previous::between(
                &InventoryItem { quantity: 0, status: PetStatus::Sold, ..item },
                &item,
            ),
        },
        Happening::KeyBanned(ban()),
        Happening::KeyUnbanned(ban()),
        Happening::WebhookDisabled(WebhookStop {
            webhook: WebhookId::from_bits(u128::MAX),
            account: AccountId::new(5).unwrap(),
            reason: DisabledReason::FellBehind,
        }),
    ];
    for kind in EventKind::ALL {
        assert!(events.iter().any(|event| event.kind() == kind), "{kind} is among them");
    }
    events
}

type Seen = Vec<(u64, Timestamp, Happening)>;

/// Reads a body of this many events. The first event has the position `first`.
fn seen(body: &[u8], first: u64, events: u64, filter: &EventFilter) -> Result<Seen, BodyError> {
    let mut seen = Vec::new();
    let position = |number| Position::new(number).unwrap();
    read(body, position(first)..=position(first + events - 1), filter, &mut |position, at, happening| {
        seen.push((position.get(), at, happening));
        ControlFlow::Continue(())
    })?;
    Ok(seen)
}

#[test]
fn events_of_every_kind_come_back_with_their_positions_and_times() {
    let mut body = Body::new();
    assert_eq!(seen(body.as_bytes(), 1, 0, &EventFilter::ALL), Ok(Vec::new()));
    body.push(Timestamp::EPOCH, &[]);
    assert_eq!(body, Body::new(), "a decision without events leaves no trace");
    body.push(Timestamp::EPOCH, &all());
    body.push(Timestamp::MAX, &all()[..1]);
    let mut expected: Seen = (5..).zip(all()).map(|(n, event)| (n, Timestamp::EPOCH, event)).collect();
    expected.push((5 + all().len() as u64, Timestamp::MAX, all().remove(0)));
    assert_eq!(body.events() as usize, expected.len());
    assert_eq!(seen(body.as_bytes(), 5, expected.len() as u64, &EventFilter::ALL), Ok(expected));
    body.clear();
    assert_eq!(body, Body::new());
}

#[test]
fn only_the_events_that_pass_are_handed_over_and_keep_their_positions() {
    let mut body = Body::new();
    body.push(Timestamp::EPOCH, &all());
    for kind in EventKind::ALL {
        for account in [None, AccountId::new(5).ok(), AccountId::new(6).ok()] {
            let mut kinds = EventKinds::default();
            kinds.add(kind);
            let filter = EventFilter { kinds, account };
            let events = body.events().into();
            let mut expected = seen(body.as_bytes(), 1, events, &EventFilter::ALL).unwrap();
            expected.retain(|(_, _, happening)| filter.admits(happening));
            assert_eq!(seen(body.as_bytes(), 1, events, &filter), Ok(expected), "{kind} for {account:?}");
        }
    }
}

#[test]
fn a_reader_that_breaks_off_gets_no_further_event() {
    let mut body = Body::new();
    body.push(Timestamp::EPOCH, &all());
    let mut count = 0;
    let positions = Position::START..=Position::new(all().len() as u64 - 1).unwrap();
    read(body.as_bytes(), positions, &EventFilter::ALL, &mut |_, _, _| {
        count += 1;
        if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(count, 3);
}

/// The bytes of format 1. Data files contain them, so a change of the bytes needs a new format byte.
#[test]
fn the_format_is_pinned() {
    let order = Order::new(OrderId::new(300).unwrap(), PetId::new(2).unwrap(), OrderQuantity::ONE);
    let item = InventoryItem { pet_id: PetId::new(2).unwrap(), quantity: 6, status: PetStatus::Available };
    let before = Previous::between(&InventoryItem { quantity: 7, ..item }, &item);
    let mut body = Body::in_form(1);
    let at = Timestamp::from_millis(1_000).unwrap();
    body.push(at, &[Happening::OrderPlaced(order), Happening::InventoryUpdated { item, previous: before }]);
    body.push(at, &[Happening::PetDeleted(pet("Rex"))]);
    let expected = [
        1, 0xD0, 0x0F, 2, 0, 0xAC, 2, 2, 1, 0, 0, 11, 2, 6, 0, 1, 7, 0, 0xD0, 0x0F, 1, 7, 1, 3, b'R', b'e',
        b'x', 1, 2,
    ];
    assert_eq!(body.as_bytes(), expected);
}

#[test]
fn a_body_in_another_format_or_with_a_kind_that_is_not_known_is_refused() {
    assert_eq!(seen(&[FORMAT + 1, 0, 0], 1, 1, &EventFilter::ALL), Err(BodyError::UnknownFormat(FORMAT + 1)));
    assert!(matches!(seen(&[], 1, 1, &EventFilter::ALL), Err(BodyError::Damaged(_))));
    let kinds = u8::try_from(EventKind::ALL.len()).unwrap();
    assert!(matches!(
        seen(&[FORMAT, 0, 1, kinds, 1, 1], 1, 1, &EventFilter::ALL),
        Err(BodyError::Damaged(_))
    ));
}

#[test]
fn a_body_with_another_number_of_events_than_positions_is_damaged() {
    let mut body = Body::new();
    body.push(Timestamp::EPOCH, &all());
    body.push(Timestamp::MAX, &all());
    let events = u64::from(body.events());
    assert_eq!(seen(body.as_bytes(), 5, events, &EventFilter::ALL).unwrap().len() as u64, events);
    for wrong in [0, 1, events / 2, events - 1, events + 1, 2 * events] {
        let read = seen(body.as_bytes(), 5, wrong, &EventFilter::ALL);
        let Err(BodyError::Damaged(text)) = read else { panic!("{wrong}: {read:?}") };
        assert!(text.contains(&format!("{wrong} positions")), "{text}");
    }
    let count = [FORMAT, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
    assert!(matches!(seen(&count, 1, 1, &EventFilter::ALL), Err(BodyError::Damaged(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_events_or_damage_and_never_a_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..64),
        events in 0_u64..4,
    ) {
        bytes.insert(0, FORMAT);
        _ = seen(&bytes, 1, events, &EventFilter::ALL);
    }

    #[test]
    fn a_cut_body_is_damaged(cut in 1_usize..10_000) {
        let mut body = Body::new();
        for event in all() {
            body.push(Timestamp::EPOCH, &[event]);
        }
        let cut = cut.min(body.as_bytes().len() - 1);
        let read = seen(&body.as_bytes()[..cut], 1, body.events().into(), &EventFilter::ALL);
        prop_assert!(matches!(read, Err(BodyError::Damaged(_))), "{read:?}");
    }
}

/// Events of all kinds whose records are samples, with the old values of another sample.
fn samples() -> Vec<Happening> {
    let mut events = Vec::new();
    for (before, after) in Sample::ALL.into_iter().flat_map(|before| Sample::ALL.map(|after| (before, after)))
    {
        fn previous<R: Members + Clone>(before: Sample, after: &R) -> Previous<R> {
            Previous::between(&sample(before), after)
        }
        let (order, pet, category): (Order, Pet, Category) = (sample(after), sample(after), sample(after));
        let item: InventoryItem = sample(after);
        events.extend([
            Happening::OrderPlaced(order.clone()),
            Happening::OrderUpdated { previous: Box::new(previous(before, &order)), order },
            Happening::PetCreated(pet.clone()),
            Happening::PetUpdated { previous: Box::new(previous(before, &pet)), pet },
            Happening::CategoryCreated(category.clone()),
            Happening::CategoryUpdated { previous: Box::new(previous(before, &category)), category },
            Happening::InventoryUpdated { previous: previous(before, &item), item },
        ]);
    }
    events
}

#[test]
fn each_member_of_a_record_and_each_old_value_comes_back() {
    let mut body = Body::new();
    body.push(Timestamp::EPOCH, &samples());
    let read = seen(body.as_bytes(), 1, body.events().into(), &EventFilter::ALL).unwrap();
    assert_eq!(read.into_iter().map(|(.., happening)| happening).collect::<Vec<_>>(), samples());
}

#[test]
fn an_older_form_has_the_members_that_it_knows_and_no_others() {
    for form in 1..=petstore_event_codec::VERSION {
        let pet: Pet = sample(Sample::Fullest);
        let known: Pet =
            sample_by(|member| if member.since <= form { Sample::Fullest } else { Sample::Least });
        let mut body = Body::in_form(form);
        body.push(Timestamp::EPOCH, &[Happening::PetCreated(pet), Happening::OrderPlaced(order(1))]);
        assert_eq!(body.as_bytes()[0], u8::try_from(form).unwrap());
        let read = seen(body.as_bytes(), 1, 2, &EventFilter::ALL).unwrap();
        assert_eq!(read[0].2, Happening::PetCreated(known), "in form {form}");
        assert_eq!(read[1].2, Happening::OrderPlaced(order(1)));
    }
}

#[test]
fn an_update_is_empty_in_the_forms_before_the_only_member_that_it_tells() {
    for form in 1..=petstore_event_codec::VERSION {
        for entry in Pet::MEMBERS.iter().filter(|entry| entry.member.change == MemberChange::Updated) {
            let after: Pet = sample(Sample::Fullest);
            let mut before = after.clone();
            (entry.copy)(&mut before, &sample(Sample::Least));
            let previous = Box::new(Previous::between(&before, &after));
            let happening = Happening::PetUpdated { pet: after, previous };
            let Member { json, since, .. } = entry.member;
            assert_eq!(is_empty_in(form, &happening), since > form, "{json} in form {form}");
        }
    }
}
