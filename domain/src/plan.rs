//! Plans: the number of requests that an account may make.

/// Requests that a window admits: 1 to [`Limit::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(u32);

impl Limit {
    /// The highest limit: 2^31 - 1.
    pub const MAX: u32 = i32::MAX as u32;

    /// Takes a number from 1 to [`Limit::MAX`].
    pub const fn new(requests: u32) -> Option<Self> {
        if requests >= 1 && requests <= Self::MAX { Some(Self(requests)) } else { None }
    }

    /// The number of requests.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// The limits of an account: requests in one UTC minute and in one UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests in one UTC minute.
    pub minute: Limit,
    /// Requests in one UTC day, at least as many as in a minute.
    pub day: Limit,
}

impl Limits {
    /// The share of one node of several that count separately: an equal part of each limit, at least one request.
    ///
    /// ```
    /// use petstore_domain::{Limit, Limits};
    ///
    /// let limits = Limits { minute: Limit::new(60).unwrap(), day: Limit::new(1_000).unwrap() };
    /// let share = limits.share_of(7);
    /// assert_eq!((share.minute.get(), share.day.get()), (8, 142));
    /// assert_eq!(limits.share_of(100).minute.get(), 1);
    /// assert_eq!(limits.share_of(0), limits, "a node that does not know the others is one");
    /// ```
    #[must_use]
    pub fn share_of(self, nodes: u32) -> Self {
        let part = |limit: Limit| Limit((limit.0 / nodes.max(1)).max(1));
        Self { minute: part(self.minute), day: part(self.day) }
    }

    /// Packs the limits into one word: the minute's limit in the upper half, the day's in the lower half. Neither half
    /// is 0.
    pub const fn to_word(self) -> u64 {
        ((self.minute.get() as u64) << 32) | self.day.get() as u64
    }

    /// Unpacks the limits from a word that [`Limits::to_word`] returned. Any other word gives none.
    ///
    /// ```
    /// use petstore_domain::{Limit, Limits};
    ///
    /// let limits = Limits { minute: Limit::new(60).unwrap(), day: Limit::new(Limit::MAX).unwrap() };
    /// assert_eq!(Limits::from_word(limits.to_word()), Some(limits));
    /// assert_eq!((Limits::from_word(60), Limits::from_word(60 << 32)), (None, None));
    /// ```
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken apart")]
    pub const fn from_word(word: u64) -> Option<Self> {
        match (Limit::new((word >> 32) as u32), Limit::new(word as u32)) {
            (Some(minute), Some(day)) => Some(Self { minute, day }),
            _ => None,
        }
    }
}

/// The plan of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// A plan for trials.
    Free,
    /// A plan for one application.
    Pro,
    /// A plan for several applications.
    Business,
    /// A plan with limits that were agreed with this account.
    Enterprise(Limits),
}

impl Plan {
    /// The word for clients and for the command line, such as `free`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Business => "business",
            Self::Enterprise(_) => "enterprise",
        }
    }
}

/// The limits of the plans that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanTable {
    /// The limits of [`Plan::Free`].
    pub free: Limits,
    /// The limits of [`Plan::Pro`].
    pub pro: Limits,
    /// The limits of [`Plan::Business`].
    pub business: Limits,
}

impl PlanTable {
    /// The limits that the specification gives, and the defaults of the settings.
    pub const SPECIFICATION: Self = Self {
        free: Limits { minute: Limit(60), day: Limit(1_000) },
        pro: Limits { minute: Limit(300), day: Limit(10_000) },
        business: Limits { minute: Limit(1_000), day: Limit(100_000) },
    };

    /// Returns the limits of a plan.
    pub const fn limits(&self, plan: &Plan) -> Limits {
        match plan {
            Plan::Free => self.free,
            Plan::Pro => self.pro,
            Plan::Business => self.business,
            Plan::Enterprise(limits) => *limits,
        }
    }
}
