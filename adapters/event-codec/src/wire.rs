//! The events as bytes. The numbers of the kinds and the order of the members in their tables define the format.

use petstore_domain::{
    AccountId, Category, DisabledReason, EventFilter, EventKind, Happening, InventoryItem, KeyBan, KeyId,
    KeyLabel, Members, Order, Pet, PetStatus, Previous, Timestamp, ValueType, WebhookId, WebhookStop,
};
use serde::{Deserialize, Serialize};

use crate::BodyError;
use crate::kinds::{kind_of, number_of};
use crate::reader::{Reader, damaged, invalid};
use crate::writer::Writer;

#[derive(Serialize, Deserialize)]
struct WireBan<'a> {
    key: u64,
    account: u64,
    label: &'a str,
    until: i64,
}

#[derive(Serialize, Deserialize)]
struct WireStop<'a> {
    webhook: [u8; 16],
    account: u64,
    reason: &'a str,
}

/// Writes an event.
pub(crate) fn write(out: &mut Writer<'_>, happening: &Happening) {
    out.plain(&number_of(happening.kind()));
    match happening {
        Happening::OrderPlaced(order)
        | Happening::OrderCompleted(order)
        | Happening::OrderCancelled(order) => out.record(order),
        Happening::OrderUpdated { order, previous } => {
            out.record(order);
            out.previous(previous, is_bare);
        }
        Happening::PetCreated(pet) | Happening::PetDeleted(pet) => out.record(pet),
        Happening::PetStatusChanged { pet, previous } => {
            out.record(pet);
            out.value(PetStatus::KIND, previous.value());
        }
        Happening::PetUpdated { pet, previous } => {
            out.record(pet);
            out.previous(previous, |_| false);
        }
        Happening::CategoryCreated(category) | Happening::CategoryDeleted(category) => out.record(category),
        Happening::CategoryUpdated { category, previous } => {
            out.record(category);
            out.previous(previous, |_| false);
        }
        Happening::InventoryUpdated { item, previous } => {
            out.record(item);
            out.previous(previous, |_| false);
        }
        Happening::KeyBanned(ban) | Happening::KeyUnbanned(ban) => out.plain(&WireBan::from(ban)),
        Happening::WebhookDisabled(stop) => out.plain(&WireStop::from(stop)),
    }
}

/// Reads an event. Returns none if the filter does not admit it; its records are then not built.
pub(crate) fn read(from: &mut Reader<'_>, filter: &EventFilter) -> Result<Option<Happening>, BodyError> {
    let kind = kind_of(from.plain()?).ok_or_else(|| damaged("a kind of event is not known"))?;
    let is_admitted = filter.kinds.admits(kind);
    if let Some(private) = private(from, kind)? {
        let owner = AccountId::new(private.account()).ok();
        let is_seen = is_admitted && filter.may_see(owner);
        return if is_seen { private.parse(kind).map(Some).ok_or_else(invalid) } else { Ok(None) };
    }
    if is_admitted && filter.may_see(None) {
        return public(from, kind).map(Some);
    }
    skip(from, kind)?;
    Ok(None)
}

fn public(from: &mut Reader<'_>, kind: EventKind) -> Result<Happening, BodyError> {
    fn updated<R: Members + Clone>(
        from: &mut Reader<'_>,
        is_bare: fn(&str) -> bool,
    ) -> Result<(R, Previous<R>), BodyError> {
        let record = from.record()?;
        let previous = from.previous(&record, is_bare)?;
        Ok((record, previous))
    }
    Ok(match kind {
        EventKind::OrderPlaced => Happening::OrderPlaced(from.record()?),
        EventKind::OrderCompleted => Happening::OrderCompleted(from.record()?),
        EventKind::OrderCancelled => Happening::OrderCancelled(from.record()?),
        EventKind::OrderUpdated => {
            let (order, previous) = updated(from, is_bare)?;
            Happening::OrderUpdated { order, previous: Box::new(previous) }
        }
        EventKind::PetCreated => Happening::PetCreated(from.record()?),
        EventKind::PetDeleted => Happening::PetDeleted(from.record()?),
        EventKind::PetStatusChanged => {
            let pet = from.record()?;
            let previous = PetStatus::of(from.value(PetStatus::KIND)?).map_err(|_| invalid())?;
            Happening::PetStatusChanged { pet, previous }
        }
        EventKind::PetUpdated => {
            let (pet, previous) = updated(from, |_| false)?;
            Happening::PetUpdated { pet, previous: Box::new(previous) }
        }
        EventKind::CategoryCreated => Happening::CategoryCreated(from.record()?),
        EventKind::CategoryDeleted => Happening::CategoryDeleted(from.record()?),
        EventKind::CategoryUpdated => {
            let (category, previous) = updated(from, |_| false)?;
            Happening::CategoryUpdated { category, previous: Box::new(previous) }
        }
        EventKind::InventoryUpdated => {
            let (item, previous) = updated(from, |_| false)?;
            Happening::InventoryUpdated { item, previous }
        }
        EventKind::KeyBanned | EventKind::KeyUnbanned | EventKind::WebhookDisabled => return Err(invalid()),
    })
}

fn skip(from: &mut Reader<'_>, kind: EventKind) -> Result<(), BodyError> {
    match kind {
        EventKind::OrderPlaced | EventKind::OrderCompleted | EventKind::OrderCancelled => {
            from.skip_record::<Order>()
        }
        EventKind::OrderUpdated => {
            from.skip_record::<Order>()?;
            from.skip_previous::<Order>(is_bare)
        }
        EventKind::PetCreated | EventKind::PetDeleted => from.skip_record::<Pet>(),
        EventKind::PetStatusChanged => {
            from.skip_record::<Pet>()?;
            from.skip_value(PetStatus::KIND)
        }
        EventKind::PetUpdated => {
            from.skip_record::<Pet>()?;
            from.skip_previous::<Pet>(|_| false)
        }
        EventKind::CategoryCreated | EventKind::CategoryDeleted => from.skip_record::<Category>(),
        EventKind::CategoryUpdated => {
            from.skip_record::<Category>()?;
            from.skip_previous::<Category>(|_| false)
        }
        EventKind::InventoryUpdated => {
            from.skip_record::<InventoryItem>()?;
            from.skip_previous::<InventoryItem>(|_| false)
        }
        EventKind::KeyBanned | EventKind::KeyUnbanned | EventKind::WebhookDisabled => Ok(()),
    }
}

/// Returns whether an old value has no flag before it that tells whether the member changed. That of the ship date has
/// none, since for long it was the only member of an order that could change.
fn is_bare(column: &str) -> bool {
    column == "ship_date"
}

/// An event that only one account sees.
enum Private<'a> {
    Ban(WireBan<'a>),
    Stop(WireStop<'a>),
}

fn private<'a>(from: &mut Reader<'a>, kind: EventKind) -> Result<Option<Private<'a>>, BodyError> {
    Ok(match kind {
        EventKind::KeyBanned | EventKind::KeyUnbanned => Some(Private::Ban(from.plain()?)),
        EventKind::WebhookDisabled => Some(Private::Stop(from.plain()?)),
        _ => None,
    })
}

impl Private<'_> {
    const fn account(&self) -> u64 {
        match self {
            Self::Ban(ban) => ban.account,
            Self::Stop(stop) => stop.account,
        }
    }

    fn parse(self, kind: EventKind) -> Option<Happening> {
        Some(match self {
            Self::Ban(ban) if kind == EventKind::KeyBanned => Happening::KeyBanned(ban.parse()?),
            Self::Ban(ban) => Happening::KeyUnbanned(ban.parse()?),
            Self::Stop(stop) => Happening::WebhookDisabled(stop.parse()?),
        })
    }
}

impl<'a> From<&'a KeyBan> for WireBan<'a> {
    fn from(ban: &'a KeyBan) -> Self {
        Self {
            key: ban.key.get(),
            account: ban.account.get(),
            label: ban.label.as_str(),
            until: ban.until.as_millis(),
        }
    }
}

impl From<&WebhookStop> for WireStop<'_> {
    fn from(stop: &WebhookStop) -> Self {
        let webhook = stop.webhook.bits().to_be_bytes();
        Self { webhook, account: stop.account.get(), reason: stop.reason.as_str() }
    }
}

impl WireBan<'_> {
    fn parse(self) -> Option<KeyBan> {
        Some(KeyBan {
            key: KeyId::new(self.key).ok()?,
            account: AccountId::new(self.account).ok()?,
            label: KeyLabel::parse(self.label).ok()?,
            until: Timestamp::from_millis(self.until).ok()?,
        })
    }
}

impl WireStop<'_> {
    fn parse(self) -> Option<WebhookStop> {
        Some(WebhookStop {
            webhook: WebhookId::from_bits(u128::from_be_bytes(self.webhook)),
            account: AccountId::new(self.account).ok()?,
            reason: DisabledReason::parse(self.reason)?,
        })
    }
}
