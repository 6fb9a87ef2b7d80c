/* SQLite's memory on Toft: copy this pair of files into a program, and call sqlite_toft_install before any other call
 * of SQLite. README.md has measurements.
 *
 * THREADS. By default SQLite calls its allocator under a lock of its own, and any number of threads may use it. A
 * program that removes this lock (SQLITE_CONFIG_MEMSTATUS, 0) must use SQLite in one thread only.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef SQLITE_TOFT_H
#define SQLITE_TOFT_H

#include "toft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From the next sqlite3_initialize on, all memory of SQLite comes from this source, which must outlive
 * sqlite3_shutdown; NULL: pages of the system. Returns SQLITE_OK, or SQLITE_MISUSE if SQLite is initialised already. */
int sqlite_toft_install(toft_source *source);

/* Bytes held from the source, used or kept for reuse. sqlite3_memory_used returns the bytes in use. */
size_t sqlite_toft_held(void);

/* Returns memory without live objects to the source, until about `keep` bytes of it are left. No other thread may be in
 * a call of SQLite. */
void sqlite_toft_trim(size_t keep);

#ifdef __cplusplus
}
#endif
#endif
