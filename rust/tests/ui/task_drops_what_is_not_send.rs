// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    toft::TaskArena::new().alloc_drop(std::rc::Rc::new(1));
}
