// Commits one misuse, on purpose, and ends: `misuse ROW`, a row of the tables in docs/checked.md. make check-misuse
// builds it, runs it, and compares the findings with the table.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <toft/pmr.hpp>
#include <toft/toft.hpp>

namespace {

std::optional<toft::arena> arena;

void write_at(char *p, long at) { static_cast<volatile char *>(p)[at] = 1; }
char *bytes(const toft::arena_ref &a) { return static_cast<char *>(a.allocate(16, 1)); }
void refused(const char *with) {
  std::puts(with);
  std::exit(1);
}
void in_a_thread() {
  std::thread([] { static_cast<void>(arena->try_allocate(16, 1)); }).join();
}

// On the default of a program that moved its containers from malloc: through the virtual functions.
template <class Resource>
void recycle(void (*commit)(std::pmr::memory_resource &r, char *p)) {
  Resource resource;
  std::pmr::memory_resource &r = resource;
  commit(r, static_cast<char *>(r.allocate(16, 8)));
}
template <class Resource>
void recycle_late_write() {
  recycle<Resource>([](std::pmr::memory_resource &r, char *p) {
    r.deallocate(p, 16, 8);
    write_at(p, 3);
  });
}
template <class Resource>
void recycle_double_free() {
  recycle<Resource>([](std::pmr::memory_resource &r, char *p) {
    r.deallocate(p, 16, 8);
    r.deallocate(p, 16, 8);
  });
}
using recycling = toft::recycling_resource;
using synchronized = toft::synchronized_recycling_resource;

const std::map<std::string, void (*)()> rows = {
    {"recycler overrun", [] { recycle<recycling>([](std::pmr::memory_resource &, char *p) { write_at(p, 16); }); }},
    {"recycler underrun", [] { recycle<synchronized>([](std::pmr::memory_resource &, char *p) { write_at(p, -1); }); }},
    {"recycler late write", recycle_late_write<recycling>},
    {"recycler write after release",
     [] {
       char *p;
       {
         recycling resource;
         p = static_cast<char *>(resource.allocate(16, 8));
       }
       write_at(p, 3);
     }},
    {"lazy write after release",
     [] {
       char *p;
       {
         toft::lazy_arena lazy;
         p = bytes(lazy.get());
       }
       write_at(p, 3);
     }},
    {"shared write after release",
     [] {
       char *p;
       {
         toft::shared_arena shared;
         p = bytes(shared.local());
       }
       write_at(p, 3);
     }},
    {"recycler double free", recycle_double_free<synchronized>},
    {"recycler wrong size",
     [] { recycle<recycling>([](std::pmr::memory_resource &r, char *p) { r.deallocate(p, 24, 8); }); }},
    {"recycler foreign pointer",
     [] {
       recycle<synchronized>([](std::pmr::memory_resource &r, char *) {
         recycling other;
         r.deallocate(other.allocate(16, 8), 16, 8);
       });
     }},
    {"overrun, alive at exit",
     [] {
       write_at(bytes(*new toft::arena()), 16);
       std::exit(0);
     }},
    {"recycler overrun, alive at exit",
     [] {
       write_at(static_cast<char *>((new recycling())->allocate(16, 8)), 16);
       std::exit(0);
     }},
    {"overrun", [] { write_at(bytes(*arena), 16); }},
    {"underrun", [] { write_at(bytes(*arena), -1); }},
    {"write after rewind",
     [] {
       char *p;
       {
         toft::scope inner(*arena);
         p = bytes(*arena);
       }
       write_at(p, 3);
     }},
    {"write after reset",
     [] {
       char *p = bytes(*arena);
       arena->reset();
       write_at(p, 3);
     }},
    {"write after release",
     [] {
       char *p = bytes(*arena);
       arena.reset();
       write_at(p, 3);
     }},
    {"write after return",
     [] {
       char *p;
       {
         toft::lease l;
         p = bytes(l);
       }
       write_at(p, 3);
       toft::leases_ref().trim();
     }},
    {"call after return",
     [] {
       toft::lease l;
       toft::arena_ref kept = l;
       if (l.return_arena() != TOFT_OK) return;
       if (kept.try_allocate(16, 1) == nullptr) refused("NULL");
     }},
    {"double return",
     [] {
       toft::lease l;
       if (l.return_arena() == TOFT_OK && l.return_arena() == TOFT_EARG) refused("TOFT_EARG");
     }},
    {"read after reset",
     [] {
       volatile char *p = bytes(*arena);
       p[3] = 1;
       arena->reset();
       if (p[3] == 1) std::puts("it was still there");
     }},
    {"read before write",
     [] {
       volatile char *p = bytes(*arena);
       if (p[3] == 1) std::puts("it happened to be 1");
     }},
    {"call after release",
     [] {
       toft::arena_ref kept = *arena;
       arena.reset();
       if (kept.try_allocate(16, 1) != nullptr) std::puts("it was served");
     }},
    {"double release",
     [] {
       toft_arena *c = arena->get();
       arena.reset();
       toft_release(c);
     }},
    {"double free",
     [] {
       char *p = bytes(*arena);
       arena->deallocate(p, 16);
       arena->deallocate(p, 16);
     }},
    {"wrong size", [] { arena->deallocate(bytes(*arena), 24); }},
    {"stale mark",
     [] {
       toft::mark outer = arena->mark_here();
       bytes(*arena);
       toft::mark inner = arena->mark_here();
       arena->rewind(outer);
       bytes(*arena);
       arena->rewind(inner);
     }},
    {"foreign pointer",
     [] {
       toft::arena other;
       arena->deallocate(bytes(other), 16);
     }},
    {"two threads at once",  // certain to meet: one is in a cleanup of its reset
     [] {
       arena->defer(in_a_thread);
       arena->reset();
     }},
    {"thread it is not pinned to",
     [] {
       toft_pin(arena->get(), 1);
       in_a_thread();
     }},
};

}  // namespace

int main(int argc, char **argv) {
  auto row = argc == 2 ? rows.find(argv[1]) : rows.end();
  if (row == rows.end()) {
    std::fputs("misuse: what is to be done?\n", stderr);
    return 2;
  }
  arena.emplace();
  row->second();
  arena.reset();
  return 0;
}
