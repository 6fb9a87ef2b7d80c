// Runs W5: all contenders side by side in one process, in rotated rounds.
//     w5 [--quick] [--once] [--only CASE] BUILD
// BUILD is the name to print: compiler and library. --once: includes measurements that do not depend on the compiler:
// the footprints, the first repetition of a process, and with --quick the verification. --only: one case. Writes a JSON
// object a row to stdout.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "describe.hpp"

namespace w5 {

#define X(name) group name##_group();
GROUPS
#undef X

namespace {

struct info {
  const char *name, *with_setup;         // with_setup: the row that includes construction and destruction, or null
  std::size_t n;                         // elements in a repetition
  std::size_t reps, quick_reps;          // the same for all
  double quick_seconds;                  // no further round that would not end by then
  std::size_t arena_bytes, pool_blocks;  // as in ArenaMR's benchmarks; there are ten arenas
};
const info infos[CASES] = {
    {"B1", "B1 + destroy", 100000, 10, 2, 1.2, 100000, 150000},
    {"B2", "B2 + destroy", 1000, 100, 100, 0.4, 10000000, 1500},
    {"B1 shuffled", nullptr, 100000, 2, 1, 1.4, 100000, 150000},
    {"interleaved", nullptr, 100000, 6, 2, 0.7, 100000, 150000},
    {"churn", nullptr, churn::n, 5, 1, 0.7, 100000, 150000},
    {"replacement", nullptr, replacement::n, 5, 1, 0.4, 100000, 150000},
    {"strings", nullptr, strings::n, 10, 2, 0.4, 100000, 150000},
    {"unordered_map", nullptr, unordered::n, 5, 1, 0.4, 100000, 150000},
    {"vector", nullptr, vector_growth::n, 30, 10, 0.1, 100000, 150000},
    {"list", nullptr, list_growth::n, 10, 2, 0.3, 100000, 150000},
    {"nodes", nullptr, nodes::n, 300, 50, 0.1, 100000, 150000},
    {"aligned", nullptr, over_aligned::n, 600, 100, 0.1, 100000, 150000},
    {"oversize", nullptr, oversize::n, 2000, 500, 0.2, 100000, 150000},
    {"buffers", nullptr, buffers::n, 4, 1, 0.5, 100000, 150000},
    {"life", nullptr, 1, 5000, 1000, 0.2, 10000, 150000},
    {"hot", nullptr, hot::n, 250, 100, 0.1, 100000, 150000},
    {"hot direct", nullptr, hot::n, 250, 100, 0.1, 100000, 150000},
};

const char *build_name;
const char *only;  // null: all cases
bool quick, once;
std::vector<contender> contenders;
std::vector<char> verified;  // by contender: all its results were correct

[[noreturn]] void fail(const char *contender, const char *reason) {
  std::fprintf(stderr, "w5: %s: %s\n", contender, reason);
  std::exit(1);
}

task task_of(const info &i) {
  task t;
  t.arena_bytes = i.arena_bytes;
  t.pool_blocks = i.pool_blocks;
  return t;
}

void print_row(const char *name, std::size_t who, std::vector<double> ns, std::size_t n, bool good,
               const char *more = "") {
  std::sort(ns.begin(), ns.end());
  double median = (ns[(ns.size() - 1) / 2] + ns[ns.size() / 2]) / 2;
  std::printf(
      "{\"workload\":\"W5\",\"case\":\"%s\",\"contender\":\"%s\",\"language\":\"C++\",\"build\":\"%s\",\"unit\":\"ns\","
      "\"median\":%.4f,\"min\":%.4f,\"max\":%.4f,\"rounds\":%zu,\"n\":%zu,\"verified\":%s%s}\n",
      name, contenders[who].name, build_name, median, ns.front(), ns.back(), ns.size(), n,
      good && verified[who] ? "true" : "false", more);
  std::fflush(stdout);
}

// ---- verification: every case once over a counting upstream ----

bool verify(const contender &c) {
  bool good = true;
  for (int k = 0; k < CASES; k++) {
    counting heap;
    task t = task_of(infos[k]);
    if (c.run[k] == nullptr) continue;
    t.verify = true;
    t.from = &heap;
    t.reps = infos[k].n >= 100000 ? 1 : 2;
    if (!c.run[k](t).good || heap.live != 0) {
      std::fprintf(stderr, "w5: %s: %s: NOT VERIFIED, %zu B left\n", c.name, infos[k].name, heap.live);
      good = false;
    }
  }
  return good;
}

// ---- time ----

struct samples {
  bool good = true;
  std::vector<double> work, with_setup;
};

void run_case(int k, std::size_t rounds) {
  const info &i = infos[k];
  std::vector<samples> all(contenders.size());
  task t = task_of(i);
  double start = now();
  t.reps = quick ? i.quick_reps : i.reps;
  for (std::size_t round = 0; round < rounds; round++) {
    double spent = (now() - start) / 1e9;
    if (quick && round > 0 && spent + spent / double(round) > i.quick_seconds) break;
    // Every other round in reverse: the order of contenders matters to a heap.
    for (std::size_t step = 0; step < contenders.size(); step++) {
      std::size_t back = round % 2 == 0 ? step : contenders.size() - 1 - step;
      std::size_t who = (round + back) % contenders.size();
      auto run = contenders[who].run[k];
      if (run == nullptr) continue;
      outcome o = run(t);
      all[who].good &= o.good;
      all[who].work.push_back(o.work / double(i.n * t.reps));
      all[who].with_setup.push_back(o.with_setup / double(i.n * t.reps));
    }
  }
  for (std::size_t who = 0; who < contenders.size(); who++) {
    const contender &c = contenders[who];
    if (c.run[k] == nullptr) continue;
    print_row(i.name, who, all[who].work, i.n * t.reps, all[who].good);
    if (i.with_setup != nullptr && (c.traits & is_floor) == 0)
      print_row(i.with_setup, who, all[who].with_setup, i.n * t.reps, all[who].good);
  }
}

// ---- footprint: each contender in a process of its own, whose memory has not grown before ----

double resident() {
  unsigned long size = 0, pages = 0;
  std::FILE *f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr || std::fscanf(f, "%lu %lu", &size, &pages) != 2) pages = 0;
  if (f != nullptr) std::fclose(f);
  return double(pages) * double(sysconf(_SC_PAGESIZE));
}

double resident_at_end;

struct footprint {
  double ns, peak, resident;
  bool good;
};

footprint in_child(const contender &c, int k, std::size_t reps, bool counted) {
  footprint f{};
  int ends[2];
  pid_t pid;
  std::fflush(stdout);
  if (pipe(ends) != 0 || (pid = fork()) < 0) fail(c.name, "no process");
  if (pid == 0) {
    counting heap;
    task t = task_of(infos[k]);
    t.reps = reps;
    if (counted) t.from = &heap;
    t.at_end = [] { resident_at_end = resident(); };
    double before = resident();
    outcome o = c.run[k](t);
    f = {o.work, double(heap.peak), std::max(0.0, resident_at_end - before), o.good && heap.live == 0};
    bool sent = write(ends[1], &f, sizeof f) == ssize_t(sizeof f);
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  bool received = read(ends[0], &f, sizeof f) == ssize_t(sizeof f);
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  if (!received) fail(c.name, "its process died");
  return f;
}

void run_footprint(int k, const char *name, std::size_t reps) {
  for (std::size_t who = 0; who < contenders.size(); who++) {
    const contender &c = contenders[who];
    if (c.run[k] == nullptr || (c.traits & is_floor) != 0) continue;
    footprint f = in_child(c, k, reps, true);
    std::string more = ",\"rss_bytes\":" + std::to_string(static_cast<long long>(f.resident));
    if ((c.traits & global) == 0) more += ",\"peak_bytes\":" + std::to_string(static_cast<long long>(f.peak));
    print_row(name, who, {f.ns / double(infos[k].n * reps)}, infos[k].n * reps, f.good, more.c_str());
  }
}

// The first repetition of a process. Of *buffers* it is the one before those that are counted.
void run_first(int k) {
  std::string name = std::string(infos[k].name) + ", first";
  std::vector<samples> all(contenders.size());
  for (std::size_t round = 0; round < (quick ? 5 : 11); round++)
    for (std::size_t step = 0; step < contenders.size(); step++) {
      std::size_t who = (round + step) % contenders.size();
      if (contenders[who].run[k] == nullptr || (contenders[who].traits & is_floor) != 0) continue;
      footprint f = in_child(contenders[who], k, k == BUFFERS ? 0 : 1, false);
      all[who].good &= f.good;
      all[who].work.push_back(f.ns / double(infos[k].n));
    }
  for (std::size_t who = 0; who < contenders.size(); who++)
    if (!all[who].work.empty()) print_row(name.c_str(), who, all[who].work, infos[k].n, all[who].good);
}

}  // namespace
}  // namespace w5

int main(int argc, char **argv) {
  using namespace w5;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--quick") == 0)
      quick = true;
    else if (std::strcmp(argv[i], "--once") == 0)
      once = true;
    else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      build_name = argv[i];
  }
  if (build_name == nullptr) {
    std::fprintf(stderr, "usage: w5 [--quick] [--once] [--only CASE] BUILD\n");
    return 2;
  }
#define X(name)                             \
  for (const contender &c : name##_group()) \
    if (c.here()) contenders.push_back(c);
  GROUPS
#undef X
  verified.assign(contenders.size(), 1);
  // These fork, so they run before the heap is used.
  for (int k = 0; once && k < HOT; k++)
    if (only == nullptr || std::strcmp(only, infos[k].name) == 0) run_first(k);
  if (once && only == nullptr) {
    run_footprint(OVERSIZE, "oversize memory", (quick ? 10000 : 100000) / oversize::n);
    run_footprint(INTERLEAVED, "interleaved memory", 10);
  }
  if (once || !quick)
    for (std::size_t who = 0; who < contenders.size(); who++) verified[who] = verify(contenders[who]);
  for (int k = 0; k < CASES; k++)
    if (only == nullptr || std::strcmp(only, infos[k].name) == 0) run_case(k, 11);
  return 0;
}
