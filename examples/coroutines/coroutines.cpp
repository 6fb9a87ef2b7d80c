// Frames of C++20 coroutines in malloc's memory, a recycler, and the arena of a request:
//     coroutines REQUESTS
// A request is a tree of coroutines that await each other. In the first workload a request runs to its end before the
// next one begins; in the second, 100 requests are suspended at each leaf and resumed in turn. Prints for both the
// nanoseconds of a coroutine: of its frame and of its run. Ends with 1 if a result is wrong.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <toft/toft.hpp>
#include <vector>

// ---- memory for frames ----

struct heap_frames {
  void *allocate(std::size_t size) { return ::operator new(size); }
  void free(void *p, std::size_t size) { ::operator delete(p, size); }
};

struct recycler_frames {
  toft::recycler &memory;
  void *allocate(std::size_t size) { return memory.allocate(size); }
  void free(void *p, std::size_t size) { memory.deallocate(p, size); }
};

// A frame that ends before all later ones are made gives its memory back, as those of nested calls do; others wait for
// the end of the request.
struct arena_frames {
  toft::arena &memory;
  void *allocate(std::size_t size) { return memory.allocate(size); }
  void free(void *p, std::size_t size) { toft_free(memory.get(), p, size); }
};

// ---- a coroutine whose first parameter is its memory ----

template <class Frames>
struct task {
  struct promise_type {
    std::coroutine_handle<> awaiting = std::noop_coroutine();
    long result = 0;

    // The frame, and before it the memory that it came from.
    template <class... Rest>
    static void *operator new(std::size_t size, Frames &frames, Rest &...) {
      void *p = frames.allocate(size + header);
      *static_cast<Frames **>(p) = &frames;
      return static_cast<char *>(p) + header;
    }
    static void operator delete(void *frame, std::size_t size) {
      void *p = static_cast<char *>(frame) - header;
      (*static_cast<Frames **>(p))->free(p, size + header);
    }

    task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    void return_value(long value) { result = value; }
    void unhandled_exception() { std::abort(); }
    auto final_suspend() noexcept {
      struct transfer : std::suspend_always {
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
          return h.promise().awaiting;
        }
      };
      return transfer{};
    }
  };
  static constexpr std::size_t header = alignof(std::max_align_t);

  explicit task(std::coroutine_handle<promise_type> h) : handle(h) {}
  task(task &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  ~task() {
    if (handle) handle.destroy();
  }

  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) {
    handle.promise().awaiting = h;
    return handle;
  }
  long await_resume() { return handle.promise().result; }

  std::coroutine_handle<promise_type> handle;
};

// ---- the workload ----

static std::deque<std::coroutine_handle<>> ready;  // leaves that wait

struct wait_for_turn {
  bool waits;
  bool await_ready() { return !waits; }
  void await_suspend(std::coroutine_handle<> h) { ready.push_back(h); }
  void await_resume() {}
};

template <class Frames>
task<Frames> visit(Frames &frames, int depth, bool waits, long number) {
  if (depth == 0) {
    co_await wait_for_turn{waits};
    co_return number;
  }
  long left = co_await visit(frames, depth - 1, waits, 2 * number);
  co_return left + co_await visit(frames, depth - 1, waits, 2 * number + 1);
}

constexpr int depth = 6;
constexpr int coroutines_of_request = (2 << depth) - 1;
constexpr long expected = [] {
  long sum = 0;
  for (long leaf = 1 << depth; leaf < 2 << depth; leaf++) sum += leaf;
  return sum;
}();

static void check(long result) {
  if (result != expected) {
    std::fprintf(stderr, "coroutines: a result is %ld, not %ld\n", result, expected);
    std::exit(1);
  }
}

struct heap_request {
  heap_frames frames;
};
struct recycler_request {
  static inline toft::recycler memory;
  recycler_frames frames{memory};
};
struct arena_request {
  toft::arena memory;  // of the thread's cache
  arena_frames frames{memory};
};

template <class Request>
void run_one_by_one(int requests) {
  for (int i = 0; i < requests; i++) {
    Request r;
    auto root = visit(r.frames, depth, false, 1);
    root.handle.resume();
    check(root.handle.promise().result);
  }
}

template <class Request>
void run_in_turn(int requests) {
  using frames = decltype(Request::frames);
  for (int i = 0; i < requests; i += 100) {
    std::vector<std::unique_ptr<Request>> open;
    std::vector<task<frames>> roots;
    for (int k = 0; k < 100; k++) {
      open.push_back(std::make_unique<Request>());
      roots.push_back(visit(open.back()->frames, depth, true, 1));
      roots.back().handle.resume();
    }
    while (!ready.empty()) {
      auto h = ready.front();
      ready.pop_front();
      h.resume();
    }
    for (auto &root : roots) check(root.handle.promise().result);
    roots.clear();  // before their memory
  }
}

static double nanoseconds(void (*run)(int), int requests) {
  auto begin = std::chrono::steady_clock::now();
  run(requests);
  std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  return time.count() / requests / coroutines_of_request;
}

int main(int argc, char **argv) {
  int requests = argc == 2 ? std::atoi(argv[1]) / 100 * 100 : 0;
  if (requests < 100) {
    std::fprintf(stderr, "usage: coroutines REQUESTS, at least 100\n");
    return 2;
  }
  struct row {
    const char *name;
    void (*one_by_one)(int), (*in_turn)(int);
    double best[2];
  } rows[] = {{"malloc", run_one_by_one<heap_request>, run_in_turn<heap_request>, {1e9, 1e9}},
              {"a recycler", run_one_by_one<recycler_request>, run_in_turn<recycler_request>, {1e9, 1e9}},
              {"an arena for a request", run_one_by_one<arena_request>, run_in_turn<arena_request>, {1e9, 1e9}}};
  for (int round = 0; round < 7; round++)
    for (row &r : rows) {
      r.best[0] = std::min(r.best[0], nanoseconds(r.one_by_one, requests));
      r.best[1] = std::min(r.best[1], nanoseconds(r.in_turn, requests));
    }
  std::printf("C++20 frames in          ns, nested  ns, in turn\n");
  for (const row &r : rows) std::printf("%-24s %10.1f %12.1f\n", r.name, r.best[0], r.best[1]);
  return 0;
}
