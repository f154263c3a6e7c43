//! The binary form of `NUMERIC`, the type that Postgres gives to sums of `BIGINT`.
//!
//! Four numbers of 16 bits (digits, weight, sign, scale), then the digits in base 10,000; the first digit counts
//! 10,000^weight.

use bytes::{BufMut as _, BytesMut};

use super::value::Value;

const BASE: i128 = 10_000;
const NEGATIVE: u16 = 0x4000;

/// More digits than any sum of 64-bit numbers has.
const MOST_DIGITS: usize = 64;

/// Whole numbers become [`Value::Integer`], others [`Value::Real`]; `None` if it is too large, or not a number.
pub(super) fn read(raw: &[u8]) -> Option<Value> {
    let mut words = raw.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let count = usize::from(words.next()?);
    let weight = i32::from(words.next()?.cast_signed());
    let sign = words.next()?;
    let _scale = words.next()?;
    if count > MOST_DIGITS || (sign != 0 && sign != NEGATIVE) {
        return None;
    }
    let digits: Vec<u16> = words.take(count).collect();
    let mut whole: i128 = 0;
    let mut real = 0.0;
    let mut is_whole = true;
    for (number, digit) in (0..).zip(&digits) {
        let power: i32 = weight - number;
        real += f64::from(*digit) * 10_000_f64.powi(power);
        if power >= 0 {
            let scaled = BASE.checked_pow(power.unsigned_abs())?.checked_mul(i128::from(*digit))?;
            whole = whole.checked_add(scaled)?;
        } else if *digit != 0 {
            is_whole = false;
        }
    }
    let is_negative = sign == NEGATIVE;
    Some(if is_whole {
        Value::Integer(if is_negative { -whole } else { whole }.try_into().ok()?)
    } else {
        Value::Real(if is_negative { -real } else { real })
    })
}

/// Writes a whole number.
pub(super) fn write(value: i64, out: &mut BytesMut) {
    let mut digits = Vec::new();
    let mut left = value.unsigned_abs();
    while left > 0 {
        digits.push(u16::try_from(left % 10_000).expect("a remainder of 10,000"));
        left /= 10_000;
    }
    let count = u16::try_from(digits.len()).expect("64 bits have five digits");
    out.put_u16(count);
    out.put_u16(count.saturating_sub(1));
    out.put_u16(if value < 0 { NEGATIVE } else { 0 });
    out.put_u16(0);
    for digit in digits.into_iter().rev() {
        out.put_u16(digit);
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{read, write};
    use crate::database::Value;

    #[test]
    fn whole_numbers_survive_writing_and_reading() {
        for value in [0, 1, -1, 9_999, 10_000, -10_001, 123_456_789_012, i64::MAX, i64::MIN] {
            let mut raw = BytesMut::new();
            write(value, &mut raw);
            assert_eq!(read(&raw), Some(Value::Integer(value)));
        }
    }

    #[test]
    fn numbers_with_a_fraction_are_real() {
        // 1.5: two digits, weight 0, positive, scale 1; 1 and 5000.
        let raw = [0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0x13, 0x88];
        assert_eq!(read(&raw), Some(Value::Real(1.5)));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0, 0, 0, 0, 0xC0, 0, 0, 0]), None);
        // 10,000^40.
        assert_eq!(read(&[0, 1, 0, 40, 0, 0, 0, 0, 0, 1]), None);
    }
}
