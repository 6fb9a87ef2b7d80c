/* The name of an arena's provider and the values of its settings, for debuggers: an addition to version 1 of the Toft
 * arena ABI. Copy it beside any copy of toft_abi.h, and include it after that one. SPEC.md has its rules.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_ABI_INFO
#define TOFT_ABI_INFO 1
#ifndef TOFT_ABI
#error "include toft_abi.h before toft_abi_info.h"
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef struct toft_provider_info {
  const char *name;    /* of the provider, as "toft-c" */
  const char *version; /* of its library, as "0.1.0" */
  /* The present value of a setting of ops->set; TOFT_ENOSYS: this provider does not say. Also while closed. */
  int (*query)(const toft_arena *, uint32_t what, uint64_t *value);
} toft_provider_info;
typedef struct toft_info_ops { /* a table of version 1, and behind it the addition */
  toft_arena_ops ops;          /* ops.size is at least that of toft_info_ops */
  const toft_provider_info *info;
  const toft_arena_ops *under; /* of an instrument: the table beneath; NULL in a provider's own table */
} toft_info_ops;
/* NULL: the provider has none. An instrument answers for the provider beneath it. */
static inline const toft_provider_info *toft_info_of(const toft_arena *a) {
  return a->ops->size >= sizeof(toft_info_ops) ? ((const toft_info_ops *)(const void *)a->ops)->info : NULL;
}
TOFT_STATIC_ASSERT(provider_info, sizeof(toft_provider_info) == 3 * sizeof(void *));
TOFT_STATIC_ASSERT(info_ops, offsetof(toft_info_ops, info) == 8 + 13 * sizeof(void *));
TOFT_STATIC_ASSERT(info_under, sizeof(toft_info_ops) == 8 + 15 * sizeof(void *));
#ifdef __cplusplus
}
#endif
#endif
