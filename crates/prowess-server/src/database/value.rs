//! The values that both databases can store, and conversions from and to those of Rust.

/// A value in a row, or for a placeholder. Truth is 0 or 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A whole number: `INTEGER` in SQLite, `BIGINT` in Postgres.
    Integer(i64),
    /// A floating-point number: `REAL` and `DOUBLE PRECISION`.
    Real(f64),
    /// Text: `TEXT`.
    Text(String),
    /// Bytes: `BLOB` and `BYTEA`.
    Blob(Vec<u8>),
}

/// A list of [`Value`]s, each converted with `From`.
///
/// ```
/// use prowess_server::database::{Value, values};
/// assert_eq!(values![1, "a", None::<i64>].len(), 3);
/// ```
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        [$($crate::database::Value::from($value)),*]
    };
}

macro_rules! from {
    ($($type:ty => $variant:ident($value:ident => $converted:expr);)+) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Value {
                Value::$variant($converted)
            }
        })+
    };
}

from! {
    i64 => Integer(value => value);
    i32 => Integer(value => value.into());
    u32 => Integer(value => value.into());
    u16 => Integer(value => value.into());
    u8 => Integer(value => value.into());
    bool => Integer(value => value.into());
    f64 => Real(value => value);
    String => Text(value => value);
    &str => Text(value => value.to_owned());
    &String => Text(value => value.clone());
    Vec<u8> => Blob(value => value);
    &[u8] => Blob(value => value.to_vec());
    &Vec<u8> => Blob(value => value.clone());
}

impl<const N: usize> From<[u8; N]> for Value {
    fn from(value: [u8; N]) -> Value {
        Value::Blob(value.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(value: &[u8; N]) -> Value {
        Value::Blob(value.to_vec())
    }
}

/// Sizes and counts. Nothing that is counted here reaches 2⁶³.
impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::from(value as u64)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// A type that a [`Value`] can be converted to.
pub trait FromValue: Sized {
    /// The expected type, with its article, as errors name it.
    const EXPECTED: &'static str;

    /// Converts the value; `None` if it has another type.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {
        $(impl FromValue for $type {
            const EXPECTED: &'static str = "a whole number in range";

            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::Integer(value) => value.try_into().ok(),
                    _ => None,
                }
            }
        })+
    };
}

whole_numbers!(i64, i32, u64, u32, u16, u8, usize);

impl FromValue for bool {
    const EXPECTED: &'static str = "0 or 1";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Integer(0) => Some(false),
            Value::Integer(1) => Some(true),
            _ => None,
        }
    }
}

impl FromValue for f64 {
    const EXPECTED: &'static str = "a number";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Real(value) => Some(value),
            #[expect(
                clippy::cast_precision_loss,
                reason = "SQLite returns whole sums of real numbers as integers"
            )]
            Value::Integer(value) => Some(value as f64),
            _ => None,
        }
    }
}

impl FromValue for String {
    const EXPECTED: &'static str = "text";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Text(value) => Some(value),
            _ => None,
        }
    }
}

impl FromValue for Vec<u8> {
    const EXPECTED: &'static str = "bytes";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Blob(value) => Some(value),
            _ => None,
        }
    }
}

impl<const N: usize> FromValue for [u8; N] {
    const EXPECTED: &'static str = "bytes of the right length";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Blob(value) => value.try_into().ok(),
            _ => None,
        }
    }
}

impl FromValue for Value {
    const EXPECTED: &'static str = "a value";

    fn from_value(value: Value) -> Option<Self> {
        Some(value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
