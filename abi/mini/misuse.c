/* Accesses that AddressSanitizer detects in arenas of toft_mini.h.
 *
 *     misuse NUMBER    0: none
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "toft_mini.h"

int main(int argc, char **argv) {
  toft_arena *a = toft_create();
  char *first = (char *)toft_alloc(a, 40);
  toft_mark m = toft_mark_here(a);
  char *second = (char *)toft_alloc(a, 29);
  volatile char *p = first;
  switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 1: p = first + 40; break; /* behind an allocation */
    case 2: p = second + 29; break;
    case 3: p = second + (toft_rewind(a, m) == TOFT_OK); break;
    case 4: p = first + (toft_reset(a) == TOFT_OK); break;
    case 5: toft_release(a); break;
    case 6: toft_free(a, second, 29), p = second; break;
    case 7: p = (char *)toft_resize(a, second, 29, 8, 8) + 8; break;
    default: break;
  }
  *p = 1;
  if (p != first) return 0;
  toft_release(a);
  return 0;
}
