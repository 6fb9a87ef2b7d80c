/* Uses the inline layer and the library.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <toft.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  toft_arena *a = toft_create();
  if (a == NULL || strcmp(toft_version(), TOFT_VERSION) != 0) return 1;
  char *s = toft_printf(a, "%s %d", "hello", (int)sizeof(void *));
  if (s == NULL || puts(s) < 0) return 1;
  toft_release(a);
  return 0;
}
