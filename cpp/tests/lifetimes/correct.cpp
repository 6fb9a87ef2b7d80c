// Correct programs, of which clang must report nothing: views by value, factories, containers, owners that move. See
// misuse.cpp.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <toft/pmr.hpp>
#include <toft/region.hpp>
#include <toft/toft.hpp>
#include <utility>
#include <vector>

struct node {
  int value;
  node *next = nullptr;
};

// ---- functions that take an arena return memory of it ----

node *of_an_arena(toft::arena &a) { return a.make<node>(); }
node *of_a_view(toft::arena_ref a) { return a.make<node>(); }
node *of_a_reference(const toft::arena_ref &a) { return a.make<node>(); }
node *of_c(toft_arena *a) { return toft::arena_ref(a).make<node>(); }
node *of_a_view_of_it(toft::arena &a) {
  toft::arena_ref r(a);
  return r.make<node>();
}
node *of_a_lease(const toft::lease &l) { return l.make<node>(); }
std::string_view text(toft::arena &a) { return a.copy("text"); }
toft::span<int> array(toft::arena &a) { return a.make_array<int>(3); }
void *bytes(toft::recycler &r) { return r.allocate(16); }
int *value(toft::pool<int> &p, toft::handle<int> h) { return p.get(h); }
toft::arena_ref view(toft::arena &a) { return a; }
node *of_a_function(toft::arena &a) { return view(a).make<node>(); }
void into_the_callers_variable(toft::arena &a, node *&out) { out = a.make<node>(); }

node *list(toft::arena &a) {
  node *first = nullptr;
  for (int i = 0; i < 3; i++) {
    node *n = a.make<node>();
    n->next = first;
    first = n;
  }
  return first;
}

// ---- use before the end ----

int read() {
  toft::arena a;
  node *n = a.make<node>();
  return n->value;
}
std::string converted() {
  toft::arena a;
  return std::string(a.copy("text"));
}
std::size_t measured() {
  toft::arena a;
  return a.copy("text").size();
}
int dereferenced() {
  toft::arena a;
  return *a.make<int>(3);
}
int in_the_loop(toft::arena &a) {
  node *n = nullptr;
  int sum = 0;
  for (int i = 0; i < 3; i++) {
    toft::scope s(a);
    n = s.make<node>();
    sum += n->value;
  }
  return sum;
}
node *older_than_the_scope(toft::arena &a) {
  node *n = a.make<node>();
  toft::scope s(a);
  (void)s.make<node>();
  return n;
}
node *behind_the_scope(toft::arena &a) {
  toft::scope s(a);
  return a.make<node>() != nullptr ? nullptr : nullptr;
}
toft_arena *arena_of_the_scope(toft_arena *a) {
  toft::scope s(a);
  return s.get();
}
int a_cleanup() {
  toft::arena a;
  int count = 0;
  a.defer([&count] { count++; });
  return a.reset();
}

// ---- containers ----

int in_a_vector() {
  toft::arena a;
  std::vector<node *> v;
  for (int i = 0; i < 3; i++) v.push_back(a.make<node>());
  return v[0]->value;
}
int a_vector_in_it() {
  toft::arena a;
  std::vector<int, toft::allocator<int, toft::arena>> v(&a);
  v.push_back(1);
  return v[0];
}
std::map<int, int> copied_out() {
  toft::recycling_resource r;
  std::pmr::map<int, int> m(&r);
  m.emplace(1, 1);
  return std::map<int, int>(m.begin(), m.end());
}
std::size_t in_a_region() {
  toft::region r;
  auto *v = r.make<std::pmr::vector<int>>(r.resource());
  for (int i = 0; i < 3; i++) v->push_back(i);
  return v->size();
}
void in_a_closure(std::function<node *()> &f, toft::arena &a) {
  f = [&a] { return a.make<node>(); };
}

// ---- owners in objects, and owners that move ----

struct document {
  toft::arena memory;
  node *root = nullptr;
};
struct parser {
  toft::arena memory;
  node *top;
  parser() : top(memory.make<node>()) {}
  node *next() { return memory.make<node>(); }
};
node *of_a_member(parser &p) { return p.next(); }

document factory() {
  document d;
  d.root = d.memory.make<node>();
  return d;
}
document moved_with_its_node() {
  toft::arena a;
  node *n = a.make<node>();
  return document{std::move(a), n};
}
std::unique_ptr<document> on_the_heap() {
  auto d = std::make_unique<document>();
  d->root = d->memory.make<node>();
  return d;
}
toft::arena arena_returned() {
  toft::arena a;
  a.make<node>()->value = 1;
  return a;
}
toft_arena *released(node *&out) {
  toft::arena a;
  out = a.make<node>();
  return a.release();
}
node *adopted(toft::arena &out) {
  toft::arena a;
  node *n = a.make<node>();
  out.adopt(std::move(a));
  return n;
}
int moved_to_another() {
  toft::arena b;
  node *n;
  {
    toft::arena a;
    n = a.make<node>();
    b = std::move(a);
  }
  return n->value;
}
int moved_into_an_optional() {
  std::optional<toft::arena> b;
  node *n;
  {
    toft::arena a;
    n = a.make<node>();
    b.emplace(std::move(a));
  }
  return n->value;
}

// ---- owners without an end in the function ----

std::string_view of_a_thread() {
  static thread_local toft::arena a;
  return a.copy("text");
}
toft::arena &of_the_process() {
  static toft::arena a;
  return a;
}
node *by_a_reference() { return of_the_process().make<node>(); }
node *of_the_heap(toft::arena *&out) {
  out = new toft::arena;
  return out->make<node>();
}
toft::arena_ref of_frames(const toft::frames &f) { return f.arena(); }
const node *of_a_file(const toft::frozen<node> &f) { return f.get(); }
