//! The bugs that can be planted.

/// A way in which a store can be wrong, each a mistake that somebody has made somewhere.
///
/// Where a bug is a race, the store lets go of its lock in the middle and gives the others time, so that it shows in
/// nearly every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Decides, lets go of the lock, and then writes what it decided over whatever is there by then.
    LostUpdate,
    /// Decides on a stale view, and writes the stock as a difference: no update is lost, but more is sold than there is.
    StaleView,
    /// Locks the pets of a footprint only, as if no operation looked at anything that it does not write.
    WriteSkew,
    /// Writes the first change, lets go of the lock, then writes the others.
    TornCommit,
    /// Waits between the first change and the others, where a caller may go away.
    HalfWhenDropped,
    /// Gives the units of a cancelled order back twice.
    GivenBackTwice,
    /// Answers before it writes.
    EarlyReply,
    /// Asks the operation once more after it has written what the operation said before.
    AskedAfterwards,
    /// Counts ids from the highest that is there.
    IdReused,
    /// Shows an operation every pet, whatever it named.
    GenerousView,
    /// Asks for the footprint once.
    FootprintOnce,
    /// Lets go of what a footprint named first while it fetches what it named later.
    FootprintLetGo,
    /// Decides without a lock and looks again at the records that it has seen, but not at who has a name.
    NamesOverlooked,
    /// The same, but of those alone that make nothing: a rename.
    RenamesOverlooked,
    /// Decides without a lock and compares versions of rows, which for a kept answer that was pruned begin again.
    VersionsBeginAgain,
    /// Loads piece by piece, and looks again only if there is something to write.
    RefusalsUnchecked,
    /// Is of no use any more once an operation has panicked.
    PanicSpreads,
    /// Leaves out the record after a page's bound.
    SkippingPage,
    /// Says that there is more whenever a page is full.
    FullMeansMore,
    /// Reads a page for two statuses as two scans, one after the other.
    UnionOfScans,
    /// Finds the orders of a list by their pets, and those of a pet that is gone not at all.
    OrdersJoined,
    /// Finds the pets of a list by an index that says what they were when they were created.
    StaleIndex,
    /// Keeps numbers in 16 bits, times in seconds, and no ship date in a kept answer.
    NarrowColumns,
    /// Keeps when a key's own life is over, and not when its overlap with a successor is.
    OverlapForgotten,
    /// Reads a record in two halves.
    TornRead,
    /// Keeps a credential that it has looked up for ever.
    CredentialKept,
    /// Writes a key back as it was read, and a ban that came between is gone.
    BanOverwritten,
    /// Says that a key is banned and forgets it.
    BanForgotten,
    /// Counts strikes by reading and writing in two steps.
    StrikesRace,
    /// Keeps the strikes that led to a ban, so that the first refusal after it bans again.
    StrikesOutliveBan,
    /// Counts requests by reading and writing in two steps.
    WindowsRace,
    /// Counts requests in flight by reading and writing in two steps.
    FlightsRace,
    /// Leaves a request in flight whose caller went away before it had its verdict.
    PlaceOutlivesCaller,
    /// Begins a new window whenever the clock shows another one, earlier ones too.
    WindowFalls,
    /// Writes the record of an answer after the commit of the effect.
    RetryAfterCommit,
    /// Each handle draws a block of ids at once, and gives them while others give higher ones.
    IdsDrawnAhead,
    /// Each handle counts ids for itself.
    IdsOfEachHandle,
    /// Finds the records of answers and does not count them.
    RecordsUncounted,
    /// Prunes records of answers that are still live.
    PrunesLive,
    /// Prunes windows that have ended, with the day's count in them, and orders that are complete.
    PrunesTooMuch,
    /// Never prunes anything.
    PrunesNothing,
    /// Counts each IPv6 address by itself.
    WideAddresses,
    /// Forgets all addresses when their table is full.
    AddressesForgotten,
    /// Goes on with the ids of before when it begins anew.
    ResetKeepsIds,
    /// Keeps the answers of before when it begins anew.
    ResetKeepsAnswers,
    /// Keeps windows, strikes and bans when it begins anew.
    ResetKeepsUsage,
}
