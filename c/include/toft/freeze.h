/* Frozen content: data structures that a program builds once, with all their pointers, in a file that other processes
 * open without parsing.
 *
 *     static void *build(toft_region *r, void *argument) {   called twice
 *       toft_malloc *m = toft_region_malloc(r);
 *       return parse(argument, m);                           the root: any object of the region
 *     }
 *     toft_freeze(build, text, "words.frozen", NULL);
 *
 *     toft_frozen words;
 *     if (toft_frozen_open(&words, "words.frozen", NULL) == TOFT_OK) lookup(words.root, "word");
 *     toft_frozen_close(&words);
 *
 * BUILDING TWICE. toft_freeze builds the content in two regions at different addresses and compares them. A word that
 * differs by the distance of the regions is a pointer; the file records it. Any other difference is refused, and any
 * word that is the address of something else in the process. So the structures need no description: those of any
 * library will do, if it takes all its memory from the region, does the same in either run, and keeps no pointer to
 * its own functions or static data in them. Memory that the builder frees or releases becomes zero, and is not part of
 * the file.
 *
 * OPENING maps the file at the address that it was written for, and touches none of its pages; where that address is
 * not free, at another one, checks that each pointer lies inside, and adds the distance to it.
 *
 * TRUST. Opening checks the header and the sizes; at another address, or with TOFT_FROZEN_VERIFY, also that each
 * recorded pointer lies inside the content. The meaning of a structure is not checked: a program that follows the
 * pointers of a file trusts its writer, or verifies the structure itself. While a file is open it must be replaced by
 * rename, as toft_freeze does, and not be changed or truncated: reading a page that no longer exists raises SIGBUS.
 *
 * The format is part of abi/SPEC.md; files are for processes of the same byte order and pointer width.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_FREEZE_H
#define TOFT_FREEZE_H

#include "toft/abi.h"
#include "toft/compiler.h"
#include "toft/region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Results beside those of abi.h: EIO: the file could not be read or written, errno has the reason; ECONTENT: content
 * that cannot be frozen, or a file of another layout. */
enum { TOFT_EIO = -7, TOFT_ECONTENT = -8 };

/* ---- writing ---- */

/* Builds the content in r and returns its root, an address in r; NULL: failed. It is called twice, each time with a new
 * region, and must do the same. */
typedef void *toft_build_fn(toft_region *r, void *argument);

/* Excludes `size` bytes of the content at p from the comparison: they are zeros in the file. For an object that the
 * content refers to and that only the builder uses, such as the memory resource of C++ containers, which has a vtable.
 * A region has one such range; a further call replaces it. TOFT_EARG: the bytes are not in the region. */
TOFT_API int toft_freeze_omit(toft_region *r, void *p, size_t size);

enum {
  TOFT_FREEZE_DIFFERS = 1, /* the word differs between the builds, but not by their distance */
  TOFT_FREEZE_POINTS_OUT,  /* the word is an address of the process that is not in the region */
  TOFT_FREEZE_SIZE,        /* the builds use different amounts of memory; words: the bytes */
  TOFT_FREEZE_CLEANUP,     /* a cleanup is registered at this offset; words: its function */
  TOFT_FREEZE_ROOT         /* the roots are not the same object of the region; words: the roots */
};

/* A word that cannot be frozen. */
typedef struct toft_freeze_fault {
  uint32_t kind;         /* TOFT_FREEZE_... */
  uint64_t offset;       /* bytes from the start of the region */
  uint64_t words[2];     /* its value in the first and the second build */
  const char *points_to; /* the function, variable or mapping that the first value lies in; NULL: none */
  const void *site;      /* with SITES: the return address of the allocation that contains it; else NULL */
  uint64_t size, inside; /* with a site: bytes of the allocation; the word's offset in it */
} toft_freeze_fault;

/* Receives a fault; the strings are valid during the call. Returns 1 if the word is plain data, which the file
 * gets from the first build, 0 to refuse it. Only the result for DIFFERS and POINTS_OUT counts. */
typedef int toft_freeze_fn(void *argument, const toft_freeze_fault *fault);

/* options.flags. SITES: if a word is refused, the content is built twice more with checked arenas and recyclers, and
 * each fault is reported with its allocation, at the offset where it lies then. All are refused. */
enum { TOFT_FREEZE_SITES = 1 };

typedef struct toft_freeze_options {
  size_t size;            /* sizeof(toft_freeze_options): TOFT_FREEZE_OPTIONS sets it */
  size_t max;             /* of each region, as for toft_region_create; 0: its default. Takes 5 times the addresses */
  const char *layout;     /* name of the content's types and their version, at most 31 bytes; NULL: "" */
  uint64_t layout_hash;   /* of the program's types, or 0 */
  toft_freeze_fn *report; /* called for each fault; NULL: none is reported, all are refused */
  void *report_argument;
  uint32_t flags; /* TOFT_FREEZE_SITES */
} toft_freeze_options;
#define TOFT_FREEZE_OPTIONS \
  { sizeof(toft_freeze_options), 0, NULL, 0, NULL, NULL, 0 }

/* Builds the content twice and writes it to a new file, which replaces `path` when it is complete and on the disk: a
 * process that is killed leaves the old file, and perhaps a temporary one beside it. Symbolic links are followed as by
 * open; a device or another thing that is no regular file stays (TOFT_EIO, errno EISDIR or EINVAL). On POSIX the new
 * file has owner, group and mode of the old file, as far as the process may set them; a group that it may not set gets
 * the rights of all others only. Cleanups run; a structure that needs one is refused. TOFT_EARG: invalid options;
 * TOFT_ENOMEM: no memory or address space; TOFT_EBUSY: the builder left a range claimed; TOFT_ECONTENT: the builder
 * returned NULL, or a word is refused; TOFT_EIO; TOFT_ENOSYS: there is no operating system. In all these cases `path`
 * is unchanged. */
TOFT_API int toft_freeze(toft_build_fn *build, void *argument, const char *path, const toft_freeze_options *options);

/* ---- reading ---- */

/* options.flags. WRITABLE: the process may change its own copy of the pages. VERIFY: compares the checksum and checks
 * all pointers, which reads the whole file. ELSEWHERE: not at the file's own address, for tests. */
enum { TOFT_FROZEN_WRITABLE = 1, TOFT_FROZEN_VERIFY = 2, TOFT_FROZEN_ELSEWHERE = 4 };

typedef struct toft_frozen_options {
  size_t size;          /* sizeof(toft_frozen_options): TOFT_FROZEN_OPTIONS sets it */
  const char *layout;   /* must be that of the file; NULL: any */
  uint64_t layout_hash; /* likewise; 0: any */
  uint32_t flags;       /* TOFT_FROZEN_... */
} toft_frozen_options;
#define TOFT_FROZEN_OPTIONS \
  { sizeof(toft_frozen_options), NULL, 0, 0 }

/* An open file. Any number of threads may read the content. */
typedef struct toft_frozen {
  void *root;     /* read-only memory, unless the options say WRITABLE */
  void *memory;   /* the start of the content */
  uint64_t size;  /* its bytes */
  uint32_t moved; /* 1: not at the address that it was written for */
  uint32_t flags; /* this and the following: for toft_frozen_close */
  void *mapping;
  uint64_t mapped;
} toft_frozen;

/* Opens a file. On failure *f is empty. TOFT_EARG: invalid options; TOFT_EIO: it cannot be opened or mapped;
 * TOFT_ECORRUPT: it is no frozen file, or is damaged; TOFT_ECONTENT: its layout is not that of the options;
 * TOFT_ENOSYS: it is of another version, byte order or pointer width, or there are no files here. A file descriptor is
 * opened by its name (/dev/fd/N); a file in memory should be sealed against writing and shrinking. */
TOFT_API int toft_frozen_open(toft_frozen *f, const char *path, const toft_frozen_options *options);
/* As above, for a file that lies in the caller's writable memory, aligned as its content needs and to at least 64
 * bytes. Its pointers are changed in place, so that it can be opened there again. Only VERIFY is a valid flag. */
TOFT_API int toft_frozen_open_in(toft_frozen *f, void *memory, size_t size, const toft_frozen_options *options);
/* Unmaps the content. An empty f is ignored. */
TOFT_API void toft_frozen_close(toft_frozen *f);

#ifdef __cplusplus
}
#endif
#endif
