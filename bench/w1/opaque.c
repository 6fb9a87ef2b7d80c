/* What no contender's compiler may look into.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "w1.h"

void *w1_full(void) { return NULL; }
void w1_escape(void *p) { (void)p; }
