/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.h"

typedef struct ctest_pages ctest_pages;
ctest_pages *ctest_v_pages(const size_t *fail_at, size_t n);
void ctest_v_grant(ctest_pages *s);  /* refuse no more */
size_t ctest_v_free(ctest_pages *s); /* how many blocks were still out */
toft_arena *ctest_v_create(ctest_pages *s, uint64_t budget, size_t reserve);
const size_t *ctest_v_took(ctest_pages *s, size_t *n); /* since it was last asked */
const size_t *ctest_v_gave(ctest_pages *s, size_t *n);
const int *ctest_v_ran(ctest_pages *s, size_t *n);
size_t ctest_v_bytes(const ctest_pages *s);
size_t ctest_v_calls(const ctest_pages *s);
int ctest_v_open(const ctest_pages *s);
void *ctest_v_base(const ctest_pages *s, const void *p, size_t offset);
void *ctest_v_cleanup(ctest_pages *s, toft_arena *a, int id);
void ctest_v_cancel(ctest_pages *s, int id);
void *ctest_v_alloc(toft_arena *a, size_t n, size_t align, uint32_t flags);
void *ctest_v_resize(toft_arena *a, void *p, size_t old, size_t n, size_t align, uint32_t flags);
void ctest_v_give_back(toft_arena *a, void *p, size_t n);
int ctest_v_rewind(toft_arena *a, uintptr_t cursor, uintptr_t epoch);
int ctest_v_reset(toft_arena *a, uint32_t policy, size_t keep);
int ctest_v_set(toft_arena *a, uint32_t what, uint64_t value);
void ctest_v_trim(toft_arena *a, size_t keep);
void ctest_v_release(toft_arena *a);
toft_range *ctest_v_range(ctest_pages *s, int id);
void *ctest_v_claim(toft_arena *a, toft_range *r, size_t n, size_t align);
int ctest_v_give(toft_arena *a, toft_range *r);
