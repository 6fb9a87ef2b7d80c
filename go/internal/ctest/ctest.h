/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../../toft.h"

toft_arena *ctest_x_create(uint64_t budget);
void ctest_x_release(toft_arena *a);
size_t ctest_x_held(void);
size_t ctest_x_heap_in_use(void);
toft_arena *ctest_x_foreign(uint32_t version, uint32_t missing);
void ctest_x_free(void *p);

struct node {
  int64_t value;
  struct node *next;
};
struct node *ctest_x_list(toft_arena *a, int n);
int ctest_x_scratch(toft_arena *a, size_t n);
uint64_t ctest_x_thread(void);
int ctest_x_claim(toft_arena *a);
int ctest_x_give(toft_arena *a);
int ctest_x_reset(toft_arena *a);
void ctest_x_log(int n);
int ctest_x_log_at_cleanup(toft_arena *a, intptr_t n);
int ctest_x_take_log(int *out); /* at most 16 */
int ctest_x_adopt(toft_arena *a, toft_arena *donor);

struct buffer_create_info {
  uint32_t kind;
  const struct buffer_create_info *next;
  uint32_t flags;
  uint32_t usage; /* Go aligns the size to 4 bytes on some processors of 32 bits. */
  uint64_t size;
  uint32_t sharing;
  uint32_t queue_family_count;
  const uint32_t *queue_families;
};
/* Each kind of type that cgo knows, behind pointers too. */
struct incomplete;
union number {
  int64_t i;
  double d;
  void *p;
};
struct linked {
  struct linked *next, **others;
  struct linking *back;
  int32_t v;
};
struct linking {
  struct linked here, *there[3];
};
typedef int (*compare_fn)(const void *a, const void *b);
struct every_kind {
  struct linked list, *lists;
  struct incomplete *opaque, **opaques;
  union number number, *numbers;
  enum kind { KIND_A, KIND_B } kind, *kinds;
  char text[16], *name, **names;
  void *content, **contents;
  compare_fn compare, *compares;
  _Bool flag, *flags;
  double d, *ds;
  float _Complex c, *cs;
  uintptr_t address, *addresses;
  toft_arena *arena;
  toft_source *source;
  unsigned bits : 3;
  struct every_kind *next;
  char *rest[];
};
uint64_t ctest_x_sum_info(const struct buffer_create_info *info);
int ctest_x_sum_strings(char **list, int *count);
void ctest_x_keep(const int64_t *p);
int64_t ctest_x_read_kept(void);
size_t ctest_x_strlen(const char *s);
int ctest_x_divide(int a, int b, int *quotient, int *rest);
