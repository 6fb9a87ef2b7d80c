/* The part that both small programs share: an arena in a buffer, filled, reset and released. Returns 1 if every step
 * succeeded.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>
#include <toft.h>

static int fill_and_reset(void *buffer, size_t size) {
  toft_arena *a = toft_create_in(buffer, size, NULL);
  if (a == NULL) return 0;
  size_t first = 0;
  for (int round = 0; round < 3; round++) {
    size_t count = 0;
    for (char *p; (p = (char *)toft_alloc(a, 24)) != NULL; count++) memset(p, round, 24);
    if (count == 0 || (round > 0 && count != first)) return 0; /* a reset frees all of it */
    first = count;
    if (toft_alloc_aligned(a, SIZE_MAX, 64) != NULL) return 0;
    if (toft_reset(a) != TOFT_OK) return 0;
  }
  double *d = (double *)toft_alloc_aligned(a, 8 * sizeof *d, 64);
  if (d == NULL || (uintptr_t)d % 64 != 0) return 0;
  if (toft_set_checked(a, 1) != TOFT_ENOSYS) return 0; /* checks are left out */
  toft_release(a);
  return 1;
}
