//! The bugs that can be planted.

/// A bug of a store. Each bug is a known mistake of real stores.
///
/// If a bug is a race, the store releases its lock in the middle and waits, so that the race shows in nearly every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Decides, releases the lock, and then overwrites the current records with its decision.
    LostUpdate,
    /// Decides on an outdated view, and writes the stock as a difference. No update is lost, but more units are sold
    /// than exist.
    StaleView,
    /// Detects concurrent changes only of the pets that it writes, as if an operation read no other records.
    WriteSkew,
    /// Writes the first change, releases the lock, then writes the others.
    TornCommit,
    /// Waits between the first change and the others. If the caller is dropped during the wait, the others are lost.
    HalfWhenDropped,
    /// Returns the units of a cancelled order twice.
    GivenBackTwice,
    /// Answers before it writes the changes.
    EarlyReply,
    /// Calls the operation again after the decision has been written.
    AskedAfterwards,
    /// Derives the next id from the highest existing id.
    IdReused,
    /// Shows every pet to an operation, including pets outside its footprint.
    GenerousView,
    /// Computes the footprint only once, without the records that the first records lead to.
    FootprintOnce,
    /// Unlocks the first records of a footprint while it loads the later ones.
    FootprintLetGo,
    /// Decides without a lock and validates the records that it has read, but not the name indexes.
    NamesOverlooked,
    /// Has the bug of `NamesOverlooked`, but only for operations that create no record, such as a rename.
    RenamesOverlooked,
    /// Keeps names in the index without folding them, but searches the index for the folded form.
    NamesAsGiven,
    /// Decides without a lock and compares row versions, which start again for a pruned idempotency record.
    VersionsBeginAgain,
    /// Loads the records one by one, and validates them only if there is a change to write.
    RefusalsUnchecked,
    /// Fails every call after an operation has panicked.
    PanicSpreads,
    /// Leaves out a record whose id directly follows the id after which a page begins.
    SkippingPage,
    /// Reports that more records follow whenever a page is full.
    FullMeansMore,
    /// Reads a page for two statuses as two scans, one after the other.
    UnionOfScans,
    /// Finds the orders of a list through their pets, and so finds no order whose pet has been deleted.
    OrdersJoined,
    /// Finds the pets of a list by an index of their values at creation.
    StaleIndex,
    /// Stores numbers in 16 bits, times in whole seconds, and idempotency records without the ship date.
    NarrowColumns,
    /// Stores the expiry of a key, but not the end of its overlap with a successor.
    OverlapForgotten,
    /// Reads the two halves of a record in separate steps.
    TornRead,
    /// Caches every credential for ever.
    CredentialKept,
    /// Writes a key as it was read earlier. This overwrites a ban that was recorded after the key was read.
    BanOverwritten,
    /// Answers that a key is banned, but does not keep the ban. So the ban does not apply to the next request.
    BanForgotten,
    /// Enforces a ban only after it is recorded.
    BanWaitsForRecord,
    /// Decides a ban, and still enforces it after an operator has lifted it.
    BanOutlivesLift,
    /// Stores a key without the time at which an operator last lifted its bans.
    LiftForgotten,
    /// Counts strikes by reading and writing in two steps.
    StrikesRace,
    /// Keeps the strikes that led to a ban, so that the first refusal after the ban causes another ban.
    StrikesOutliveBan,
    /// Keeps the strikes of a key whose ban an operator lifts.
    StrikesOutliveLift,
    /// Counts requests by reading and writing in two steps.
    WindowsRace,
    /// Counts a request that only reads the usage.
    UsageCounts,
    /// Begins a new window whenever the time is outside the current one, even if the time is earlier.
    WindowFalls,
    /// Writes an idempotency record after the commit of its effect.
    RetryAfterCommit,
    /// Each handle reserves a block of ids, and still assigns ids of its block after other handles have assigned higher
    /// ids.
    IdsDrawnAhead,
    /// Each handle counts ids separately, so that two handles assign the same id.
    IdsOfEachHandle,
    /// Stores and finds idempotency records, but reports that an account has none.
    RecordsUncounted,
    /// Prunes live idempotency records.
    PrunesLive,
    /// Prunes the count of the day together with the count of an ended minute. Also prunes complete orders.
    PrunesTooMuch,
    /// Never prunes anything.
    PrunesNothing,
    /// Drops expired idempotency records in the call `watch`, which must drop nothing. So the count of dropped records
    /// misses them.
    WatchPrunes,
    /// Counts each IPv6 address separately.
    WideAddresses,
    /// Clears all addresses when their table is full.
    AddressesForgotten,
    /// Continues with the earlier ids after a reset.
    ResetKeepsIds,
    /// Keeps idempotency records through a reset.
    ResetKeepsAnswers,
    /// Keeps windows, strikes and bans through a reset.
    ResetKeepsUsage,
    /// Decides without a lock, adds the events, and validates the decision only then. So the events of a discarded
    /// decision stay in the log.
    EventsOfDiscarded,
    /// Keeps only the first event of a decision.
    FirstEventOnly,
    /// Draws the positions of the events before it loads the records. So a slow writer inserts events before events
    /// that a reader has already seen.
    PositionsBeforeRecords,
    /// Uses up a position for a decision without events.
    PositionsWithoutEvents,
    /// Shows the events of a decision before its records.
    EventsBeforeRecords,
    /// Shows the records of a decision before its events.
    EventsAfterRecords,
    /// Adds the events of a decision after the caller has the answer.
    EventsAfterReply,
    /// Adds the events of an idempotent request again when it is replayed.
    ReplayEmitsAgain,
    /// Leaves out the event directly after the position after which a page begins.
    SkippingEventPage,
    /// Reports that a page has read the log only up to the last event that passed the filter, so that a reader without
    /// a match never advances.
    EventPageStuck,
    /// Shows private events to every account.
    PrivateEventsShown,
    /// Reads the events after an id of an earlier epoch as if the id were of the present epoch.
    EventEpochIgnored,
    /// Keeps the epoch of the log through a reset.
    ResetKeepsEventEpoch,
    /// Keeps the log through a reset.
    ResetKeepsEvents,
    /// Keeps the log through an import.
    ImportKeepsTheLog,
    /// Adds events for the rows of an import.
    ImportHasEvents,
    /// Begins a new epoch of the log when an import begins, and not when it succeeds.
    ImportEmptiesTheLogEarly,
    /// Never wakes a reader that waits for events.
    FeedNeverWakes,
    /// Wakes a reader only at events that every account sees.
    FeedMissesPrivateEvents,
    /// Returns the end of the log as the position up to which no event passes.
    FeedSkipsToTheEnd,
    /// Does not wake a reader that waits for events when a reset begins a new epoch.
    FeedSleepsThroughResets,
    /// Tells a reader of changes nothing of an account whose last webhook was deleted.
    WebhookDeletionsUntold,
    /// Grants the lease of a webhook that another one holds.
    LeasesShared,
    /// Saves progress under a lease that another one has followed.
    LostLeaseSaves,
    /// Keeps only the last attempt of a delivery.
    AttemptsReplaced,
    /// Keeps all settled deliveries.
    DeliveriesKept,
    /// Keeps all settled deliveries until they are old.
    DeliveriesUncounted,
    /// Returns deliveries that do not pass the filter.
    DeliveryFilterIgnored,
    /// Takes the scopes of keys that are revoked or have expired for those of their account.
    ScopesOfRevokedKeys,
    /// Takes the scopes of banned keys for those of their account.
    BannedKeysGrant,
    /// Looks only at the first key of an account for the scopes of the account.
    ScopesOfTheFirstKey,
}
