//! The names of git's objects. They only identify content here; nothing relies on them.

/// The name of a file's content.
pub(super) fn blob(bytes: &[u8]) -> String {
    let mut message = format!("blob {}\0", bytes.len()).into_bytes();
    message.extend(bytes);
    let words = digest(message);
    words.map(|word| format!("{word:08x}")).concat()
}

/// SHA-1 (FIPS 180-4 §6.1).
#[expect(clippy::many_single_char_names, reason = "the names of the standard")]
fn digest(mut message: Vec<u8>) -> [u32; 5] {
    let bits = (message.len() as u64).wrapping_mul(8);
    message.push(0x80);
    message.resize((message.len() + 8).next_multiple_of(64), 0);
    let end = message.len();
    message[end - 8..].copy_from_slice(&bits.to_be_bytes());
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in message.chunks_exact(64) {
        let mut schedule = [0_u32; 80];
        for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for at in 16..80 {
            let mixed = schedule[at - 3] ^ schedule[at - 8] ^ schedule[at - 14] ^ schedule[at - 16];
            schedule[at] = mixed.rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (at, word) in schedule.iter().enumerate() {
            let (mixed, constant) = match at {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a
                .rotate_left(5)
                .wrapping_add(mixed)
                .wrapping_add(e)
                .wrapping_add(constant)
                .wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (word, value) in state.iter_mut().zip([a, b, c, d, e]) {
            *word = word.wrapping_add(value);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_those_of_git() {
        // `git hash-object`.
        assert_eq!(super::blob(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(super::blob(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
        let long: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for length in 40..80 {
            assert_eq!(super::blob(&long[..length]).len(), 40);
        }
    }
}
