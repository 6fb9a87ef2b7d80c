/* With TOFT_SITES, calls by these names record their file and line in checked arenas, as toft_at does. Included by
 * toft.h after everything else.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_SITES_H
#define TOFT_SITES_H

#define TOFT_TEXT_(x) #x
#define TOFT_TEXT(x) TOFT_TEXT_(x)
#define TOFT_HERE(a) toft_at((a), __FILE__ ":" TOFT_TEXT(__LINE__))

#define toft_alloc(a, size) toft_alloc(TOFT_HERE(a), (size))
#define toft_alloc_aligned(a, size, align) toft_alloc_aligned(TOFT_HERE(a), (size), (align))
#define toft_alloc_zeroed(a, size, align) toft_alloc_zeroed(TOFT_HERE(a), (size), (align))
#define toft_alloc_array(a, count, size, align) toft_alloc_array(TOFT_HERE(a), (count), (size), (align))
#define toft_alloc_array_zeroed(a, count, size, align) toft_alloc_array_zeroed(TOFT_HERE(a), (count), (size), (align))
#define toft_resize(a, p, old_size, new_size, align) toft_resize(TOFT_HERE(a), (p), (old_size), (new_size), (align))
#define toft_free(a, p, size) toft_free(TOFT_HERE(a), (p), (size))
#define toft_memdup(a, p, size) toft_memdup(TOFT_HERE(a), (p), (size))
#define toft_strdup(a, s) toft_strdup(TOFT_HERE(a), (s))
#define toft_strndup(a, s, n) toft_strndup(TOFT_HERE(a), (s), (n))
#define toft_rewind(a, m) toft_rewind(TOFT_HERE(a), (m))
#define toft_reset(a) toft_reset(TOFT_HERE(a))
#define toft_reset_keep(a, policy, bytes) toft_reset_keep(TOFT_HERE(a), (policy), (bytes))
#define toft_cleanup_add(a, fn, arg) toft_cleanup_add(TOFT_HERE(a), (fn), (arg))
#define toft_claim(a, r) toft_claim(TOFT_HERE(a), (r))
#define toft_release(a) toft_release(TOFT_HERE(a))

#endif
