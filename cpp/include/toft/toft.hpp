// All of Toft for C++17. Each header can be included alone.
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef TOFT_HPP
#define TOFT_HPP

#include "allocator.hpp"
#include "arena.hpp"
#include "budget.hpp"
#include "config.hpp"
#include "frame.hpp"
#include "lazy.hpp"
#include "lease.hpp"
#include "meter.hpp"
#include "pool.hpp"
#include "recycler.hpp"
#include "shared.hpp"
#include "span.hpp"
#if defined(__has_include) && __has_include(<memory_resource>)
#include "freeze.hpp"
#include "pmr.hpp"
#include "region.hpp"
#endif

#endif

// Outside the guard: see config.hpp.
#include "config.hpp"
