//! Parameters of statements, with their SQL types.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use tokio_postgres::types::{ToSql, Type};

/// A parameter that states its SQL type. A statement that is not prepared sends the types along with the values.
pub(crate) trait Parameter: ToSql + Sync {
    fn sql_type(&self) -> Type;
}

/// Implements [`Parameter`] for a type, its optional form and its lists.
macro_rules! parameters {
    ($($rust:ty => $one:ident, $list:ident;)*) => {$(
        impl Parameter for $rust {
            fn sql_type(&self) -> Type {
                Type::$one
            }
        }

        impl Parameter for Option<$rust> {
            fn sql_type(&self) -> Type {
                Type::$one
            }
        }

        impl Parameter for Vec<$rust> {
            fn sql_type(&self) -> Type {
                Type::$list
            }
        }

        impl Parameter for Vec<Option<$rust>> {
            fn sql_type(&self) -> Type {
                Type::$list
            }
        }
    )*};
}

parameters! {
    bool => BOOL, BOOL_ARRAY;
    i16 => INT2, INT2_ARRAY;
    i32 => INT4, INT4_ARRAY;
    i64 => INT8, INT8_ARRAY;
    f64 => FLOAT8, FLOAT8_ARRAY;
    String => TEXT, TEXT_ARRAY;
    &str => TEXT, TEXT_ARRAY;
    Cow<'_, str> => TEXT, TEXT_ARRAY;
    Vec<u8> => BYTEA, BYTEA_ARRAY;
    &[u8] => BYTEA, BYTEA_ARRAY;
    DateTime<Utc> => TIMESTAMPTZ, TIMESTAMPTZ_ARRAY;
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use chrono::TimeZone;

    use super::*;

    /// The driver refuses a value whose type does not fit, so the types that are stated must fit.
    #[test]
    fn each_value_fits_its_type() {
        let time = Utc.timestamp_opt(1, 0).unwrap();
        let values: [&dyn Parameter; 14] = [
            &true,
            &1_i16,
            &2_i32,
            &3_i64,
            &"text",
            &String::new(),
            &vec![4_u8],
            &time,
            &Some(5_i64),
            &None::<DateTime<Utc>>,
            &vec![Some("text"), None],
            &vec![vec![6_u8]],
            &vec![time],
            &Cow::Borrowed("text"),
        ];
        for value in values {
            let written = value.to_sql_checked(&value.sql_type(), &mut BytesMut::new());
            assert!(written.is_ok(), "{value:?}");
        }
    }
}
