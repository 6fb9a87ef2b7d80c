/* W5, pools: slots of 48 bytes, inserted, removed, looked up and walked.
 *     pools [--quick]
 * Writes one JSON object a row to stdout. All contenders are in this process, and take turns in rounds of changing
 * order.
 *
 * All contenders write the same 48 bytes for each value, and every sum is checked. `toft_pool` is toft::pool without
 * options, `toft_c_pool` the C calls. `model_freelist_scan` is a usual manual solution: a vector of slots with the
 * index of the next free one and a flag, walked slot by slot; its handles are indexes, and stale ones cannot be
 * detected. Handles of the list are iterators, which are not checked at all.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define TOFT_IMPLEMENTATION
#include "toft/pool.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

struct item {
  std::uint64_t word[6];
  explicit item(std::uint64_t i) : word{i, ~i, i, ~i, i, ~i} {}
};
static_assert(sizeof(item) == 48);

/* ---- contenders: insert gives a handle; remove; get, nullptr if it can detect that there is none; sum walks ---- */

struct toft_pool_contender {
  static constexpr const char *name = "toft_pool";
  using handle = toft::handle<item>;
  toft::pool<item> pool;
  handle insert(std::uint64_t i) { return pool.emplace(i); }
  void remove(handle h) { pool.erase(h); }
  const item *get(handle h) const { return pool.get(h); }
  std::uint64_t sum() const {
    std::uint64_t s = 0;
    for (const item &i : pool) s += i.word[0];
    return s;
  }
  std::size_t size() const { return pool.size(); }
  void clear() { pool.clear(); }
};

struct toft_c_contender {
  static constexpr const char *name = "toft_c_pool";
  using handle = toft_handle;
  toft_pool pool;
  toft_c_contender() {
    toft_pool_options o = TOFT_POOL_OPTIONS;
    o.slot_size = sizeof(item);
    if (toft_pool_init(&pool, &o) != TOFT_OK) throw std::bad_alloc();
  }
  toft_c_contender(const toft_c_contender &) = delete;
  ~toft_c_contender() { toft_pool_release(&pool); }
  handle insert(std::uint64_t i) {
    handle h;
    void *slot = toft_pool_insert(&pool, &h);
    if (slot == nullptr) throw std::bad_alloc();
    new (slot) item(i);
    return h;
  }
  void remove(handle h) { toft_pool_remove(&pool, h); }
  const item *get(handle h) const { return static_cast<const item *>(toft_pool_at(&pool, h)); }
  std::uint64_t sum() const {
    std::uint64_t s = 0;
    TOFT_POOL_EACH(w, &pool) s += static_cast<const item *>(toft_pool_walk_slot(&w))->word[0];
    return s;
  }
  std::size_t size() const { return toft_pool_count(&pool); }
  void clear() { toft_pool_clear(&pool); }
};

struct model_contender {
  static constexpr const char *name = "model_freelist_scan";
  static constexpr std::uint32_t none = UINT32_MAX;
  using handle = std::uint32_t;
  struct slot {
    item value;
    std::uint32_t next;
    bool alive;
  };
  std::vector<slot> slots;
  std::uint32_t free = none;
  std::size_t live = 0;
  handle insert(std::uint64_t i) {
    live++;
    if (free == none) {
      slots.push_back(slot{item(i), none, true});
      return static_cast<handle>(slots.size() - 1);
    }
    handle h = free;
    slot &s = slots[h];
    free = s.next;
    s.value = item(i);
    s.alive = true;
    return h;
  }
  void remove(handle h) {
    slot &s = slots[h];
    if (!s.alive) return;
    s.alive = false;
    s.next = free;
    free = h;
    live--;
  }
  const item *get(handle h) const { return h < slots.size() && slots[h].alive ? &slots[h].value : nullptr; }
  std::uint64_t sum() const {
    std::uint64_t s = 0;
    for (const slot &i : slots)
      if (i.alive) s += i.value.word[0];
    return s;
  }
  std::size_t size() const { return live; }
  void clear() {
    slots.clear();
    free = none;
    live = 0;
  }
};

struct list_contender {
  static constexpr const char *name = "std::list";
  using handle = std::list<item>::iterator;
  std::list<item> list;
  handle insert(std::uint64_t i) { return list.emplace(list.end(), i); }
  void remove(handle h) { list.erase(h); }
  const item *get(handle h) const { return &*h; }
  std::uint64_t sum() const {
    std::uint64_t s = 0;
    for (const item &i : list) s += i.word[0];
    return s;
  }
  std::size_t size() const { return list.size(); }
  void clear() { list.clear(); }
};

/* ---- rows ---- */

struct sample {
  std::string where, who;
  std::size_t n;
  std::vector<double> ns;
  bool good = true;
};
std::vector<sample> samples;

void add(const char *where, const char *who, std::size_t n, double ns, bool good) {
  auto it =
      std::find_if(samples.begin(), samples.end(), [&](const sample &s) { return s.where == where && s.who == who; });
  if (it == samples.end()) it = samples.insert(samples.end(), sample{where, who, n, {}, true});
  it->ns.push_back(ns / static_cast<double>(n));
  it->good &= good;
}

void print() {
  std::stable_sort(samples.begin(), samples.end(), [](const sample &a, const sample &b) { return a.where < b.where; });
  for (auto &s : samples) {
    std::sort(s.ns.begin(), s.ns.end());
    std::printf(
        "{\"workload\": \"W5\", \"case\": \"%s\", \"contender\": \"%s\", \"language\": \"C++\", \"unit\": \"ns\", "
        "\"median\": %.4g, \"min\": %.4g, \"max\": %.4g, \"rounds\": %zu, \"n\": %zu, \"verified\": %s}\n",
        s.where.c_str(), s.who.c_str(), s.ns[s.ns.size() / 2], s.ns.front(), s.ns.back(), s.ns.size(), s.n,
        s.good ? "true" : "false");
  }
}

/* Makes the compiler assume that its memory is read and written. */
template <class T>
void opaque(T &value) {
  __asm__ volatile("" : : "g"(&value) : "memory");
}

template <class Work>
double timed(Work work) {
  auto from = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from).count();
}

/* ---- the cases ---- */

constexpr std::size_t count = 100000;
std::vector<std::uint32_t> shuffled; /* 0 to count - 1 */
std::vector<std::uint32_t> picks;    /* for churn */

constexpr std::uint64_t sum_below(std::uint64_t n) { return n * (n - 1) / 2; }

template <class C>
__attribute__((noinline)) void fill(C &c, std::vector<typename C::handle> &h) {
  for (std::size_t i = 0; i < count; i++) h[i] = c.insert(i);
}
template <class C>
__attribute__((noinline)) std::uint64_t walk(const C &c) {
  return c.sum();
}
template <class C>
__attribute__((noinline)) void remove_first(C &c, const std::vector<typename C::handle> &h, std::size_t n) {
  for (std::size_t i = 0; i < n; i++) c.remove(h[shuffled[i]]);
}

template <class C>
void round_of() {
  std::vector<typename C::handle> h(count);
  { /* a new one, and its destruction */
    bool good = true;
    double ns = timed([&] {
      C c;
      opaque(c);
      fill(c, h);
      good = c.size() == count;
      opaque(c);
    });
    add("pool insert", C::name, count, ns, good);
  }
  C c;
  opaque(c);
  fill(c, h);
  {
    double ns = timed([&] {
      c.clear();
      opaque(c);
      fill(c, h);
      opaque(c);
    });
    add("pool insert after clear", C::name, count, ns, c.size() == count && walk(c) == sum_below(count));
  }
  {
    std::uint64_t s = 0;
    double ns = timed([&] {
      for (std::uint32_t i : shuffled) {
        const item *v = c.get(h[i]);
        if (v == nullptr) break;
        s += v->word[0];
      }
    });
    add("pool get", C::name, count, ns, s == sum_below(count));
  }
  auto walks = [&](const char *where, std::size_t live, std::uint64_t expected) {
    std::uint64_t s = walk(c), times = 5, got = 0;
    double ns = timed([&] {
      for (std::uint64_t i = 0; i < times; i++) {
        got += walk(c);
        opaque(c);
      }
    });
    add(where, C::name, live, ns / static_cast<double>(times), s == expected && got == times * s && c.size() == live);
  };
  walks("pool iterate 100%", count, sum_below(count));
  {
    std::uint64_t left = sum_below(count);
    std::size_t removed = count / 2, most = count - count / 20;
    for (std::size_t i = 0; i < removed; i++) left -= shuffled[i];
    remove_first(c, h, removed);
    walks("pool iterate 50%", count - removed, left);
    for (std::size_t i = removed; i < most; i++) left -= shuffled[i], c.remove(h[shuffled[i]]);
    walks("pool iterate 5%", count - most, left);
    for (std::size_t i = most; i < count; i++) c.remove(h[shuffled[i]]);
  }
  bool emptied = c.size() == 0;
  fill(c, h);
  { /* the free list is now in the order of the removals, as after long use */
    double ns = timed([&] {
      for (std::size_t i = 0; i < picks.size(); i++) {
        typename C::handle &one = h[picks[i]];
        c.remove(one);
        one = c.insert(i);
      }
    });
    std::uint64_t s = 0, expected = 0;
    for (auto &one : h) s += c.get(one)->word[0];
    std::vector<std::uint64_t> model(count);
    std::iota(model.begin(), model.end(), std::uint64_t{0});
    for (std::size_t i = 0; i < picks.size(); i++) model[picks[i]] = i;
    for (auto i : model) expected += i;
    add("pool churn", C::name, picks.size(), ns, emptied && s == expected && walk(c) == expected && c.size() == count);
  }
  c.clear();
  fill(c, h);
  double ns = timed([&] {
    remove_first(c, h, count);
    opaque(c);
  });
  add("pool remove", C::name, count, ns, c.size() == 0 && walk(c) == 0);
}

}  // namespace

int main(int argc, char **argv) {
  bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  std::size_t rounds = quick ? 5 : 21;
  std::mt19937_64 random(42);
  shuffled.resize(count);
  std::iota(shuffled.begin(), shuffled.end(), 0u);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  picks.resize(2 * count);
  for (auto &p : picks) p = static_cast<std::uint32_t>(random() % count);
  std::vector<void (*)()> all = {round_of<toft_pool_contender>, round_of<toft_c_contender>, round_of<model_contender>,
                                 round_of<list_contender>};
  for (std::size_t round = 0; round < rounds + 1; round++) {
    std::shuffle(all.begin(), all.end(), random); /* a varying order of contenders */
    for (auto one : all) one();
    if (round == 0)
      for (auto &s : samples) s.ns.clear(); /* the first round warms up */
  }
  print();
  return std::all_of(samples.begin(), samples.end(), [](const sample &s) { return s.good; }) ? 0 : 1;
}
