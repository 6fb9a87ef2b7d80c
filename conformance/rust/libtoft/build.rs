// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    println!("cargo:rerun-if-changed=../../../c");
    cc::Build::new().include("../../../c/include").file("../../../c/src/toft.c").compile("toft_c");
}
