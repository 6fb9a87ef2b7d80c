// Tags, phases and snapshots by objects.
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

#include <toft/toft.hpp>

namespace {

std::map<std::string, std::uint64_t> live_by_tag(toft::arena &a) {
  std::map<std::string, std::uint64_t> live;
  auto note = [](void *arg, const toft_tag_report *t) {
    (*static_cast<std::map<std::string, std::uint64_t> *>(arg))[t->name] = t->live;
    return 0;
  };
  EXPECT_EQ(toft_tags(a.get(), note, &live), 0);
  return live;
}

toft_phase_report phase_of(toft::arena &a, const char *name) {
  toft_phase_report found = {name, 0, 0, 0};
  auto note = [](void *arg, const toft_phase_report *p) {
    auto *wanted = static_cast<toft_phase_report *>(arg);
    if (std::string(p->name) == wanted->name) *wanted = *p;
    return 0;
  };
  EXPECT_EQ(toft_phases(a.get(), note, &found), 0);
  return found;
}

TEST(Meter, TagsEndWithTheirBlocks) {
  toft::arena a;
  ASSERT_EQ(toft_set_metered(a.get(), 1), TOFT_OK);
  {
    toft::tag level(a, "level");
    (void)a.allocate(8, 8);
    {
      toft::tag sound(a, "sound");
      (void)a.allocate(16, 8);
      toft::tag ai(a, "/ai");
      (void)a.allocate(24, 8);
    }
    (void)a.allocate(32, 8);
  }
  (void)a.allocate(40, 8);
  auto live = live_by_tag(a);
  EXPECT_EQ(live["level"], 40u);
  EXPECT_EQ(live["level/sound"], 16u);
  EXPECT_EQ(live["ai"], 24u);
  EXPECT_EQ(live[""], 40u);
}

TEST(Meter, PhasesEndWithTheirBlocks) {
  toft::arena a;
  ASSERT_EQ(toft_set_metered(a.get(), 1), TOFT_OK);
  for (int i = 0; i < 3; i++) {
    toft::phase load(a, "load");
    toft::scope s(a);
    (void)a.allocate(64);  // the scope ends before its phase
    toft::phase more(a, "more");
    (void)a.allocate(32);
  }
  toft_phase_report load = phase_of(a, "load");
  EXPECT_EQ(load.entries, 3u);
  EXPECT_EQ(load.allocated, 288u);
  EXPECT_EQ(load.kept, 0);
  EXPECT_EQ(phase_of(a, "more").kept, 96);
}

#if TOFT_EXCEPTIONS
TEST(Meter, ThrowingEndsThem) {
  toft::arena a;
  ASSERT_EQ(toft_set_metered(a.get(), 1), TOFT_OK);
  try {
    toft::tag t(a, "thrown");
    toft::phase p(a, "thrown");
    (void)a.allocate(16);
    throw std::runtime_error("out of the block");
  } catch (const std::runtime_error &) {
  }
  (void)a.allocate(32);
  auto live = live_by_tag(a);
  EXPECT_EQ(live["thrown"], 16u);
  EXPECT_EQ(live[""], 32u);
  EXPECT_EQ(phase_of(a, "thrown").entries, 1u);
}
#endif

TEST(Meter, OffIsOff) {
  toft::arena a;
  {
    toft::tag t(a, "nothing");
    toft::phase p(a, "nothing");
    (void)a.allocate(16);
  }
  EXPECT_EQ(a.get()->epoch & 1, 0u);
  EXPECT_TRUE(live_by_tag(a).empty());
  EXPECT_EQ(phase_of(a, "nothing").entries, 0u);
}

TEST(Meter, SnapshotsAreWholeHoweverLong) {
  toft::arena a;
  ASSERT_EQ(toft_set_metered(a.get(), 1), TOFT_OK);
  std::size_t before = 0;
  for (int i = 0; i < 300; i++) {
    toft::tag t(a, ("a tag of some length, number " + std::to_string(i)).c_str());
    (void)a.allocate(16);
    std::string text = toft::snapshot(a);
    ASSERT_GT(text.size(), before);
    before = text.size();
    std::string end = "],\"phases\":[],\"sites\":[]}";
    ASSERT_EQ(text.substr(text.size() - end.size()), end);
    ASSERT_EQ(text.find('\0'), std::string::npos);
  }
  EXPECT_GT(before, 8192u);
  EXPECT_NE(toft::snapshot(a, TOFT_SNAPSHOT_CLEAR).find("\"live\":16,\"allocated\":16"), std::string::npos);
  EXPECT_EQ(toft::snapshot(a).find("\"live\":16,\"allocated\":16"), std::string::npos);
  EXPECT_EQ(toft::snapshot(a, 1u << 30), "");
}

}  // namespace
