//! The types that the list of the kinds of records makes.

macro_rules! records {
    (
        rows {$(
            $(#[$doc:meta])*
            $kind:ident($held:ty) $(, $deleted:ident)?:
            $key:ty => $value:ident by $($at:ident).+, $read:ident($asked:ty), $load:ident;
        )*}
        names {$(
            $(#[$name_doc:meta])*
            $name:ident => $owner:ident($owner_id:ty) by $named:ident . $($name_at:ident).+, $owner_of:ident, $load_owner:ident;
        )*}
        ids {$(
            $(#[$next_doc:meta])*
            $next:ident => $new:ident($id:ty), $noun:literal, $next_id:ident, $load_next:ident;
        )*}
    ) => {
        /// A reference to one record that an operation may read. Stores lock records in the order of their references.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RecordRef {
            $($(#[$doc])* $kind($key),)*
            $($(#[$name_doc])* $name(FoldedName),)*
            $($(#[$next_doc])* $next,)*
        }

        impl RecordRef {
            /// Returns whether a record that it refers to has a unique name.
            pub const fn is_named(&self) -> bool {
                matches!(self, $(Self::$owner(_))|*)
            }

            /// The kind of id that it names, if it is a reference to the next id.
            pub const fn id_kind(&self) -> Option<IdKind> {
                match self {
                    $(Self::$next => Some(IdKind::$new),)*
                    $(Self::$kind(_) => None,)*
                    $(Self::$name(_) => None,)*
                }
            }
        }

        /// A kind of record with ids that a store draws.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum IdKind {
            $(#[doc = concat!("Of a new ", $noun, ".")] $new,)*
        }

        impl IdKind {
            /// All kinds, in the order of their references.
            pub const ALL: &[Self] = &[$(Self::$new,)*];

            /// The reference to the next id of the kind.
            pub const fn reference(self) -> RecordRef {
                match self {
                    $(Self::$new => RecordRef::$next,)*
                }
            }

            /// The id that a view holds as the next one of the kind.
            pub fn held(self, view: &View) -> Option<u64> {
                match self {
                    $(Self::$new => view.$next_id.map(<$id>::get),)*
                }
            }

            /// Loads an id as the next one of the kind.
            pub fn load(self, view: &mut View, id: u64) -> Result<(), IdError> {
                match self {
                    $(Self::$new => view.$load_next(<$id>::new(id)?),)*
                }
                Ok(())
            }

            /// The id of the record that a change writes, if it is of the kind.
            pub fn written(self, change: &Change) -> Option<u64> {
                match (self, change) {
                    $((Self::$new, Change::$new(record)) => Some(record.key().get()),)*
                    _ => None,
                }
            }
        }

        /// One record that is to be written or removed.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Change {
            $(
                $(#[$doc])*
                #[doc = ""]
                /// It is new or changed.
                $kind($held),
                $(
                    /// The deletion of the record of this id.
                    $deleted($key),
                )?
            )*
        }

        impl Change {
            /// The record that is written or removed.
            pub fn record(&self) -> RecordRef {
                match self {
                    $(
                        Self::$kind(record) => RecordRef::$kind(record.key()),
                        $(Self::$deleted(id) => RecordRef::$kind(ToOwned::to_owned(id)),)?
                    )*
                }
            }

            /// Loads the record, as it is after the change, into a view.
            pub fn show(&self, view: &mut View) {
                match self {
                    $(
                        Self::$kind(record) => view.$load(record.key(), Some($value::clone(record))),
                        $(Self::$deleted(id) => view.$load(ToOwned::to_owned(id), None),)?
                    )*
                }
            }

            /// The index entry that leads to the record after the change.
            pub fn entry(&self) -> Option<RecordRef> {
                match self {
                    $(Self::$owner(record) => Some(RecordRef::$name(record.$($name_at).+.folded())),)*
                    _ => None,
                }
            }

            /// The change of the record's unique name, if there is one. The view holds the record before the change.
            pub(crate) fn renaming(&self, before: &View) -> Option<Renaming> {
                match self.record() {
                    $(RecordRef::$owner(id) => {
                        let after = match self {
                            Self::$owner(record) => Some(&record.$($name_at).+),
                            _ => None,
                        };
                        let before = $named::seen(before, &id).map(|record| &record.$($name_at).+);
                        // Names are folded only if they differ, because a pet that is created changes its category's count.
                        (before != after).then(|| Renaming {
                            of: RecordRef::$owner(id),
                            released: before.map(|name| RecordRef::$name(name.folded())),
                            given: after.map(|name| RecordRef::$name(name.folded())),
                        })
                    })*
                    _ => None,
                }
            }
        }

        /// The records that a store has loaded for an operation. A record that was not loaded reads as absent.
        #[derive(Debug, Clone, Default)]
        pub struct View {
            $($read: Loaded<$key, $value>,)*
            $($owner_of: Loaded<FoldedName, $owner_id>,)*
            $($next_id: Option<$id>,)*
        }

        impl View {
            $(
                $(#[$doc])*
                pub fn $read(&self, id: $asked) -> Option<&$value> {
                    self.$read.value(std::borrow::Borrow::<$key>::borrow(&id))
                }

                $(#[$doc])*
                #[doc = ""]
                /// Loads it, or its absence.
                pub fn $load(&mut self, id: $key, value: Option<$value>) {
                    self.$read.set(id, value);
                }
            )*

            $(
                /// The record that has this name.
                pub fn $owner_of(&self, name: &FoldedName) -> Option<$owner_id> {
                    self.$owner_of.value(name).copied()
                }

                /// Loads the record that has this name, or its absence.
                pub fn $load_owner(&mut self, name: FoldedName, owner: Option<$owner_id>) {
                    self.$owner_of.set(name, owner);
                }
            )*

            $(
                #[doc = concat!("The id for a new ", $noun, ".")]
                ///
                /// # Panics
                /// If no id was loaded. An operation that needs the id has it in its footprint, and the caller of
                /// `decide` loads the whole footprint.
                pub fn $next_id(&self) -> $id {
                    self.$next_id.expect(concat!("an id for a new ", $noun, " was loaded, as the footprint demands"))
                }

                #[doc = concat!("Loads the id for a new ", $noun, ".")]
                pub fn $load_next(&mut self, id: $id) {
                    self.$next_id = Some(id);
                }
            )*

            /// Returns whether a record, or its absence, has been loaded.
            pub fn holds(&self, record: &RecordRef) -> bool {
                match record {
                    $(RecordRef::$kind(id) => self.$read.entry(id).is_some(),)*
                    $(RecordRef::$name(name) => self.$owner_of.entry(name).is_some(),)*
                    $(RecordRef::$next => self.$next_id.is_some(),)*
                }
            }

            /// Returns whether the absence of a record has been loaded.
            pub fn holds_absence(&self, record: &RecordRef) -> bool {
                match record {
                    $(RecordRef::$kind(id) => self.$read.entry(id).is_some_and(Option::is_none),)*
                    $(RecordRef::$name(name) => self.$owner_of.entry(name).is_some_and(Option::is_none),)*
                    $(RecordRef::$next => false,)*
                }
            }

            /// Returns whether another view shows the same of a record. An id is drawn for one view only, so it is never
            /// compared.
            pub fn agrees(&self, other: &Self, record: &RecordRef) -> bool {
                match record {
                    $(RecordRef::$kind(id) => self.$read.value(id) == other.$read.value(id),)*
                    $(RecordRef::$name(name) => self.$owner_of.value(name) == other.$owner_of.value(name),)*
                    $(RecordRef::$next => true,)*
                }
            }

            /// Loads a record from a store.
            pub fn load<S: Source>(&mut self, record: &RecordRef, source: &mut S) -> Result<(), S::Error> {
                match record {
                    $(RecordRef::$kind(id) => {
                        let value = source.$read(id)?;
                        self.$load(id.clone(), value);
                    })*
                    $(RecordRef::$name(name) => {
                        let owner = source.$owner_of(name)?;
                        self.$load_owner(name.clone(), owner);
                    })*
                    $(RecordRef::$next => source.next_id(IdKind::$new, self)?,)*
                }
                Ok(())
            }

            /// Loads the absence of a record. The next id of a kind cannot be absent, and stays as it is.
            pub fn load_absence(&mut self, record: &RecordRef) {
                match record {
                    $(RecordRef::$kind(id) => self.$load(id.clone(), None),)*
                    $(RecordRef::$name(name) => self.$load_owner(name.clone(), None),)*
                    $(RecordRef::$next => {})*
                }
            }

            /// Loads a record as another view shows it, if that view holds it.
            pub fn copy(&mut self, record: &RecordRef, from: &Self) {
                match record {
                    $(RecordRef::$kind(id) => {
                        if let Some(value) = from.$read.entry(id) {
                            self.$load(id.clone(), value.clone());
                        }
                    })*
                    $(RecordRef::$name(name) => {
                        if let Some(owner) = from.$owner_of.entry(name) {
                            self.$load_owner(name.clone(), *owner);
                        }
                    })*
                    $(RecordRef::$next => self.$next_id = from.$next_id.or(self.$next_id),)*
                }
            }

            /// The index entry that leads to a record of this view.
            pub fn entry(&self, record: &RecordRef) -> Option<RecordRef> {
                match record {
                    $(RecordRef::$owner(id) => {
                        let name = $named::seen(self, id).map(|record| record.$($name_at).+.folded());
                        name.map(RecordRef::$name)
                    })*
                    _ => None,
                }
            }

            /// The record to which an index entry leads.
            pub fn owner(&self, entry: &RecordRef) -> Option<RecordRef> {
                match entry {
                    $(RecordRef::$name(name) => self.$owner_of(name).map(RecordRef::$owner),)*
                    _ => None,
                }
            }

            /// Loads the record to which an index entry leads, or its absence.
            pub fn load_owner(&mut self, entry: &RecordRef, owner: Option<&RecordRef>) {
                match (entry, owner) {
                    $(
                        (RecordRef::$name(name), Some(RecordRef::$owner(id))) => self.$load_owner(name.clone(), Some(*id)),
                        (RecordRef::$name(name), _) => self.$load_owner(name.clone(), None),
                    )*
                    _ => {}
                }
            }
        }

        /// The records of a store, with a method for each kind of record.
        pub trait Source {
            /// The reason why a record cannot be loaded.
            type Error;

            $(
                $(#[$doc])*
                fn $read(&mut self, id: &$key) -> Result<Option<$value>, Self::Error>;
            )*

            $(
                /// The record that has this name.
                fn $owner_of(&mut self, name: &FoldedName) -> Result<Option<$owner_id>, Self::Error>;
            )*

            /// Draws an id, and loads it into a view.
            fn next_id(&mut self, kind: IdKind, view: &mut View) -> Result<(), Self::Error>;
        }

        /// A kind of record, by the type of its value.
        pub trait RecordKind: Clone + PartialEq {
            /// The id under which a store keeps such a record.
            type Key;

            /// The id.
            fn key(&self) -> Self::Key;

            /// The reference to the record of this id.
            fn reference(key: Self::Key) -> RecordRef;

            /// Loads the record into a view.
            fn load(self, view: &mut View);

            /// The record of this id in a view.
            fn seen<'v>(view: &'v View, key: &Self::Key) -> Option<&'v Self>;
        }

        $(
            impl RecordKind for $value {
                type Key = $key;

                fn key(&self) -> $key {
                    ToOwned::to_owned(&self.$($at).+)
                }

                fn reference(key: $key) -> RecordRef {
                    RecordRef::$kind(key)
                }

                fn load(self, view: &mut View) {
                    view.$load(self.key(), Some(self));
                }

                fn seen<'v>(view: &'v View, key: &$key) -> Option<&'v Self> {
                    view.$read.value(key)
                }
            }
        )*
    };
}
pub(super) use records;
