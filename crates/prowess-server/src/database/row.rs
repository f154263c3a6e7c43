//! Rows of a result, whichever database they come from.

use std::sync::Arc;

use super::error::DatabaseError;
use super::value::{FromValue, Value};

/// A row of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

/// What a column is addressed by: its number from 0, or its name.
pub trait ColumnIndex: Copy {
    /// The number of the column, if there is one.
    fn number(&self, columns: &[String]) -> Option<usize>;

    /// The column as errors name it.
    fn describe(&self) -> String;
}

impl ColumnIndex for usize {
    fn number(&self, columns: &[String]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }

    fn describe(&self) -> String {
        self.to_string()
    }
}

impl ColumnIndex for &str {
    fn number(&self, columns: &[String]) -> Option<usize> {
        columns.iter().position(|column| column == self)
    }

    fn describe(&self) -> String {
        (*self).to_owned()
    }
}

impl Row {
    pub(super) fn new(columns: Arc<[String]>, values: Vec<Value>) -> Row {
        Row { columns, values }
    }

    /// The value of a column, by its number from 0 or by its name.
    pub fn get<T: FromValue>(&self, index: impl ColumnIndex) -> Result<T, DatabaseError> {
        let number =
            index.number(&self.columns).ok_or_else(|| DatabaseError::NoColumn(index.describe()))?;
        T::from_value(self.values[number].clone())
            .ok_or_else(|| self.wrong_type(number, T::EXPECTED))
    }

    /// The values of all columns.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The values of all columns.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    fn wrong_type(&self, number: usize, expected: &'static str) -> DatabaseError {
        DatabaseError::Type { column: self.columns[number].clone(), expected }
    }
}
