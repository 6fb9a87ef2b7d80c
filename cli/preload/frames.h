/* The frames of a stack of x86-64, by the rules of .eh_frame. A rule is read once for each return address: libgcc reads
 * it at each frame that it unwinds. Rules that are not of the usual kind, and frames of signals, are left to libgcc.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TOFT_PRELOAD_FRAMES_H
#define TOFT_PRELOAD_FRAMES_H

#include "own_stack.h"

#if defined(__x86_64__)

enum { RULES = 8192, REMEMBERED = 8, RBP = 6, RSP = 7, RETURN = 16 };

typedef struct frame_rule {
  uint64_t ip;                /* 0: the entry is unused */
  uint64_t function;          /* its first address */
  uint64_t code;              /* a hash of the code: later, other code may be there */
  unsigned char cfa_register; /* 0: the rule is not of the usual kind */
  unsigned char saves_rbp, is_outermost;
  int64_t cfa_offset, rbp_offset; /* the second one from the CFA */
} frame_rule;

static frame_rule frame_rules[RULES];

/* Of libgcc. The FDE of a function that has the address, or NULL. */
struct dwarf_eh_bases {
  void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

typedef struct instructions {
  const unsigned char *at, *end;
  uint64_t code_align, stop; /* the instructions of addresses from `stop` on are not of the frame */
  int64_t data_align;
  unsigned depth; /* of remembered states */
} instructions;

static uint32_t word_at(const void *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static uint64_t take_leb(instructions *i, int is_signed) {
  uint64_t value = 0;
  unsigned shift = 0, byte;
  do {
    byte = *i->at++;
    value |= (uint64_t)(byte & 127) << (shift & 63);
    shift += 7;
  } while (byte & 128);
  return is_signed && (byte & 64) && shift < 64 ? value | -((uint64_t)1 << shift) : value;
}

static uint64_t take_bytes(instructions *i, unsigned count) {
  uint64_t value = 0;
  for (unsigned k = 0; k < count; k++) value |= (uint64_t)*i->at++ << 8 * k;
  return value;
}

/* The size of a pointer of that encoding; 0: it has none that is known here. */
static unsigned encoded_size(unsigned encoding) {
  static const unsigned char size[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8, 0, 0, 0};
  return encoding == 0x50 ? 0 : size[encoding & 15];
}

/* The register is at that offset from the CFA. 0: where no frame of the usual kind has it. */
static int is_saved(frame_rule *r, uint64_t which, int64_t offset) {
  if (which == RBP) r->saves_rbp = 1, r->rbp_offset = offset;
  return which != RETURN || offset == -8;
}

/* Runs one instruction of the upper two bits 0. 0: the rule is not of the usual kind. */
static int run_extended(frame_rule *r, const frame_rule *initial, instructions *i, unsigned op, uint64_t *pc) {
  static frame_rule remembered[REMEMBERED];
  uint64_t which = 0;
  if (op >= 0x02 && op <= 0x04) return *pc += take_bytes(i, 1u << (op - 2)) * i->code_align, 1;
  if ((op >= 0x05 && op <= 0x0d && op != 0x0a && op != 0x0b) || op == 0x11 || op == 0x12) which = take_leb(i, 0);
  switch (op) {
    case 0x00: return 1;
    case 0x05: return is_saved(r, which, (int64_t)take_leb(i, 0) * i->data_align);
    case 0x06:
      if (which == RBP) r->saves_rbp = initial->saves_rbp, r->rbp_offset = initial->rbp_offset;
      return 1;
    case 0x07:
      if (which == RETURN) r->is_outermost = 1;
      return which != RBP;
    case 0x08:
      if (which == RBP) r->saves_rbp = 0;
      return which != RETURN;
    case 0x0a:
      if (i->depth == REMEMBERED) return 0;
      remembered[i->depth++] = *r;
      return 1;
    case 0x0b:
      if (i->depth == 0) return 0;
      *r = remembered[--i->depth];
      return 1;
    case 0x0c: r->cfa_offset = (int64_t)take_leb(i, 0); break;
    case 0x0d: break;
    case 0x0e: r->cfa_offset = (int64_t)take_leb(i, 0); return 1;
    case 0x11: return is_saved(r, which, (int64_t)take_leb(i, 1) * i->data_align);
    case 0x12: r->cfa_offset = (int64_t)take_leb(i, 1) * i->data_align; break;
    case 0x13: r->cfa_offset = (int64_t)take_leb(i, 1) * i->data_align; return 1;
    case 0x2e: (void)take_leb(i, 0); return 1;
    default: return 0;
  }
  r->cfa_register = (unsigned char)which;
  return which == RBP || which == RSP;
}

static int run(frame_rule *r, const frame_rule *initial, instructions *i, uint64_t pc) {
  while (i->at < i->end && pc < i->stop) {
    unsigned op = *i->at++, low = op & 63;
    int is_usual = 1;
    if (op >> 6 == 1)
      pc += low * i->code_align;
    else if (op >> 6 == 2)
      is_usual = is_saved(r, low, (int64_t)take_leb(i, 0) * i->data_align);
    else if (op >> 6 == 3 && low == RBP)
      r->saves_rbp = initial->saves_rbp, r->rbp_offset = initial->rbp_offset;
    else if (op >> 6 == 0)
      is_usual = run_extended(r, initial, i, low, &pc);
    if (!is_usual) return 0;
  }
  return 1;
}

/* Reads the rule of a return address. 0: it is not of the usual kind. */
static int read_rule(frame_rule *r, uint64_t ip, const unsigned char *fde, uint64_t function) {
  const unsigned char *cie = fde + 4 - (int32_t)word_at(fde + 4), *text = cie + 9;
  if (word_at(fde) == UINT32_MAX || word_at(cie) == UINT32_MAX || cie[8] > 3 || (*text != 0 && *text != 'z')) return 0;
  instructions i = {text + strlen((const char *)text) + 1, cie + 4 + word_at(cie), 0, ip, 0, 0};
  i.code_align = take_leb(&i, 0);
  i.data_align = (int64_t)take_leb(&i, 1);
  if (take_leb(&i, 0) != RETURN) return 0;
  unsigned size = 8;
  int has_more = *text == 'z';
  const unsigned char *more = has_more ? i.at + 1 + *i.at : i.at;
  if (has_more) (void)take_leb(&i, 0);
  while (has_more && *++text != 0) {
    unsigned encoding = *i.at++;
    if (*text == 'R') size = encoded_size(encoding);
    if (*text == 'P') i.at += encoded_size(encoding);
    if (strchr("RPL", *text) == NULL || encoded_size(encoding) == 0) return 0;
  }
  i.at = more;
  if (!run(r, r, &i, 0)) return 0;
  frame_rule initial = *r;
  i.at = fde + 8 + 2 * size;
  i.end = fde + 4 + word_at(fde);
  if (has_more) {
    size_t skipped = take_leb(&i, 0);
    i.at += skipped;
  }
  return run(r, &initial, &i, function) && r->cfa_register != 0;
}

/* Of the bytes before the address, and of those that begin the function, where most frames get their size. */
static uint64_t hash_code(uint64_t function, uint64_t ip) {
  uint64_t hash = word_at((const char *)(uintptr_t)ip - 4), part;
  for (uint64_t at = function; at + 8 <= ip && at < function + 64; at += 8) {
    memcpy(&part, (const char *)(uintptr_t)at, sizeof part);
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
  }
  return hash;
}

/* NULL: the address is in no function. It may be no address of code: the outermost of a coroutine is what it chose. */
static const frame_rule *rule_of(uint64_t ip) {
  frame_rule *r = &frame_rules[(ip * 0x9E3779B97F4A7C15u) >> 51];
  if (r->ip == ip && r->code == hash_code(r->function, ip)) return r;
  struct dwarf_eh_bases bases;
  const unsigned char *fde = (const unsigned char *)_Unwind_Find_FDE((void *)(uintptr_t)(ip - 1), &bases);
  if (fde == NULL) return NULL;
  memset(r, 0, sizeof *r);
  r->function = (uint64_t)(uintptr_t)bases.function;
  if (!read_rule(r, ip, fde, r->function)) r->cfa_register = 0;
  r->ip = ip;
  r->code = hash_code(r->function, ip);
  return r;
}

/* The caller of a frame. 0: the rule is not of the usual kind. */
static int next_frame(const frame_rule *r, uint64_t *ip, uint64_t *sp, uint64_t *rbp) {
  uint64_t cfa = (r->cfa_register == RSP ? *sp : *rbp) + (uint64_t)r->cfa_offset;
  if (r->cfa_register == 0 || cfa <= *sp || (cfa & 7) != 0) return 0;
  if (r->saves_rbp) memcpy(rbp, (const char *)(uintptr_t)cfa + r->rbp_offset, sizeof *rbp);
  memcpy(ip, (const char *)(uintptr_t)cfa - 8, sizeof *ip);
  *sp = cfa;
  return 1;
}

#endif
#endif
