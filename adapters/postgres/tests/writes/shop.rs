//! A store on a separate schema, with a pet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use petstore_domain::{
    CategoryId, CategoryName, CreateCategory, CreatePet, NewCategory, NewOrder, NewPet, Operation,
    OrderQuantity, PetId, PetName, PlaceOrder, Precondition, SetStock, StockLevel, Timestamp,
};
use petstore_ports::{StoreError, run};
use petstore_postgres::{Options, PostgresStore, Target};
use petstore_test_servers::Postgres;

/// The answer to an operation.
pub(crate) type Answer<O> = Result<Result<<O as Operation>::Output, <O as Operation>::Rejection>, StoreError>;

pub(crate) struct Shop<'s> {
    pub(crate) server: &'s Postgres,
    pub(crate) schema: String,
    pub(crate) store: Arc<PostgresStore>,
}

impl Shop<'static> {
    /// A new shop; none without PostgreSQL.
    #[track_caller]
    pub(crate) fn new() -> Option<Self> {
        Postgres::shared().map(Self::on)
    }
}

impl<'s> Shop<'s> {
    /// A new shop on a server.
    pub(crate) fn on(server: &'s Postgres) -> Self {
        let schema = server.new_schema();
        let store = open(&server.url(), &schema);
        Self { server, schema, store }
    }

    /// Another handle on the schema.
    pub(crate) fn another(&self) -> Self {
        let Self { server, schema, .. } = self;
        Self { server, schema: schema.clone(), store: open(&server.url(), schema) }
    }

    /// Runs SQL in the schema.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&format!("set search_path = {}; {sql}", self.schema))
    }

    /// Makes a category with a pet that has this stock.
    pub(crate) async fn add_pet(&self, stock: i64) -> PetId {
        let name = CategoryName::parse("Dogs").unwrap();
        let category = self.run(create_category(name.as_str())).await.unwrap();
        let category_id = category.map_or(CategoryId::FIRST, |made| made.value.id);
        let new = NewPet::new(PetName::parse("Rex").unwrap(), category_id);
        let id = self.run(CreatePet { new }).await.unwrap().unwrap().value.id;
        let level = StockLevel::new(stock).unwrap();
        self.run(SetStock { id, level, precondition: Precondition::None }).await.unwrap().unwrap();
        id
    }

    pub(crate) async fn run<O: Operation>(&self, operation: O) -> Answer<O> {
        run(&*self.store, operation, Timestamp::EPOCH).await
    }

    /// Runs operations at the same time, so that they share a batch.
    pub(crate) async fn together<O: Operation>(
        &self,
        operations: impl IntoIterator<Item = O>,
    ) -> Vec<Answer<O>> {
        join_all(operations.into_iter().map(|operation| self.run(operation))).await
    }

    /// The orders in the database, and the free stock of its pets.
    pub(crate) fn orders_and_stock(&self) -> (u64, u64) {
        let text = self.sql("select count(*), (select sum(stock) from pets) from orders");
        let (orders, stock) = text.split_once('\t').expect("two columns");
        (orders.parse().expect("a number"), stock.parse().expect("a number"))
    }
}

/// Opens a store.
pub(crate) fn open(url: &str, schema: &str) -> Arc<PostgresStore> {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let options = Options { schema: schema.to_owned(), seed: SEED.fetch_add(1, Ordering::Relaxed) };
    Arc::new(PostgresStore::open(Target::parse(url).expect("a URL"), options).expect("the store opens"))
}

pub(crate) fn create_category(name: &str) -> CreateCategory {
    CreateCategory { new: NewCategory::new(CategoryName::parse(name).unwrap()) }
}

pub(crate) fn order(pet_id: PetId, units: i64) -> PlaceOrder {
    PlaceOrder { new: NewOrder::new(pet_id, OrderQuantity::new(units).unwrap()) }
}

/// A runtime for a test.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
