//! A shop of one's own as the baseline of a reset, which is the same for a petstore in this process and for the program.

use std::path::PathBuf;

use petstore_testing::{Builder, Petstore, TestingError};
use serde_json::Value;

const SHOP: &str = r#"{"category":{"name":"Newts","id":7}}
{"pet":{"name":"Nina","categoryId":7,"status":"available","id":40}}
{"inventoryItem":{"petId":40,"quantity":1,"status":"available"}}
"#;

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().into()
}

/// The names of all pets.
fn names(shop: &Petstore) -> Vec<String> {
    let answer = agent().get(format!("{}/pets", shop.url())).header("X-API-Key", shop.key()).call();
    let body = answer.unwrap().body_mut().read_to_string().unwrap();
    let pets: Vec<Value> = serde_json::from_str(&body).unwrap();
    pets.iter().map(|pet| pet["name"].as_str().unwrap().to_owned()).collect()
}

/// Creates a pet, and returns its id.
fn create(shop: &Petstore, name: &str) -> u64 {
    let request = agent().post(format!("{}/pets", shop.url())).header("X-API-Key", shop.key());
    let request = request.header("Content-Type", "application/json");
    let mut answer = request.send(format!(r#"{{"name": "{name}", "categoryId": 7}}"#)).unwrap();
    let pet: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
    pet["id"].as_u64().unwrap()
}

/// A file with the shop, which is removed with its value.
struct ShopFile(PathBuf);

impl ShopFile {
    fn write(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("petstore-{name}-{}.ndjson", std::process::id()));
        std::fs::write(&path, SHOP).unwrap();
        Self(path)
    }
}

impl Drop for ShopFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(crate) async fn baseline(name: &str, builder: Builder) {
    let file = ShopFile::write(name);
    let shop = builder.clone().shop(&file.0).start().await.unwrap();
    assert_eq!((names(&shop), create(&shop, "Nele")), (vec!["Nina".to_owned()], 41));
    shop.reset().await.unwrap();
    assert_eq!(names(&shop), ["Nina"]);

    // The present shop becomes the baseline, and another one that is given.
    create(&shop, "Nele");
    let saved = shop.save_baseline().await.unwrap();
    assert_eq!((saved.categories, saved.pets, saved.orders), (1, 2, 0));
    create(&shop, "Nora");
    shop.reset().await.unwrap();
    assert_eq!(names(&shop), ["Nina", "Nele"]);
    let put = shop.put_baseline(r#"{"category":{"name":"Toads","id":1}}"#).await.unwrap();
    assert_eq!((put.categories, put.pets), (1, 0));
    assert_eq!(names(&shop).len(), 2);
    shop.reset().await.unwrap();
    assert_eq!(names(&shop), [""; 0]);

    // A wrong line changes nothing.
    let refused = shop.put_baseline(format!("{SHOP}{{\"pet\":{{}}}}\n")).await.unwrap_err();
    assert!(refused.to_string().contains("line 4"), "{refused}");
    assert!(shop.baseline().await.unwrap().contains("Toads"));
    shop.drop_baseline().await.unwrap();
    shop.reset().await.unwrap();
    assert_eq!(names(&shop), ["Nina"]);
    assert_eq!(shop.baseline().await.unwrap().lines().count(), 3);

    for wrong in [builder.clone().shop("/nowhere/shop.ndjson"), builder.demo(2).shop(&file.0)] {
        let started = wrong.start().await;
        let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
        assert!(why.contains("/nowhere/shop.ndjson") || why.contains("demo"), "{why}");
    }
}
