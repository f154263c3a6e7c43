//! What must hold for any archive.

use std::io::Cursor;

use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::Tree;
use prowess_package::unpack::{UnpackOptions, unpack_to_memory};

/// An archive is unpacked to no more than was allowed and only to paths that are one on every system, or refused; and
/// what came out can be packed and comes out again.
pub fn unpacking_is_safe(archive: &[u8]) {
    let limits =
        PackageLimits { entries: 64, bytes: 1 << 20, file_bytes: 1 << 19, archive_bytes: 1 << 20 };
    let options = UnpackOptions { limits, name: None };
    let Ok((unpacked, tree)) = unpack_to_memory(Cursor::new(archive), &options) else { return };
    let lengths = tree.files().map(|(_, file)| file.bytes.len() as u64);
    assert!(lengths.sum::<u64>() <= limits.bytes && tree.files().count() <= limits.entries);
    for (path, _) in tree.files() {
        assert!(path.parts().all(|part| !matches!(part, "" | "." | "..")), "{path}");
    }
    assert_eq!(unpacked.hashes, tree.hashes());
    // What passed once passes again: the checks of packing and unpacking are the same.
    let files = tree.files().map(|(path, file)| (path.clone(), file.clone()));
    let checked = Tree::from_files(files, &limits).expect("what was unpacked can be packed");
    let options = UnpackOptions {
        limits: PackageLimits { entries: 256, archive_bytes: 4 << 20, ..limits },
        name: Some(&unpacked.name),
    };
    let (_, again) = unpack_to_memory(Cursor::new(pack(&checked)), &options)
        .expect("what was packed is unpacked");
    assert_eq!(again, checked);
}
