use super::{from_half, head};

#[test]
fn half_precision_is_converted_exactly() {
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

/// Parses a safetensors file with this header and number of data bytes.
fn check(json: &str, numbers: usize, expected: &str) {
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.resize(file.len() + numbers, 0);
    let found = match head(&file) {
        Ok(head) => format!("{} x {}", head.rows, head.columns),
        Err(error) => error.message,
    };
    assert_eq!(found.trim_start_matches("the file is not a table of embeddings: "), expected);
}

#[test]
fn inconsistent_headers_are_rejected() {
    let tensor = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"e":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    check(&tensor("F16", "[3,2]", "[0,12]"), 12, "3 x 2");
    check(&tensor("F32", "[3,2]", "[0,24]"), 24, "3 x 2");
    check(&tensor("F16", "[3,2]", "[0,12]"), 11, "its size does not match its shape");
    check(&tensor("F16", "[3,3]", "[0,12]"), 12, "its size does not match its shape");
    check(
        &tensor("F16", "[9223372036854775807,4]", "[0,12]"),
        12,
        "its size does not match its shape",
    );
    check(&tensor("F16", "[6]", "[0,12]"), 12, "it does not have two dimensions");
    check(&tensor("I64", "[3,2]", "[0,48]"), 48, "its numbers are of type `I64`");
    check("{}", 0, "it must contain exactly one table");
    check("[]", 0, "its header is not an object");
}
