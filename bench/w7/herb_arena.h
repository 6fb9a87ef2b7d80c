/* Arenas behind herb's structure of functions. SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lib/hb_allocator.h"

/* Each stores functions whose destroy makes an arena empty. 0: no memory. */
int herb_arena(hb_allocator_T *to);
int herb_pasted_arena(hb_allocator_T *to);
