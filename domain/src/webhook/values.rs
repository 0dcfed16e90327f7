//! The values of a webhook that clients set, and the reasons why one is disabled.

use crate::EventKinds;

/// The address of a receiver as its client wrote it: 1 to [`WebhookUrl::MAX`] visible ASCII characters. The rules for
/// addresses that webhooks may be sent to are separate from it, because an operator may change them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebhookUrl(Box<str>);

/// A text that is not the address of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {max} visible ASCII characters", max = WebhookUrl::MAX)]
pub struct WebhookUrlError;

impl WebhookUrl {
    /// The maximum number of characters.
    pub const MAX: usize = 2_048;

    /// Takes the text as it is.
    pub fn parse(text: &str) -> Result<Self, WebhookUrlError> {
        let is_visible = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_visible && text.len() <= Self::MAX { Ok(Self(text.into())) } else { Err(WebhookUrlError) }
    }

    /// The URL as the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The types of events that a webhook gets, as patterns such as `order.*`: 1 to [`EventPatterns::MAX`], none twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventPatterns(Box<[Box<str>]>);

/// A list that is not one of patterns of event types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventPatternsError {
    /// The list is empty or too long.
    #[error("must have 1 to {max} entries", max = EventPatterns::MAX)]
    Length,
    /// An entry names no type of event.
    #[error("must name a type of event, a kind of resource such as `order.*`, or `*`")]
    Unknown {
        /// The index of the entry.
        index: usize,
    },
    /// An entry occurs twice.
    #[error("must not name a type twice")]
    Repeated {
        /// The index of the second of the two entries.
        index: usize,
    },
}

impl EventPatterns {
    /// The maximum number of patterns.
    pub const MAX: usize = 32;

    /// Returns the pattern for all types, which is the default.
    pub fn any() -> Self {
        Self(Box::from([Box::from("*")]))
    }

    /// Takes patterns, each as [`EventKinds::add_pattern`] takes it.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, EventPatternsError> {
        let mut taken: Vec<Box<str>> = Vec::new();
        for (index, pattern) in patterns.into_iter().enumerate() {
            if index == Self::MAX {
                return Err(EventPatternsError::Length);
            }
            if !EventKinds::default().add_pattern(pattern) {
                return Err(EventPatternsError::Unknown { index });
            }
            if taken.iter().any(|other| **other == *pattern) {
                return Err(EventPatternsError::Repeated { index });
            }
            taken.push(pattern.into());
        }
        if taken.is_empty() { Err(EventPatternsError::Length) } else { Ok(Self(taken.into())) }
    }

    /// The patterns, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|pattern| &**pattern)
    }

    /// The kinds of events that the patterns name.
    pub fn kinds(&self) -> EventKinds {
        let mut kinds = EventKinds::default();
        for pattern in &self.0 {
            let is_known = kinds.add_pattern(pattern);
            debug_assert!(is_known, "each pattern was checked");
        }
        kinds
    }
}

/// The order in which a webhook gets its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeliveryOrder {
    /// First attempts begin in the order of the log; a failed delivery delays no other one.
    #[default]
    Relaxed,
    /// One delivery at a time, in the order of the log, and none is left out.
    Strict,
}

impl DeliveryOrder {
    /// The word for clients.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Strict => "strict",
        }
    }

    /// Parses a word that [`DeliveryOrder::as_str`] returns.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Relaxed, Self::Strict].into_iter().find(|order| order.as_str() == word)
    }
}

/// The reason why a webhook gets no events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum DisabledReason {
    /// Its account disabled it.
    #[error("its account disabled it")]
    User,
    /// The receiver answered with 410.
    #[error("the receiver answered with 410")]
    Gone,
    /// Every attempt of several days failed.
    #[error("every attempt of several days failed")]
    Failing,
    /// The last attempt for an event failed, and its order is strict.
    #[error("the last attempt for an event failed, and events must not be left out")]
    Exhausted,
    /// Events that it had not got yet have been dropped from the log.
    #[error("events that it had not received were dropped from the log")]
    FellBehind,
    /// The data are a restored copy, which must not call the receivers of the original.
    #[error("the data are a restored copy")]
    Restored,
    /// An operator disabled it.
    #[error("an operator disabled it")]
    Operator,
    /// The address of the receiver is no longer allowed.
    #[error("the address of the receiver is not allowed")]
    UrlRefused,
    /// The master key of the secrets is missing, or is another one. No store has this reason: it lasts until the server
    /// is started with the key again.
    #[error("the master key of the secrets is missing or is another one")]
    Key,
}

impl DisabledReason {
    /// Each reason, for parsers and tests of the contract.
    pub const ALL: [Self; 9] = [
        Self::User,
        Self::Gone,
        Self::Failing,
        Self::Exhausted,
        Self::FellBehind,
        Self::Restored,
        Self::Operator,
        Self::UrlRefused,
        Self::Key,
    ];

    /// The word for clients, such as `fell_behind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Gone => "gone",
            Self::Failing => "failing",
            Self::Exhausted => "exhausted",
            Self::FellBehind => "fell_behind",
            Self::Restored => "restored",
            Self::Operator => "operator",
            Self::UrlRefused => "url_refused",
            Self::Key => "key",
        }
    }

    /// Parses a word that [`DisabledReason::as_str`] returns.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}
