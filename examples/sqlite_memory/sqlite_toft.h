/* SQLite's memory on Toft, for your own program: copy this pair, and call sqlite_toft_install once, before anything
 * else of SQLite's. README.md says why it is as it is.
 *
 * THREADS. As SQLite comes, it calls its allocator under a lock of its own, and any number of threads may use it. Who
 * switches that off (SQLITE_CONFIG_MEMSTATUS, 0) must use SQLite in one thread only.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SQLITE_TOFT_H
#define SQLITE_TOFT_H

#include "toft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From the next sqlite3_initialize on, all that SQLite allocates is taken from blocks of this source, which must
 * outlive sqlite3_shutdown; NULL: pages of the system. SQLITE_OK; SQLITE_MISUSE if SQLite was initialized already. */
int sqlite_toft_install(toft_source *source);

/* Bytes held of the source, in use or kept. sqlite3_memory_used tells what is in use. */
size_t sqlite_toft_held(void);

/* Returns what holds nothing to the source, but for about `keep` bytes: what small statements left behind, where memory
 * is short; large ones are seen to. Only while no other thread is in a call of SQLite. */
void sqlite_toft_trim(size_t keep);

#ifdef __cplusplus
}
#endif
#endif
