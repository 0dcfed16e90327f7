//! The common part of the tests: a directory for each test, and records of every kind.

#![allow(dead_code, reason = "each test file is a crate of its own and uses a part of this module")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use petstore_domain::*;
use petstore_ports::*;
use petstore_sqlite::SqliteJournal;
use petstore_test_servers::skips::skip_on_this_system;
use petstore_test_servers::system::{is_unix, symlink};
use rusqlite::Connection;

/// The epoch of the journals in tests.
pub(crate) const EPOCH: u64 = 0xFEDC_BA98_7654_3210;

/// A directory that is removed after the test.
pub(crate) struct Room(PathBuf);

impl Room {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("petstore-sqlite-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path("petstore.db")
    }

    pub(crate) fn open(&self) -> SqliteJournal {
        SqliteJournal::open(self.database(), EPOCH).unwrap()
    }

    /// Makes a symbolic link in the directory. Returns none, with a line about the skip, on a system that makes none.
    pub(crate) fn link(&self, target: &Path, name: &str) -> Option<PathBuf> {
        let link = self.path(name);
        let Err(error) = symlink(target, &link) else { return Some(link) };
        assert!(!is_unix(), "{error}");
        skip_on_this_system(&format!("the part with a symbolic link: {error}"));
        None
    }

    /// Opens the file as another program does.
    pub(crate) fn tool(&self) -> Connection {
        Connection::open(self.database()).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(crate) fn category(id: u64, name: &str) -> CategoryRecord {
    CategoryRecord {
        category: Category::new(CategoryId::new(id).unwrap(), CategoryName::parse(name).unwrap()),
        version: Version::FIRST,
        pets: 0,
    }
}

pub(crate) fn pet(id: u64, category: u64) -> PetRecord {
    let new = NewPet::new(PetName::parse(&format!("Rex {id}")).unwrap(), CategoryId::new(category).unwrap());
    PetRecord::new(PetId::new(id).unwrap(), new)
}

pub(crate) fn order(id: u64, pet: u64) -> OrderRecord {
    let order = Order::new(OrderId::new(id).unwrap(), PetId::new(pet).unwrap(), OrderQuantity::ONE);
    OrderRecord { order, version: Version::FIRST }
}

pub(crate) fn account(id: u64, name: &str) -> Account {
    Account {
        id: AccountId::new(id).unwrap(),
        name: AccountName::parse(name).unwrap(),
        plan: Plan::Free,
        created_at: time("2030-01-02T03:04:05.678Z"),
    }
}

pub(crate) fn key(id: u64, account: u64, secret: &ApiKey) -> KeyRecord {
    use sha2::Digest;
    KeyRecord {
        id: KeyId::new(id).unwrap(),
        account: AccountId::new(account).unwrap(),
        digest: KeyDigest(sha2::Sha256::digest(secret.as_bytes()).into()),
        prefix: secret.display_prefix(),
        label: KeyLabel::parse("").unwrap(),
        scopes: Scopes::DEFAULT,
        created_at: time("2030-01-02T03:04:05.678Z"),
        expires_at: None,
        replaced_until: None,
        revoked_at: None,
        ban: None,
        ban_lifted_at: None,
    }
}

pub(crate) fn secret(seed: u8) -> ApiKey {
    ApiKey::from_entropy([seed; 32])
}

pub(crate) fn ban(since: &str) -> Ban {
    let length = Duration::from_millis(120_001);
    Ban { since: time(since), until: time(since).plus(length), length }
}

pub(crate) fn retry(key: &str, scope: IdempotencyScope, outcome: Outcome) -> IdempotencyRecord {
    IdempotencyRecord {
        id: IdempotencyId {
            account: AccountId::FIRST,
            scope,
            key: IdempotencyKey::parse(key.as_bytes()).unwrap(),
        },
        fingerprint: Fingerprint([7; 32]),
        outcome,
        expires_at: time("2030-01-03T00:00:00Z"),
    }
}

pub(crate) fn usage(account: u64) -> UsageCount {
    UsageCount {
        account: AccountId::new(account).unwrap(),
        minute: Window::new(31_557_600, 12),
        day: Window::new(21_915, u32::MAX),
    }
}

/// The last ids of [`everything`].
pub(crate) const IDS: LastIds = LastIds { pet: 9, category: 4, order: 6, account: 4, key: 3 };

/// Rows of every kind and in every form, in the order of a load.
pub(crate) fn everything() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut described = category(2, "Größe Σ");
    described.category.description = Some(Description::parse("one\ntwo").unwrap());
    described.version = Version::new(7).unwrap();
    described.pets = 4;
    rows.extend([category(1, "cats"), described].map(Row::Category));

    let mut held = pet(2, 2);
    (held.pet.status, held.stock, held.open_orders) = (PetStatus::Pending, 0, 2);
    held.item_version = Version::new(5).unwrap();
    let mut sold = pet(3, 2);
    (sold.pet.status, sold.stock) = (PetStatus::Sold, 0);
    let mut many = pet(9, 2);
    many.stock = 1_010_000;
    many.pet.name = PetName::parse(&"🦤".repeat(NAME_MAX)).unwrap();
    rows.extend([pet(1, 2), held, sold, many].map(Row::Pet));

    let mut complete = order(6, 5);
    complete.order.complete = true;
    complete.order.quantity = OrderQuantity::new(10_000).unwrap();
    complete.order.ship_date = Some(Timestamp::MIN);
    complete.version = Version::new(2).unwrap();
    rows.extend([order(4, 2), complete].map(Row::Order));

    let limits = Limits { minute: Limit::new(1).unwrap(), day: Limit::new(Limit::MAX).unwrap() };
    let plans = [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise(limits)];
    for (id, plan) in (1..).zip(plans) {
        rows.push(Row::Account(Account { plan, ..account(id, &format!("Account {id}")) }));
    }

    let mut used = key(2, 4, &secret(2));
    used.label = KeyLabel::parse("the shop's").unwrap();
    used.scopes = Scopes { read: true, write: false, webhooks: false };
    used.expires_at = Some(time("2031-01-01T00:00:00Z"));
    used.revoked_at = Some(time("2030-06-01T00:00:00Z"));
    used.ban = Some(ban("2030-05-01T00:00:00Z"));
    used.ban_lifted_at = Some(time("2030-04-01T00:00:00.001Z"));
    let mut replaced = key(1, 1, &secret(1));
    replaced.replaced_until = Some(time("2030-02-01T00:00:00.001Z"));
    rows.extend([replaced, used].map(|key| Row::Key(Box::new(key))));

    let version = Version::FIRST;
    let kept = category(1, "cats").category;
    let outcomes = [
        (IdempotencyScope::CreatePet, Outcome::Pet(Versioned { value: pet(1, 2).pet, version })),
        (IdempotencyScope::CreateCategory, Outcome::Category(Versioned { value: kept, version })),
        (IdempotencyScope::CreateCategory, Outcome::CategoryNameTaken(CategoryId::FIRST)),
        (IdempotencyScope::PlaceOrder, Outcome::Order(order(4, 2).versioned())),
        (IdempotencyScope::PlaceOrder, Outcome::PetNotAvailable(PetStatus::Sold)),
        (IdempotencyScope::PlaceOrder, Outcome::InsufficientStock(0)),
        (IdempotencyScope::AdjustStock(PetId::FIRST), Outcome::Item(pet(1, 2).versioned_item())),
    ];
    for (number, (scope, outcome)) in outcomes.into_iter().enumerate() {
        rows.push(Row::Idempotency(Box::new(retry(&format!("key-{number}"), scope, outcome))));
    }
    rows.push(Row::Usage(usage(1)));
    rows.push(Row::Webhooks(Box::new(webhooks())));
    let (progress, delivery) = delivered();
    rows.push(Row::Progress(delivery.webhook, Box::new(progress)));
    rows.push(Row::Delivery(Box::new(delivery)));
    rows
}

/// The webhooks of the first account, with every value that differs from a default.
pub(crate) fn webhooks() -> AccountWebhooks {
    let event = EventId { epoch: EPOCH, position: Position::new(3).unwrap() };
    let webhook = Webhook {
        id: WebhookId::from_bits(u128::MAX),
        version: Version::FIRST.next(),
        url: WebhookUrl::parse("https://example.com/hook?a=\"b\"").unwrap(),
        types: EventPatterns::parse(["order.*", "pet.created"]).unwrap(),
        narrowed_at: Some(EventId { epoch: 7, position: Position::START.next() }),
        description: Some(Description::parse("Stock \u{e9}").unwrap()),
        ordering: DeliveryOrder::Strict,
        disabled: Some(DisabledReason::FellBehind),
        secret: SecretSource {
            nonce: [0xAB; 32],
            generation: 2,
            master: MasterKeyId([0x0F; 8]),
            previous_until: Some(Timestamp::MAX),
        },
        run: DeliveryRun { number: 3, after: Some(event) },
        redeliveries: vec![Redelivery { number: 1, event, at: Timestamp::MIN }],
        created_at: Timestamp::EPOCH,
    };
    AccountWebhooks { account: AccountId::FIRST, webhooks: vec![webhook] }
}

/// The progress of the webhook, and a delivery of it.
pub(crate) fn delivered() -> (Progress, Delivery) {
    let (webhook, position) = (WebhookId::from_bits(u128::MAX), Position::new(4).unwrap());
    let pending = PendingDelivery {
        position,
        attempts: 2,
        due: Timestamp::MAX,
        wait: Duration::from_mins(5),
        is_in_flight: false,
        is_manual: true,
    };
    let mut seen = EventKinds::default();
    seen.add(EventKind::PetCreated);
    let progress = Progress {
        run: 3,
        epoch: EPOCH,
        scanned: position,
        pending: vec![pending],
        failing_since: Some(Timestamp::MIN),
        failures: 2,
        last_success_at: Some(Timestamp::EPOCH),
        redelivered: 1,
        is_stopped: true,
        asked: Some(DeliveryPause { until: Timestamp::MAX, length: Duration::from_hours(1) }),
        rest: Some(DeliveryPause { until: Timestamp::MIN, length: Duration::from_secs(1) }),
        is_unreadable: true,
        receiver: Some(u64::MAX),
        seen: Some(SeenTypes { kinds: seen, certain_to: position }),
    };
    let answer = ReceiverAnswer {
        status: 503,
        body: Some("busy \"\u{1F9A4}\"".into()),
        wait: Some(Duration::from_secs(9)),
        retry_after: Some("9".into()),
        location: Some("/".into()),
        content_type: Some("text/plain".into()),
        cut: Some(AnswerCut::Late),
    };
    let outcome = AttemptOutcome {
        duration: Duration::from_millis(7),
        error: Some(AttemptError::Status),
        answer: Some(Box::new(answer)),
    };
    let attempt = Attempt { at: Timestamp::EPOCH, number: 2, trigger: AttemptTrigger::Manual, outcome };
    let update = DeliveryUpdate {
        event: EventId { epoch: EPOCH, position },
        kind: EventKind::OrderPlaced,
        attempt: Some(attempt),
        status: DeliveryStatus::Pending,
        next_attempt_at: Some(Timestamp::MAX),
        at: Timestamp::EPOCH,
    };
    (progress, Delivery::begin(webhook, update))
}

/// [`everything`] as loaded from a file of an older schema.
pub(crate) fn everything_at(schema: u32) -> Vec<Row> {
    let mut rows = everything();
    // The file is a backup, whose first opening forgets the deliveries of the original.
    rows.retain(|row| !matches!(row, Row::Progress(..) | Row::Delivery(_)));
    if schema < 7 {
        rows.retain(|row| !matches!(row, Row::Webhooks(_)));
    }
    for row in &mut rows {
        if let Row::Key(key) = row {
            if schema < 2 {
                key.replaced_until = None;
            }
            if schema < 5 {
                key.ban_lifted_at = None;
            }
        }
        // The order's ship date was in the year 0000 and has been repaired.
        if let Row::Order(order) = row
            && order.order.ship_date == Some(Timestamp::MIN)
            && schema < 3
        {
            order.version = order.version.next();
        }
    }
    rows
}

/// The changes that create these rows.
pub(crate) fn changes(rows: &[Row]) -> Vec<Changes> {
    rows.iter()
        .filter_map(|row| {
            Some(Changes::from([match row.clone() {
                Row::Category(category) => Change::Category(category),
                Row::Pet(pet) => Change::Pet(pet),
                Row::Order(order) => Change::Order(order),
                Row::Account(account) => Change::Account(account),
                Row::Key(key) => Change::Key(key),
                Row::Idempotency(retry) => Change::Idempotency(retry),
                Row::Webhooks(record) => Change::Webhooks(record),
                Row::Usage(_) | Row::Progress(..) | Row::Delivery(_) => return None,
            }]))
        })
        .collect()
}

/// Writes [`everything`] in one batch.
pub(crate) fn fill(journal: &mut SqliteJournal) {
    append(journal, 1, &changes(&everything()), IDS).unwrap();
    journal.note_usage(&[usage(1)]).unwrap();
    let (progress, delivery) = delivered();
    let note = DeliveryNote {
        webhook: delivery.webhook,
        progress: Some(progress),
        deliveries: vec![delivery],
        dropped: Vec::new(),
    };
    journal.note_deliveries(&[note]).unwrap();
}

pub(crate) fn append(
    journal: &mut SqliteJournal,
    number: u64,
    changes: &[Changes],
    last_ids: LastIds,
) -> Result<(), StoreError> {
    journal.append(&Batch { number: BatchNumber(number), changes, last_ids, events: None })
}

/// Appends a batch of one operation.
pub(crate) fn keep<const N: usize>(
    journal: &mut SqliteJournal,
    number: u64,
    changes: [Change; N],
) -> Result<(), StoreError> {
    append(journal, number, &[Changes::from(changes)], IDS)
}

pub(crate) fn rows(journal: &mut SqliteJournal) -> Vec<Row> {
    load(journal).unwrap().1
}

pub(crate) fn load(journal: &mut SqliteJournal) -> Result<(Header, Vec<Row>), StoreError> {
    let mut rows = Vec::new();
    let header = journal.load(&mut |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok((header, rows))
}

/// The content of all files in the folder of the database.
pub(crate) fn bytes_of(database: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(database.parent().unwrap()).unwrap() {
        bytes.extend(std::fs::read(entry.unwrap().path()).unwrap());
    }
    bytes
}
