//! Builds archives byte by byte, so that any field can be invalid.

use std::io::Write as _;

/// The manifest of every archive here.
pub const MANIFEST: &[u8] =
    b"---\nname: demo\nversion: 1.2.0\ndescription: Shows a thing\n---\n\n# Demo\n";

/// An entry of a tar archive.
#[derive(Clone)]
pub struct TarEntry {
    /// The path, or the end of a long one.
    pub name: Vec<u8>,
    /// The beginning of a long path.
    pub prefix: Vec<u8>,
    /// The type flag: `0` is a file.
    pub kind: u8,
    /// Its permissions.
    pub mode: u32,
    /// The target of a link.
    pub link: Vec<u8>,
    /// The magic bytes, which select the tar format.
    pub magic: &'static [u8; 8],
    /// The content.
    pub data: Vec<u8>,
    /// The size in the header, if it differs from the real one.
    pub size: Option<u64>,
    /// Whether the header's checksum is wrong.
    pub checksum_is_wrong: bool,
}

/// A file of a tar archive.
pub fn file(name: &str, data: &[u8]) -> TarEntry {
    entry(name.as_bytes(), b'0', data)
}

/// An entry of any kind.
pub fn entry(name: &[u8], kind: u8, data: &[u8]) -> TarEntry {
    TarEntry {
        name: name.to_owned(),
        prefix: Vec::new(),
        kind,
        mode: 0o644,
        link: Vec::new(),
        magic: b"ustar\x0000",
        data: data.to_owned(),
        size: None,
        checksum_is_wrong: false,
    }
}

/// A link of a tar archive, symbolic (`2`) or hard (`1`).
pub fn link(name: &str, kind: u8, target: &str) -> TarEntry {
    TarEntry { link: target.as_bytes().to_owned(), ..entry(name.as_bytes(), kind, b"") }
}

/// The manifest as an entry.
pub fn manifest() -> TarEntry {
    file("SKILL.md", MANIFEST)
}

/// An extended header with these records.
pub fn pax(kind: u8, records: &[(&str, &str)]) -> TarEntry {
    let mut data = String::new();
    for (key, value) in records {
        let rest = format!(" {key}={value}\n");
        let mut length = rest.len() + 1;
        while length.to_string().len() + rest.len() != length {
            length += 1;
        }
        data.push_str(&length.to_string());
        data.push_str(&rest);
    }
    entry(b"PaxHeader", kind, data.as_bytes())
}

impl TarEntry {
    fn bytes(&self) -> Vec<u8> {
        let mut block = [0u8; 512];
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.name);
        put(100, format!("{:07o}", self.mode).as_bytes());
        put(108, b"0001750");
        put(116, b"0001750");
        let size = self.size.unwrap_or(self.data.len() as u64);
        put(124, format!("{size:011o}").as_bytes());
        put(136, b"14371573215");
        put(148, b"        ");
        put(156, &[self.kind]);
        put(157, &self.link);
        put(257, self.magic);
        put(265, b"somebody");
        put(345, &self.prefix);
        let mut sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        sum += u32::from(self.checksum_is_wrong);
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut bytes = block.to_vec();
        bytes.extend(&self.data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

/// The entries without the end-of-archive marker.
pub fn tar_body(entries: &[TarEntry]) -> Vec<u8> {
    entries.iter().flat_map(TarEntry::bytes).collect()
}

/// A complete `.tar`.
pub fn tar(entries: &[TarEntry]) -> Vec<u8> {
    let mut bytes = tar_body(entries);
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Compresses with the lowest effort: only decompression is tested.
pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(bytes).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail")
}

/// The beginning of a decompression bomb: a `.tar.gz` with a file of `pieces` times 64 KiB of zeroes.
pub fn bomb(pieces: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let deflate = |bytes: &[u8], compressed: &mut Vec<u8>| {
        let mut state = flate2::Compress::new(flate2::Compression::best(), false);
        let mut buffer = Vec::with_capacity(bytes.len() + 100);
        state.compress_vec(bytes, &mut buffer, flate2::FlushCompress::Full).expect("it fits");
        compressed.extend(buffer);
    };
    let size = Some(pieces as u64 * (64 << 10));
    deflate(&tar_body(&[manifest(), TarEntry { size, ..file("zeroes", b"") }]), &mut bytes);
    let mut piece = Vec::new();
    deflate(&vec![0; 64 << 10], &mut piece);
    bytes.extend(piece.repeat(pieces));
    bytes
}

/// A `.tar.gz` with a manifest and these entries.
pub fn tar_gz(entries: &[TarEntry]) -> Vec<u8> {
    let mut all = vec![manifest()];
    all.extend_from_slice(entries);
    gz(&tar(&all))
}

/// An entry of a zip archive. The local header and the central directory can differ.
#[derive(Clone)]
pub struct ZipEntry {
    /// The path in the central directory.
    pub name: Vec<u8>,
    /// The path in the local header, if it differs.
    pub local_name: Option<Vec<u8>>,
    /// General purpose flags: 8 means that the sizes follow the data.
    pub flags: u16,
    /// The compression method: 8 is deflate, 0 is stored.
    pub method: u16,
    /// The content.
    pub data: Vec<u8>,
    /// Permissions and kind, in the upper half.
    pub attributes: u32,
    /// Extra fields in the central directory.
    pub extra: Vec<u8>,
    /// Extra fields in the local header.
    pub local_extra: Vec<u8>,
    /// The length in the central directory, if it differs from the real one.
    pub length: Option<u32>,
    /// The length in the local header, if it differs.
    pub local_length: Option<u32>,
    /// The checksum, if it is wrong.
    pub crc: Option<u32>,
    /// Bytes after the compressed data that count as part of it.
    pub hidden: Vec<u8>,
    /// Bytes after the entry that no header covers.
    pub gap: Vec<u8>,
}

/// A file of a zip archive.
pub fn zipped(name: &str, data: &[u8]) -> ZipEntry {
    ZipEntry {
        name: name.as_bytes().to_owned(),
        local_name: None,
        flags: 0,
        method: 8,
        data: data.to_owned(),
        attributes: 0o100_644 << 16,
        extra: Vec::new(),
        local_extra: Vec::new(),
        length: None,
        local_length: None,
        crc: None,
        hidden: Vec::new(),
        gap: Vec::new(),
    }
}

/// A `.zip` with a manifest and these entries.
pub fn zip(entries: &[ZipEntry]) -> Vec<u8> {
    let mut all = vec![zipped("SKILL.md", MANIFEST)];
    all.extend_from_slice(entries);
    zip_of(&all, b"")
}

/// A `.zip` with these entries and a comment at its end.
pub fn zip_of(entries: &[ZipEntry], comment: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = u32::try_from(bytes.len()).expect("small");
        let mut packed = if entry.method == 8 { deflate(&entry.data) } else { entry.data.clone() };
        packed.extend(&entry.hidden);
        let mut crc = flate2::Crc::new();
        crc.update(&entry.data);
        let crc = entry.crc.unwrap_or(crc.sum());
        let packed_length = u32::try_from(packed.len()).expect("small");
        let length = entry.length.unwrap_or(u32::try_from(entry.data.len()).expect("small"));
        let streamed = entry.flags & 8 != 0;
        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(b"PK\x03\x04");
        for value in [20, entry.flags, entry.method, 0, 0x21] {
            bytes.extend(u16::to_le_bytes(value));
        }
        let local = (crc, packed_length, entry.local_length.unwrap_or(length));
        let local = if streamed { (0, 0, 0) } else { local };
        for value in [local.0, local.1, local.2] {
            bytes.extend(u32::to_le_bytes(value));
        }
        for length in [local_name.len(), entry.local_extra.len()] {
            bytes.extend(u16::try_from(length).expect("small").to_le_bytes());
        }
        bytes.extend(local_name);
        bytes.extend(&entry.local_extra);
        bytes.extend(&packed);
        if streamed {
            bytes.extend(b"PK\x07\x08");
            for value in [crc, packed_length, length] {
                bytes.extend(u32::to_le_bytes(value));
            }
        }
        bytes.extend(&entry.gap);
        directory.extend(b"PK\x01\x02");
        for value in [0x0314, 20, entry.flags, entry.method, 0, 0x21] {
            directory.extend(u16::to_le_bytes(value));
        }
        for value in [crc, packed_length, length] {
            directory.extend(u32::to_le_bytes(value));
        }
        for length in [entry.name.len(), entry.extra.len(), 0, 0, 0] {
            directory.extend(u16::try_from(length).expect("small").to_le_bytes());
        }
        directory.extend(u32::to_le_bytes(entry.attributes));
        directory.extend(u32::to_le_bytes(offset));
        directory.extend(&entry.name);
        directory.extend(&entry.extra);
    }
    let offset = u32::try_from(bytes.len()).expect("small");
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    for _ in 0..2 {
        bytes.extend(u16::try_from(entries.len()).expect("small").to_le_bytes());
    }
    bytes.extend(u32::try_from(directory.len()).expect("small").to_le_bytes());
    bytes.extend(u32::to_le_bytes(offset));
    bytes.extend(u16::try_from(comment.len()).expect("small").to_le_bytes());
    bytes.extend(comment);
    bytes
}

/// An extra field.
pub fn extra(id: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).expect("small");
    [&id.to_le_bytes(), &length.to_le_bytes(), value].concat()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail")
}
