use super::{from_half, head};

#[test]
fn half_precision_is_read_exactly() {
    for (half, expected) in [
        (0x0000, 0.0),
        (0x3C00, 1.0),
        (0xC000, -2.0),
        (0x7BFF, 65_504.0),
        (0x0400, 0.000_061_035_156),
        (0x0001, 5.960_464_5e-8),
        (0x8001, -5.960_464_5e-8),
        (0x3555, 0.333_251_95),
    ] {
        assert!((from_half(half) - expected).abs() <= f32::EPSILON * expected.abs(), "{half:#x}");
    }
    assert!(from_half(0x7C00).is_infinite());
    assert!(from_half(0x7E00).is_nan());
}

/// A file of tensors with this head and so many bytes behind it.
fn check(json: &str, numbers: usize, expected: &str) {
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.resize(file.len() + numbers, 0);
    let found = match head(&file) {
        Ok(head) => format!("{} x {}", head.rows, head.columns),
        Err(error) => error.message,
    };
    assert_eq!(found.trim_start_matches("the file is no table of embeddings: "), expected);
}

#[test]
fn a_head_that_lies_is_refused() {
    let tensor = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"e":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    check(&tensor("F16", "[3,2]", "[0,12]"), 12, "3 x 2");
    check(&tensor("F32", "[3,2]", "[0,24]"), 24, "3 x 2");
    check(&tensor("F16", "[3,2]", "[0,12]"), 11, "its numbers don't fit its shape");
    check(&tensor("F16", "[3,3]", "[0,12]"), 12, "its numbers don't fit its shape");
    check(
        &tensor("F16", "[9223372036854775807,4]", "[0,12]"),
        12,
        "its numbers don't fit its shape",
    );
    check(&tensor("F16", "[6]", "[0,12]"), 12, "it has not two dimensions");
    check(&tensor("I64", "[3,2]", "[0,48]"), 48, "its numbers are of type `I64`");
    check("{}", 0, "it holds not one table but several, or none");
    check("[]", 0, "its head is no object");
}
