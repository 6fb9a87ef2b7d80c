// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    println!("cargo:rerun-if-changed=src/user.c");
    println!("cargo:rerun-if-changed=src/watched.c");
    println!("cargo:rerun-if-changed=../../c");
    let mut build = cc::Build::new();
    build
        .include("../../c/include")
        .file("src/user.c")
        .file("src/watched.c")
        .file("../../c/src/toft.c")
        .warnings(true)
        .extra_warnings(true);
    if std::env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("sanitizer=address")) {
        build.compiler(std::env::var("CLANG").unwrap_or("clang".into())).flag("-fsanitize=address");
    }
    build.compile("toft_user");
}
