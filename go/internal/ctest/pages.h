/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.h"

typedef struct ctest_pages ctest_pages;
ctest_pages *ctest_pages_make(size_t fail_from); /* the first call of take that fails; 0: none */
void ctest_pages_grant(ctest_pages *s);          /* refuse no more */
size_t ctest_pages_free(ctest_pages *s);         /* how many blocks were still out */
toft_arena *ctest_pages_create(ctest_pages *s);
size_t ctest_pages_bytes(const ctest_pages *s);
size_t ctest_pages_calls(const ctest_pages *s);
int ctest_reset(toft_arena *a, uint32_t policy, size_t keep);
