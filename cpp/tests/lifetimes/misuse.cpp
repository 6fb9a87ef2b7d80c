// Memory that is used after the end of its owner, in C++. clang-tidy compiles it and must report the lines with
// "found: ROW" and no others; the rows are those of docs/checked.md. It is not run. scripts/check-lifetimes has the
// command.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <memory>
#include <optional>
#include <string_view>
#include <toft/pmr.hpp>
#include <toft/region.hpp>
#include <toft/toft.hpp>
#include <vector>

struct node {
  int value;
};
struct document {
  node *root;
};

// ---- arenas ----

int written_after_the_arena() {
  node *n;
  {
    toft::arena a;
    n = a.make<node>();  // found: write after release
  }
  return n->value = 1;
}
int written_after_the_scope(toft::arena_ref a) {
  node *n;
  {
    toft::scope s(a);
    n = s.make<node>();  // found: write after rewind
  }
  return n->value = 1;
}
int written_after_a_scope_of_a_frame(toft::frames &f) {
  node *n;
  {
    toft::frame_scope s(f);
    n = s.make<node>();  // found: write after rewind
  }
  return n->value = 1;
}
int written_after_the_lease() {
  node *n;
  {
    toft::lease l;
    n = l.make<node>();  // found: write after return
  }
  return n->value = 1;
}
toft::arena_ref a_view_of_an_arena() {
  toft::arena a;
  return a;  // found: call after release
}
toft::arena_ref a_view_of_a_lease() {
  toft::lease l;
  return l;  // found: call after return
}
int called_after_release(toft::arena_ref r) {
  {
    toft::arena a;
    r = toft::arena_ref(a);  // found: call after release
  }
  return r.make<node>()->value;
}
int deleted() {
  auto *a = new toft::arena;  // found: write after release
  node *n = a->make<node>();
  delete a;
  return n->value = 1;
}
int a_temporary_arena() {
  node *n = toft::arena().make<node>();  // found: write after release
  return n->value = 1;
}

// ---- results that leave the function of their owner ----

node *returned() {
  toft::arena a;
  return a.make<node>();  // found: result is returned
}
std::string_view text_returned() {
  toft::arena a;
  return a.copy("text");  // found: result is returned
}
char *number_returned() {
  toft::arena a;
  return a.format("%d", 1);  // found: result is returned
}
toft::span<int> array_returned() {
  toft::arena a;
  return a.make_array<int>(10);  // found: result is returned
}
void *bytes_returned() {
  toft::arena a;
  return a.try_allocate(10);  // found: result is returned
}
toft_arena *handle_returned() {
  toft::arena a;
  return a.get();  // found: result is returned
}
void *bytes_of_c_returned() {
  toft::arena a;
  return toft_alloc(a.get(), 10);  // found: result is returned
}
char *hook_of_c_returned() {
  toft::arena a;
  return static_cast<char *>(toft_hook_malloc(a.get(), 10));  // found: result is returned
}
node *kept;
void in_a_global() {
  toft::arena a;
  kept = a.make<node>();  // found: result in a global variable
}

// ---- the other owners ----

int written_after_the_recycler() {
  void *p;
  {
    toft::recycling_resource r;
    p = r.allocate(16, 8);  // found: recycler write after release
  }
  return *static_cast<int *>(p) = 1;
}
void *of_a_recycler() {
  toft::recycler r;
  return r.allocate(16);  // found: recycler write after release
}
void *of_a_synchronized_recycler() {
  toft::synchronized_recycler r;
  return r.allocate(16);  // found: recycler write after release
}
int written_after_the_lazy_arena() {
  toft::arena_ref a(nullptr);
  {
    toft::lazy_arena l;
    a = l.get();  // found: lazy write after release
  }
  return a.make<node>()->value = 1;
}
int written_after_the_shared_arena() {
  void *p;
  {
    toft::shared_arena s;
    p = s.allocate(16);  // found: shared write after release
  }
  return *static_cast<int *>(p) = 1;
}
toft::arena_ref local_of_a_shared_arena() {
  toft::shared_arena s;
  return s.local();  // found: shared write after release
}
toft::arena_ref arena_of_frames() {
  toft::frames f;
  return f.arena();  // found: arena of frames that ended
}
int *value_of_a_pool() {
  toft::pool<int> p;
  auto h = p.emplace(1);
  return p.get(h);  // found: value of a pool that ended
}
node *content_of_a_region() {
  toft::region r;
  return r.make<node>();  // found: content of a region that ended
}
std::pmr::memory_resource *resource_of_a_region() {
  toft::region r;
  return r.resource();  // found: content of a region that ended
}
const node *content_of_a_file(const char *path) {
  toft::frozen<node> f(path);
  return f.get();  // found: content of a frozen file that was closed
}
toft_source *source_of_a_budget() {
  toft::budget b;
  return b.source();  // found: source that ended
}

// ---- not found ----

int used_after_reset() {
  toft::arena a;
  node *n = a.make<node>();
  a.reset();
  return n->value;  // missed: read after reset
}
void written_after_reset() {
  toft::arena a;
  node *n = a.make<node>();
  a.reset();
  n->value = 1;  // missed: write after reset
}
void in_an_object_of_the_caller(document &d) {
  toft::arena a;
  d.root = a.make<node>();  // missed: result in an object of the caller
}
void in_a_container_of_the_caller(std::vector<node *> &v) {
  toft::arena a;
  v.push_back(a.make<node>());  // missed: result in an object of the caller
}
node *by_a_view() {
  toft::arena a;
  toft::arena_ref r(a);
  return r.make<node>();  // missed: result of a view
}
std::pmr::vector<int> in_a_container() {
  toft::recycling_resource r;
  return std::pmr::vector<int>({1, 2, 3}, &r);  // missed: container whose resource ended
}
void in_a_cleanup(toft::arena &a) {
  int count = 0;
  a.defer([&count] { count++; });  // missed: cleanup that refers to a variable that ended
}
int of_an_optional() {
  std::optional<toft::arena> a(std::in_place);
  node *n = a->make<node>();
  a.reset();
  return n->value;  // missed: owner in an optional
}
