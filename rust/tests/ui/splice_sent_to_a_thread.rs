//! A splice allocates when it is dropped, and its arena belongs to one thread.

fn main() {
    let arena = toft::Arena::new();
    let mut v = arena.vec_from_iter([1, 2]);
    let splice = v.splice(..1, [3, 4, 5]);
    std::thread::scope(|threads| {
        threads.spawn(move || drop(splice));
    });
}
