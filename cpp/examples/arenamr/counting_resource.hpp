// The heap, and a count of the requests to it.
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <cstddef>
#include <memory_resource>

class counting_resource final : public std::pmr::memory_resource {
 public:
  std::size_t calls = 0, live = 0;  // allocations ever; bytes out

 private:
  void *do_allocate(std::size_t size, std::size_t align) override {
    void *p = std::pmr::new_delete_resource()->allocate(size, align);
    calls++;
    live += size;
    return p;
  }
  void do_deallocate(void *p, std::size_t size, std::size_t align) override {
    std::pmr::new_delete_resource()->deallocate(p, size, align);
    live -= size;
  }
  bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};
