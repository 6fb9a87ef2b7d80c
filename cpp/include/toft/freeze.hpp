// toft::freeze and toft::frozen: data structures with all their pointers, containers of std::pmr among them, that a
// program builds once, in a file that other processes open without parsing. toft/freeze.h has the details.
//
//     using dictionary = std::pmr::map<std::pmr::string, int>;
//     toft::freeze<dictionary>("words.frozen", [](toft::freeze_region &r) {    called twice
//       auto *d = r.make<dictionary>(r.resource());
//       d->emplace("word", 1);
//       return d;
//     });
//     toft::frozen<dictionary> words("words.frozen");
//     words->at("word");
//
// CONTENT. Classes without virtual functions, std::pmr::vector, string, map, set, deque, list and unordered_map, whose
// memory comes from the region's resource, and std::optional, variant, array, tuple and pair of these. A reader is
// compiled with the same standard library and the same options as the writer: the layout's name should say so.
//
// RESOURCE. The containers keep a pointer to the region's resource, whose bytes are zeros in the file: it has a vtable.
// So frozen containers are read. Copies of them use the default resource. They cannot allocate, free or be moved from,
// not even in a WRITABLE file, where elements can be assigned that own no memory.
//
// DESTRUCTORS never run in a file, so that types may have them. An element is best constructed in its place (emplace):
// bytes of padding, and those behind a short string, are compared too when they are copied from elsewhere.
//
// ERRORS. See freeze and frozen; nothing is written or opened then. Without exceptions: try_freeze and try_open.
//
// THREADS. Any number of threads may read frozen content.
//
// Needs <memory_resource>, see pmr.hpp.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_FREEZE_HPP
#define TOFT_FREEZE_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

#include <toft/freeze.h>

#include "arena.hpp"
#include "config.hpp"
#include "region.hpp"

namespace toft {
inline namespace TOFT_NAMESPACE {

// A word that cannot be frozen; the fields are those of toft_freeze_fault.
struct freeze_fault {
  std::uint32_t kind;  // TOFT_FREEZE_...
  std::uint64_t offset;
  std::uint64_t words[2];
  std::string points_to;  // with the names of C++; empty: nothing known
  const void *site;
  std::uint64_t size, inside;
};

struct freeze_options {
  std::size_t max = 0;           // bytes of each region; 0: the default of toft::region
  const char *layout = nullptr;  // name of the content's types and their version, at most 31 bytes
  std::uint64_t layout_hash = 0;
  std::uint32_t flags = 0;  // TOFT_FREEZE_SITES
  // Called for each fault. true: the word is plain data, and the value of the first build is written.
  std::function<bool(const freeze_fault &)> accepts;
};

// Content that cannot be frozen.
class freeze_error : public std::runtime_error {
 public:
  explicit freeze_error(std::vector<freeze_fault> faults)
      : std::runtime_error(text(faults)),
        faults_(std::make_shared<const std::vector<freeze_fault>>(std::move(faults))) {}
  // Those that were not accepted, at most the first max_faults. Empty: a builder returned nullptr.
  const std::vector<freeze_fault> &faults() const noexcept { return *faults_; }
  static constexpr std::size_t max_faults = 100;

 private:
  static std::string text(const std::vector<freeze_fault> &faults) {
    static const char *const kinds[] = {
        "is refused", "differs between the builds", "points out of the region", "", "is a cleanup", ""};
    if (faults.empty()) return "toft: freeze: the builder returned nullptr";
    const freeze_fault &f = faults.front();
    if (f.kind == TOFT_FREEZE_SIZE) return "toft: freeze: the builds use different amounts of memory";
    if (f.kind == TOFT_FREEZE_ROOT) return "toft: freeze: the roots are not the same object of the region";
    std::string s = "toft: freeze: the word at " + std::to_string(f.offset) + ' ' + kinds[f.kind < 6 ? f.kind : 0];
    return f.points_to.empty() ? s : s + ": " + f.points_to;
  }

  std::shared_ptr<const std::vector<freeze_fault>> faults_;  // a copy does not throw
};

// A file that is not opened. code(): TOFT_ECORRUPT: it is no frozen file, or is damaged; TOFT_ECONTENT: another layout;
// TOFT_ENOSYS: another version, byte order or pointer width, or there are no files here.
class frozen_error : public std::runtime_error {
 public:
  frozen_error(int code, const std::string &path) : std::runtime_error(text(code) + path), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  static std::string text(int code) {
    if (code == TOFT_ECONTENT) return "toft: frozen: another layout: ";
    return code == TOFT_ECORRUPT ? "toft: frozen: no frozen file, or damaged: " : "toft: frozen: unsupported: ";
  }

  int code_;
};

namespace detail {
class freezing;
}

// A region that is frozen when its builder returns. It lives until then.
class freeze_region : public region_ref {
 public:
  freeze_region(const freeze_region &) = delete;
  freeze_region &operator=(const freeze_region &) = delete;

  // Constructs a T, which is destroyed only if the builder throws: memory that it has elsewhere is not freed when the
  // content is refused.
  template <class T, class... Args>
  T *make(Args &&...args) {
    static_assert(!std::is_polymorphic_v<T>, "toft: a virtual function has another address in the next process");
    if constexpr (std::is_trivially_destructible_v<T>) {
      return region_ref::make<T>(std::forward<Args>(args)...);
    } else {
      T *p = detail::construct<T>(arena().allocate(sizeof(T), alignof(T)), std::forward<Args>(args)...);
      std::unique_ptr<T, void (*)(void *)> made(p, [](void *q) { static_cast<T *>(q)->~T(); });
      made_.push_back({p, made.get_deleter()});
      return made.release();
    }
  }

 private:
  friend class detail::freezing;
  struct object {
    void *p;
    void (*destroy)(void *);
  };

  explicit freeze_region(toft_region *r) : region_ref(r) {
    if (!begin()) detail::throw_bad_alloc();
    (void)toft_freeze_omit(r, resource(), sizeof(region_resource));
  }
  // Destroys the objects of make, unless the builder has succeeded.
  ~freeze_region() {
    for (; !made_.empty(); made_.pop_back()) made_.back().destroy(made_.back().p);
  }
  void finish() noexcept { made_.clear(); }

  std::vector<object> made_;
};

namespace detail {

inline std::string demangled(const char *points_to) {
  std::string s = points_to != nullptr ? points_to : "";
#if __has_include(<cxxabi.h>)
  std::size_t end = s.find(" in ");
  std::unique_ptr<char, void (*)(void *)> name(
      s.compare(0, 2, "_Z") == 0 ? abi::__cxa_demangle(s.substr(0, end).c_str(), nullptr, nullptr, nullptr) : nullptr,
      std::free);
  if (name != nullptr) s.replace(0, end, name.get());
#endif
  return s;
}

// The arguments of toft_freeze's callbacks. An exception is kept until C code has returned.
class freezing {
 public:
  freezing(std::function<void *(freeze_region &)> build, const freeze_options &options)
      : build_(std::move(build)), options_(options) {}

  int write(const char *path) {
    toft_freeze_options o = TOFT_FREEZE_OPTIONS;
    o.max = options_.max;
    o.layout = options_.layout;
    o.layout_hash = options_.layout_hash;
    o.flags = options_.flags;
    o.report = report;
    o.report_argument = this;
    int code = toft_freeze(build, this, path, &o);
#if TOFT_EXCEPTIONS
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
#endif
    return code;
  }
  std::vector<freeze_fault> faults;

 private:
  template <class F>
  auto keep(F call) noexcept -> decltype(call()) {
#if TOFT_EXCEPTIONS
    if (thrown_) return {};
    try {
      return call();
    } catch (...) {
      thrown_ = std::current_exception();
      return {};
    }
#else
    return call();
#endif
  }
  static void *build(toft_region *r, void *argument) {
    auto *self = static_cast<freezing *>(argument);
    return self->keep([=] {
      freeze_region region(r);
      void *root = self->build_(region);
      self->failed_ = self->failed_ || root == nullptr;
      region.finish();
      return root;
    });
  }
  static int report(void *argument, const toft_freeze_fault *f) {
    auto *self = static_cast<freezing *>(argument);
    return self->keep([=] { return self->accept(*f) ? 1 : 0; });
  }
  bool accept(const toft_freeze_fault &f) {
    if (failed_) return false;
    freeze_fault fault{f.kind, f.offset, {f.words[0], f.words[1]}, demangled(f.points_to), f.site, f.size, f.inside};
    if (options_.accepts && options_.accepts(fault)) return true;
    if (faults.size() < freeze_error::max_faults) faults.push_back(std::move(fault));
    return false;
  }

  std::function<void *(freeze_region &)> build_;
  const freeze_options &options_;
  bool failed_ = false;
#if TOFT_EXCEPTIONS
  std::exception_ptr thrown_;
#endif
};

template <class Root, class Build>
freezing freezing_of(Build &&build, const freeze_options &options) {
  static_assert(!std::is_polymorphic_v<Root>, "toft: a virtual function has another address in the next process");
  static_assert(std::is_invocable_r_v<Root *, Build &, freeze_region &>,
                "toft: a builder takes a toft::freeze_region & and returns Root *");
  return freezing([&build](freeze_region &r) -> void * { return static_cast<Root *>(build(r)); }, options);
}

// Raised inside the standard library without exceptions, see config.hpp.
template <class E, class... Args>
[[noreturn]] TOFT_COLD void throw_as(const char *what, Args &&...args) {
#if TOFT_EXCEPTIONS
  (void)what;
  throw E(std::forward<Args>(args)...);
#else
  ((void)args, ...);
  throw_out_of_range(what);
#endif
}

[[noreturn]] TOFT_COLD inline void throw_file_error(int code, int error, const std::string &path) {
  if (code == TOFT_EARG) throw_invalid_argument("toft: options of a frozen file are invalid");
  if (code == TOFT_ENOMEM) throw_bad_alloc();
  if (code == TOFT_EIO)
    throw_as<std::system_error>("toft: frozen: input or output failed", error, std::generic_category(), path);
  throw_as<frozen_error>("toft: frozen: the file is not usable", code, path);
}

}  // namespace detail

// Calls the builder twice, each time with a new region, in which it builds the same content, and writes a file, which
// replaces `path` when it is complete. Root: the type of the object that the builder returns. Returns TOFT_OK or a code
// of toft_freeze; an exception of the builder or of `accepts` is passed on.
template <class Root, class Build>
[[nodiscard]] int try_freeze(const std::string &path, Build &&build, const freeze_options &options = {}) {
  return detail::freezing_of<Root>(build, options).write(path.c_str());
}
// As above. Throws freeze_error for content that cannot be frozen; std::system_error: the file cannot be written;
// std::invalid_argument for the options; std::bad_alloc; std::logic_error: the builder left a range claimed;
// frozen_error with TOFT_ENOSYS: there is no operating system.
template <class Root, class Build>
void freeze(const std::string &path, Build &&build, const freeze_options &options = {}) {
  auto freezing = detail::freezing_of<Root>(build, options);
  int code = freezing.write(path.c_str());
  if (code == TOFT_OK) return;
  int error = errno;
  if (code == TOFT_EBUSY) detail::throw_logic_error("toft: freeze: the builder left a range claimed");
  if (code == TOFT_ECONTENT)
    detail::throw_as<freeze_error>("toft: freeze: content is refused", std::move(freezing.faults));
  detail::throw_file_error(code, error, path);
}

// Options of a reader, documented in toft/freeze.h: layout, layout_hash, flags.
struct frozen_options : toft_frozen_options {
  frozen_options() noexcept : toft_frozen_options(TOFT_FROZEN_OPTIONS) {}
};

// Owns an open file. Root is the type that it was written with; the program trusts the file's writer.
template <class Root>
class frozen {
  static_assert(!std::is_polymorphic_v<Root>, "toft: a virtual function has another address in the next process");

 public:
  // Empty.
  frozen() noexcept = default;
  // Opens a file. Throws std::system_error: it cannot be opened or mapped; frozen_error; std::invalid_argument.
  explicit frozen(const std::string &path, const frozen_options &options = {}) {
    int code = try_open(path.c_str(), options);
    if (code != TOFT_OK) detail::throw_file_error(code, errno, path);
  }
  frozen(frozen &&other) noexcept : f_(std::exchange(other.f_, toft_frozen())), is_writable_(other.is_writable_) {}
  frozen &operator=(frozen &&other) noexcept {
    if (this != &other) {
      toft_frozen_close(&f_);
      f_ = std::exchange(other.f_, toft_frozen());
      is_writable_ = other.is_writable_;
    }
    return *this;
  }
  ~frozen() { toft_frozen_close(&f_); }

  // Closes the open file, and opens another. Returns TOFT_OK or a code of toft_frozen_open; then it is empty.
  [[nodiscard]] int try_open(const char *path, const frozen_options &options = {}) noexcept {
    toft_frozen_close(&f_);
    is_writable_ = (options.flags & TOFT_FROZEN_WRITABLE) != 0;
    return toft_frozen_open(&f_, path, &options);
  }

  // nullptr if it is empty.
  const Root *get() const noexcept TOFT_LIFETIMEBOUND { return static_cast<const Root *>(f_.root); }
  const Root *operator->() const noexcept TOFT_LIFETIMEBOUND { return get(); }
  const Root &operator*() const noexcept TOFT_LIFETIMEBOUND { return *get(); }
  explicit operator bool() const noexcept { return f_.root != nullptr; }
  // The process's own copy of the content, of a file that was opened WRITABLE; else nullptr.
  Root *writable() const noexcept TOFT_LIFETIMEBOUND { return is_writable_ ? static_cast<Root *>(f_.root) : nullptr; }

  std::size_t size() const noexcept { return static_cast<std::size_t>(f_.size); }  // bytes of the content
  bool is_moved() const noexcept { return f_.moved != 0; }  // it is not at the address that it was written for

 private:
  toft_frozen f_ = toft_frozen();
  bool is_writable_ = false;
};

}  // namespace TOFT_NAMESPACE
}  // namespace toft

#endif

// Outside the guard: see config.hpp.
#include "config.hpp"
