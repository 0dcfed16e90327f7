//! Creating, changing and deleting categories.

mod common;

use petstore_domain::*;

use common::{
    CATEGORY_VERSION, DOGS, Shop, category, category_id, category_name, cats, description, new_category,
    only, version,
};

/// The categories Dogs, with a description, and Cats; both without pets.
fn shop() -> Shop {
    let mut dogs = category(DOGS, "Dogs");
    dogs.category.description = Some(description("They bark."));
    Shop::default().with_category(dogs).with_category(category(cats(), "Cats"))
}

fn update(name: Option<&str>, description: Patch<Description>) -> UpdateCategory {
    let patch = CategoryPatch { description, ..CategoryPatch::new(name.map(category_name)) };
    UpdateCategory { id: DOGS, patch, precondition: Precondition::None }
}

fn delete(id: CategoryId) -> DeleteCategory {
    DeleteCategory { id, precondition: Precondition::None }
}

#[test]
fn a_new_category_has_the_next_id_the_first_version_and_no_pets() {
    let mut shop = shop();
    let text = description("They swim.\nMostly.");
    let new = NewCategory { description: Some(text.clone()), ..new_category(" Fish ") };
    let created = shop.run(&CreateCategory { new }).unwrap();
    let category =
        Category { description: Some(text), ..Category::new(category_id(3), category_name("Fish")) };
    assert_eq!(created, Versioned { value: category.clone(), version: Version::FIRST });
    let record = CategoryRecord { category, version: Version::FIRST, pets: 0 };
    assert_eq!(shop.categories[&category_id(3)], record);
}

#[test]
fn rejects_a_new_category_whose_name_is_taken_in_any_case() {
    let shop = shop().with_category(category(category_id(3), "Éléphants"));
    for (name, other) in [("Dogs", 1), ("DOGS", 1), (" cAtS ", 2), ("ÉLÉPHANTS", 3), ("éléphants", 3)] {
        let create = CreateCategory { new: new_category(name) };
        let rejected = Err(CreateCategoryRejection::NameTaken(category_id(other)));
        assert_eq!(shop.decide(&create), rejected, "{name}");
    }
    assert!(shop.decide(&CreateCategory { new: new_category("Elephants") }).is_ok());
}

#[test]
fn a_patch_sets_what_it_names_and_keeps_the_rest() {
    let bark = || Some(description("They bark."));
    let fetch = || Some(description("They fetch."));
    let replaced = |new: NewCategory| UpdateCategory { patch: new.into(), ..update(None, Patch::Keep) };
    let cases = [
        (update(Some("Hounds"), Patch::Keep), "Hounds", bark()),
        (update(None, Patch::Set(description("They fetch."))), "Dogs", fetch()),
        (update(None, Patch::Clear), "Dogs", None),
        (update(Some("Hounds"), Patch::Clear), "Hounds", None),
        // A replacement without a description has none afterwards.
        (replaced(new_category("Dogs")), "Dogs", None),
        (replaced(NewCategory { description: fetch(), ..new_category("Hounds") }), "Hounds", fetch()),
    ];
    for (update, name, description) in cases {
        let mut shop = shop();
        let category = Category { description, ..Category::new(DOGS, category_name(name)) };
        let after = Versioned { value: category, version: version(CATEGORY_VERSION + 1) };
        assert_eq!(shop.run(&update), Ok(after.clone()), "{update:?}");
        assert_eq!(shop.categories[&DOGS].versioned(), after, "{update:?}");
    }
}

#[test]
fn a_patch_that_changes_nothing_writes_nothing() {
    let bark = description("They bark.");
    let same = NewCategory { description: Some(bark.clone()), ..new_category("Dogs") };
    let cases = [
        update(None, Patch::Keep),
        update(Some("Dogs"), Patch::Keep),
        update(None, Patch::Set(bark)),
        UpdateCategory { patch: same.into(), ..update(None, Patch::Keep) },
    ];
    for update in cases {
        let shop = shop();
        let unchanged = (Changes::none(), shop.categories[&DOGS].versioned());
        assert_eq!(shop.decide(&update), Ok(unchanged), "{update:?}");
    }
    let clear = UpdateCategory { id: cats(), ..update(None, Patch::Clear) };
    assert_eq!(shop().decide(&clear).map(|(changes, _)| changes), Ok(Changes::none()));
}

#[test]
fn a_category_may_write_its_own_name_in_another_case() {
    let mut shop = shop();
    let renamed = shop.run(&update(Some("DOGS"), Patch::Keep)).unwrap();
    assert_eq!(renamed.value.name.as_str(), "DOGS");
    assert_eq!(renamed.version, version(CATEGORY_VERSION + 1));
}

#[test]
fn a_change_keeps_the_count_of_pets() {
    let mut shop = common::shop(PetStatus::Available, 1, 0);
    shop.run(&update(Some("Hounds"), Patch::Keep)).unwrap();
    assert_eq!(shop.categories[&DOGS].pets, 1);
}

#[test]
fn existence_comes_before_the_precondition_before_the_name() {
    let current = version(CATEGORY_VERSION);
    let cases = [
        (category_id(9), only(1), UpdateCategoryRejection::NotFound),
        (DOGS, only(1), PreconditionError::Failed { current }.into()),
        (DOGS, Precondition::Required, PreconditionError::Required { current }.into()),
        (DOGS, only(CATEGORY_VERSION), UpdateCategoryRejection::NameTaken(cats())),
        (DOGS, Precondition::Exists, UpdateCategoryRejection::NameTaken(cats())),
    ];
    for (id, precondition, rejection) in cases {
        let update = UpdateCategory { id, precondition, ..update(Some("cats"), Patch::Clear) };
        assert_eq!(shop().decide(&update), Err(rejection), "{update:?}");
    }
}

#[test]
fn a_name_is_free_again_once_its_category_is_renamed_or_gone() {
    let create = CreateCategory { new: new_category("dogs") };
    for renamed in [true, false] {
        let mut shop = shop();
        assert_eq!(shop.run(&create), Err(CreateCategoryRejection::NameTaken(DOGS)));
        if renamed {
            shop.run(&update(Some("Hounds"), Patch::Keep)).unwrap();
        } else {
            shop.run(&delete(DOGS)).unwrap();
        }
        assert_eq!(shop.run(&create).map(|created| created.value.id), Ok(category_id(3)));
    }
}

#[test]
fn a_category_without_pets_is_deleted_once() {
    let mut shop = shop();
    let deletion = DeleteCategory { id: DOGS, precondition: only(CATEGORY_VERSION) };
    assert_eq!(shop.run(&deletion), Ok(()));
    assert!(!shop.categories.contains_key(&DOGS));
    assert_eq!(shop.run(&deletion), Err(DeleteCategoryRejection::NotFound));
}

#[test]
fn rejects_deleting_a_category_until_its_last_pet_has_left() {
    let mut shop = common::shop(PetStatus::Available, 1, 0);
    shop.run(&CreatePet { new: common::new_pet("Bella", DOGS, Some(PetStatus::Sold)) }).unwrap();
    assert_eq!(shop.run(&delete(DOGS)), Err(DeleteCategoryRejection::InUse { pets: 2 }));
    let id = common::pet_id(2);
    shop.run(&DeletePet { id, precondition: Precondition::None }).unwrap();
    assert_eq!(shop.run(&delete(DOGS)), Err(DeleteCategoryRejection::InUse { pets: 1 }));
    let patch = PetPatch { category_id: Some(cats()), ..PetPatch::default() };
    shop.run(&UpdatePet { id: common::REX, patch, precondition: Precondition::None }).unwrap();
    assert_eq!(shop.run(&delete(DOGS)), Ok(()));
    assert_eq!(shop.run(&delete(cats())), Err(DeleteCategoryRejection::InUse { pets: 1 }));
}

#[test]
fn a_stale_precondition_comes_before_the_pets_of_a_category() {
    let current = version(CATEGORY_VERSION);
    for (precondition, error) in [
        (only(1), PreconditionError::Failed { current }),
        (Precondition::Required, PreconditionError::Required { current }),
    ] {
        let rejected = Err(DeleteCategoryRejection::Precondition(error));
        let deletion = DeleteCategory { id: DOGS, precondition };
        assert_eq!(common::shop(PetStatus::Available, 1, 0).decide(&deletion), rejected);
    }
}
