//! The bugs that can be planted.

/// A bug of a store, each a known mistake of real stores.
///
/// If a bug is a race, the store releases its lock in the middle and waits, so that the race shows in nearly
/// every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Decides, releases the lock, and then overwrites the current records with its decision.
    LostUpdate,
    /// Decides on a stale view, and writes the stock as a difference: no update is lost, but more units are
    /// sold than exist.
    StaleView,
    /// Locks only the pets of a footprint, as if no operation read a record that it does not write.
    WriteSkew,
    /// Writes the first change, releases the lock, then writes the others.
    TornCommit,
    /// Waits between the first change and the others, where a caller may be dropped.
    HalfWhenDropped,
    /// Gives the units of a cancelled order back twice.
    GivenBackTwice,
    /// Answers before it writes.
    EarlyReply,
    /// Calls the operation again after its decision has been written.
    AskedAfterwards,
    /// Derives the next id from the highest existing one.
    IdReused,
    /// Shows an operation every pet, named or not.
    GenerousView,
    /// Asks for the footprint once.
    FootprintOnce,
    /// Releases the first names of a footprint while it loads the later ones.
    FootprintLetGo,
    /// Decides without a lock and validates the records that it has read, but not the name indexes.
    NamesOverlooked,
    /// The same, but only for operations that create nothing: a rename.
    RenamesOverlooked,
    /// Keeps the index of names by the names as they were given, and searches it for the folded form.
    NamesAsGiven,
    /// Decides without a lock and compares row versions, which start again for a pruned idempotency record.
    VersionsBeginAgain,
    /// Loads piece by piece, and validates only if there is something to write.
    RefusalsUnchecked,
    /// Fails every call after an operation has panicked.
    PanicSpreads,
    /// Leaves out the record after a page's bound.
    SkippingPage,
    /// Reports more records whenever a page is full.
    FullMeansMore,
    /// Reads a page for two statuses as two scans, one after the other.
    UnionOfScans,
    /// Finds the orders of a list through their pets, and so no orders of a deleted pet.
    OrdersJoined,
    /// Finds the pets of a list by an index of their values at creation.
    StaleIndex,
    /// Keeps numbers in 16 bits, times in seconds, and no ship date in an idempotency record.
    NarrowColumns,
    /// Keeps the expiry of a key, but not the end of its overlap with a successor.
    OverlapForgotten,
    /// Reads a record in two halves.
    TornRead,
    /// Caches every credential for ever.
    CredentialKept,
    /// Writes a key back as it was read, and so overwrites a ban that was recorded meanwhile.
    BanOverwritten,
    /// Answers that a key is banned, but does not keep the ban.
    BanForgotten,
    /// Has a ban in force only once it is recorded.
    BanWaitsForRecord,
    /// Keeps a ban that it has decided in force although an operator has lifted it.
    BanOutlivesLift,
    /// Keeps a key without the time of the last lift.
    LiftForgotten,
    /// Counts strikes by reading and writing in two steps.
    StrikesRace,
    /// Keeps the strikes that led to a ban, so that the first refusal after it bans again.
    StrikesOutliveBan,
    /// Keeps the strikes of a key whose ban an operator lifts.
    StrikesOutliveLift,
    /// Counts requests by reading and writing in two steps.
    WindowsRace,
    /// Counts a request where only the usage was asked for.
    UsageCounts,
    /// Begins a new window whenever the time is in another one, also in an earlier one.
    WindowFalls,
    /// Writes an idempotency record after the commit of its effect.
    RetryAfterCommit,
    /// Each handle draws a block of ids at once, and gives them while others give higher ones.
    IdsDrawnAhead,
    /// Each handle counts ids for itself.
    IdsOfEachHandle,
    /// Finds idempotency records and does not count them.
    RecordsUncounted,
    /// Prunes live idempotency records.
    PrunesLive,
    /// Prunes windows that have ended, with the day's count in them, and complete orders.
    PrunesTooMuch,
    /// Never prunes anything.
    PrunesNothing,
    /// Drops expired idempotency records in the call that only watches, so that no node counts them.
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
    /// Decides without a lock, adds the events, and validates only then: those of a discarded decision stay.
    EventsOfDiscarded,
    /// Keeps the first event of a decision alone.
    FirstEventOnly,
    /// Draws the positions of the events before it has the records: a slow writer inserts its events before later ones.
    PositionsBeforeRecords,
    /// Uses up a position for a decision without events.
    PositionsWithoutEvents,
    /// Shows the events of a decision before its records.
    EventsBeforeRecords,
    /// Shows the records of a decision before its events.
    EventsAfterRecords,
    /// Adds the events of a decision after it has answered.
    EventsAfterReply,
    /// Adds the events of an idempotent request again when it is replayed.
    ReplayEmitsAgain,
    /// Leaves out the event after a page's bound.
    SkippingEventPage,
    /// Says that a page has reached the last event that passed its filter.
    EventPageStuck,
    /// Shows private events to every account.
    PrivateEventsShown,
    /// Reads after an id of an earlier life as if it were of this one.
    EventEpochIgnored,
    /// Keeps the epoch of the log through a reset.
    ResetKeepsEventEpoch,
    /// Keeps the log through a reset.
    ResetKeepsEvents,
    /// Never wakes a reader that waits for events.
    FeedNeverWakes,
    /// Does not wake a reader that waits for events when a reset begins a new life.
    FeedSleepsThroughResets,
}
