//! Embeds the web app again after `cargo xtask web` has built it. A debug build reads its files from disk.

use std::env;

/// The built app, from the folder of this crate.
const BUILT_APP: &str = "../../web/studio/dist";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed={BUILT_APP}");
    }
}
