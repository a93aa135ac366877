//! Links the binary with packed relative relocations where the C library can load them: it is 1.8 MB smaller, and fewer
//! pages are read when it starts. Such a binary needs that version of the library or a newer one.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told about its target by variables, and asks `getconf`"
)]

use std::env;
use std::process::Command;

/// The first version of the GNU C library that loads packed relocations.
const FIRST_GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_native = env::var("HOST") == env::var("TARGET");
    let is_gnu_linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux")
        && env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu");
    if is_native && is_gnu_linux && installed_glibc().is_some_and(|version| version >= FIRST_GLIBC) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's GNU C library.
fn installed_glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
