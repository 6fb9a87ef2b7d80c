//! Unit tests of `src/system/background.rs`, in one function: the cache of pages is global.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::system::page_cache::{set_page_window, trim};
use crate::Arena;

fn burst() {
    let arena = Arena::new();
    for _ in 0..30 << 10 {
        arena.alloc([1u8; 1024]);
    }
}

fn wait_until_empty() {
    for _ in 0..3000 {
        if held() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} bytes are cached after a minute", held());
}

#[test]
#[cfg_attr(any(miri, target_family = "wasm"), ignore = "no pages are cached, or there are no threads")]
fn pages_of_an_idle_process_are_returned() {
    let window = set_page_window(Duration::from_millis(50));
    burst(); // before the thread is switched on
    set_background_thread(true);
    for _ in 0..3 {
        wait_until_empty(); // the thread ends, and the next pages start another
        burst();
    }
    wait_until_empty();
    assert!(set_background_thread(false));
    trim();
    set_page_window(Duration::from_secs(3600));
    burst();
    assert!(held() > 20 << 20, "pages returned without a thread");
    trim();
    set_page_window(window);
}
