/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: back-traces of any context, fibres that run on included. What is walked may be no stack at all: a
 * thread was stopped between two instructions of a switch, or in assembly without tables; a fibre goes on meanwhile. So
 * the walk believes nothing. Memory is read by the kernel, which refuses where a load would kill, and frames are found by
 * the tables that C++ exceptions use (.eh_frame, DWARF's call frame information), for addresses that have one. (libgcc's
 * unwinder looks at the code where there is none, and reads wherever it is led.) No lock, no allocation: a signal handler
 * may do it. Without glibc's _dl_find_object (from 2.35 on), and on other processors, by frame pointers.
 */
#define _GNU_SOURCE
#include "../platform.h"
#include "eh_frame.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

bool tn_peek(uintptr_t at, void *to, size_t n)
{
    struct iovec here = {to, n}, there = {(void *)at, n}; /* NOLINT: an address that may be none */
    return syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL) == (long)n;
}

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

/* ---- what is known of a frame ---- */

enum { RBP = 6, RSP = 7, RIP = RETURN_REGISTER, REGISTERS = RIP + 1 }; /* as DWARF numbers them */

struct frame {
    uintptr_t reg[REGISTERS];
    uint32_t known; /* a bit for each */
    bool exact;     /* rip is where it is, not behind a call */
};

static void learn(struct frame *f, unsigned reg, uintptr_t value)
{
    f->reg[reg] = value;
    f->known |= 1u << reg;
}

static bool know(const struct frame *f, uint64_t reg, uintptr_t *value)
{
    if (reg >= REGISTERS || (f->known & 1u << reg) == 0)
        return false;
    *value = f->reg[reg];
    return true;
}

/* The stack that is walked, and a piece of it that has been read: a frame takes many words that lie close together. */
struct stack {
    uintptr_t low, high;
    uintptr_t at;
    size_t n;
    unsigned char piece[512];
};

static bool word_at(struct stack *s, uintptr_t at, uintptr_t *word)
{
    if (at < s->low || at > s->high || s->high - at < sizeof *word)
        return false;
    if (at < s->at || at - s->at > s->n || s->n - (at - s->at) < sizeof *word) {
        s->at = at;
        s->n = s->high - at < sizeof s->piece ? s->high - at : sizeof s->piece;
        if (!tn_peek(at, s->piece, s->n)) { /* it may end before */
            s->n = tn_peek(at, s->piece, sizeof *word) ? sizeof *word : 0;
            if (s->n == 0)
                return false;
        }
    }
    memcpy(word, s->piece + (at - s->at), sizeof *word);
    return true;
}

/* ---- instructions: where the caller's registers are, row by row ---- */

enum how { SAME, UNDEFINED, AT_OFFSET, IS_OFFSET, IN_REGISTER, AT_EXPRESSION, IS_EXPRESSION };
struct rule {
    uint8_t how, reg;
    uint32_t n; /* bytes of the expression */
    union {
        int64_t offset;
        const unsigned char *expression;
    };
};
struct rules {
    struct rule cfa; /* the caller's stack pointer: IS_OFFSET from a register, or IS_EXPRESSION */
    struct rule reg[REGISTERS];
};

static void set(struct rules *r, uint64_t reg, struct rule rule)
{
    if (reg < REGISTERS)
        r->reg[reg] = rule;
}

static void set_cfa(struct rules *r, uint64_t reg, int64_t offset)
{
    r->cfa = (struct rule){.how = IS_OFFSET, .reg = reg < REGISTERS ? (uint8_t)reg : REGISTERS, .offset = offset};
}

static struct rule offset_rule(uint8_t how, int64_t offset)
{
    return (struct rule){.how = how, .offset = offset};
}

static struct rule expression_rule(uint8_t how, struct bytes *b)
{
    struct bytes in = block(b, leb(b) & UINT32_MAX);
    return (struct rule){.how = how, .n = (uint32_t)(in.end - in.at), .expression = in.at};
}

enum { KEPT = 4 };

/* All instructions up to that for `pc`. `first`: the rules that the common ones gave. */
static bool follow(const struct table *t, struct bytes b, uintptr_t pc, struct rules *r, const struct rules *first)
{
    struct rules kept[KEPT];
    unsigned n = 0;
    uintptr_t at = t->start;
    while (b.at < b.end && !b.bad && at <= pc) {
        uint64_t op = number(&b, 1), operand = op & 0x3f;
        switch ((op & 0xc0) != 0 ? op & 0xc0 : op) {
        case 0x00: /* nop */
            break;
        case 0x40: /* advance_loc */
            at += operand * t->code;
            break;
        case 0x01: /* set_loc */
            at = pointer(&b, t->encoding, 0);
            break;
        case 0x02: /* advance_loc1, 2, 4 */
            at += number(&b, 1) * t->code;
            break;
        case 0x03:
            at += number(&b, 2) * t->code;
            break;
        case 0x04:
            at += number(&b, 4) * t->code;
            break;
        case 0x80: /* offset */
            set(r, operand, offset_rule(AT_OFFSET, (int64_t)leb(&b) * t->data));
            break;
        case 0x05: /* offset_extended */
            operand = leb(&b);
            set(r, operand, offset_rule(AT_OFFSET, (int64_t)leb(&b) * t->data));
            break;
        case 0x11: /* offset_extended_sf */
            operand = leb(&b);
            set(r, operand, offset_rule(AT_OFFSET, signed_leb(&b) * t->data));
            break;
        case 0x14: /* val_offset */
            operand = leb(&b);
            set(r, operand, offset_rule(IS_OFFSET, (int64_t)leb(&b) * t->data));
            break;
        case 0x15: /* val_offset_sf */
            operand = leb(&b);
            set(r, operand, offset_rule(IS_OFFSET, signed_leb(&b) * t->data));
            break;
        case 0x06: /* restore_extended */
            operand = leb(&b);
            /* fall through */
        case 0xc0: /* restore */
            set(r, operand, first != NULL && operand < REGISTERS ? first->reg[operand] : (struct rule){.how = SAME});
            break;
        case 0x07: /* undefined */
            set(r, leb(&b), (struct rule){.how = UNDEFINED});
            break;
        case 0x08: /* same_value */
            set(r, leb(&b), (struct rule){.how = SAME});
            break;
        case 0x09: { /* register */
            operand = leb(&b);
            uint64_t in = leb(&b);
            set(r, operand, (struct rule){.how = IN_REGISTER, .reg = in < REGISTERS ? (uint8_t)in : REGISTERS});
            break;
        }
        case 0x0a: /* remember_state */
            if (n == KEPT)
                return false;
            kept[n++] = *r;
            break;
        case 0x0b: /* restore_state */
            if (n == 0)
                return false;
            *r = kept[--n];
            break;
        case 0x0c: /* def_cfa */
            operand = leb(&b);
            set_cfa(r, operand, (int64_t)leb(&b));
            break;
        case 0x12: /* def_cfa_sf */
            operand = leb(&b);
            set_cfa(r, operand, signed_leb(&b) * t->data);
            break;
        case 0x0d: /* def_cfa_register */
            set_cfa(r, leb(&b), r->cfa.offset);
            break;
        case 0x0e: /* def_cfa_offset */
            r->cfa.offset = (int64_t)leb(&b);
            break;
        case 0x13: /* def_cfa_offset_sf */
            r->cfa.offset = signed_leb(&b) * t->data;
            break;
        case 0x0f: /* def_cfa_expression */
            r->cfa = expression_rule(IS_EXPRESSION, &b);
            break;
        case 0x10: /* expression */
            operand = leb(&b);
            set(r, operand, expression_rule(AT_EXPRESSION, &b));
            break;
        case 0x16: /* val_expression */
            operand = leb(&b);
            set(r, operand, expression_rule(IS_EXPRESSION, &b));
            break;
        case 0x2e: /* GNU_args_size */
            leb(&b);
            break;
        default:
            return false;
        }
    }
    return !b.bad;
}

/* ---- expressions: those that linkers, the C library and realigned stacks have; any other ends the walk ---- */

enum { DEPTH = 8 };

static bool evaluate(const struct rule *rule, struct stack *s, const struct frame *f, const uintptr_t *cfa,
                     uintptr_t *value)
{
    struct bytes b = {rule->expression, rule->expression + rule->n, false};
    uintptr_t v[DEPTH + 1] = {0}, base;
    unsigned n = 0;
    if (cfa != NULL)
        v[n++] = *cfa;
    while (b.at < b.end && !b.bad && n <= DEPTH) {
        uint64_t op = number(&b, 1);
        if (op >= 0x30 && op <= 0x4f) { /* lit0 and so on */
            v[n++] = op - 0x30;
        } else if (op >= 0x70 && op <= 0x8f) { /* breg0 and so on */
            if (!know(f, op - 0x70, &base))
                return false;
            v[n++] = base + (uintptr_t)signed_leb(&b);
        } else if (op == 0x08) { /* const1u */
            v[n++] = number(&b, 1);
        } else if (op == 0x09) { /* const1s */
            v[n++] = (uintptr_t)signed_number(&b, 1);
        } else if (op == 0x0a) { /* const2u */
            v[n++] = number(&b, 2);
        } else if (op == 0x06 && n >= 1) { /* deref */
            if (!word_at(s, v[n - 1], &v[n - 1]))
                return false;
        } else if (op == 0x23 && n >= 1) { /* plus_uconst */
            v[n - 1] += leb(&b);
        } else if (n >= 2) {
            uintptr_t right = v[--n], *left = &v[n - 1];
            if (op == 0x1a) /* and */
                *left &= right;
            else if (op == 0x1c) /* minus */
                *left -= right;
            else if (op == 0x22) /* plus */
                *left += right;
            else if (op == 0x24 && right < 64) /* shl */
                *left <<= right;
            else if (op == 0x2a) /* ge */
                *left = (intptr_t)*left >= (intptr_t)right;
            else
                return false;
        } else {
            return false;
        }
    }
    if (b.bad || n == 0 || n > DEPTH)
        return false;
    *value = v[n - 1];
    return true;
}

/* ---- the walk ---- */

static bool find_register(const struct rule *rule, struct stack *s, const struct frame *f, uintptr_t cfa,
                          uintptr_t *to)
{
    switch (rule->how) {
    case AT_OFFSET:
        return word_at(s, cfa + (uintptr_t)rule->offset, to);
    case IS_OFFSET:
        *to = cfa + (uintptr_t)rule->offset;
        return true;
    case IN_REGISTER:
        return know(f, rule->reg, to);
    case AT_EXPRESSION:
        return evaluate(rule, s, f, &cfa, to) && word_at(s, *to, to);
    case IS_EXPRESSION:
        return evaluate(rule, s, f, &cfa, to);
    default:
        return false;
    }
}

/* To the caller's frame. */
static bool step(struct stack *s, struct frame *f)
{
    struct table t;
    struct rules first = {0}, r;
    uintptr_t pc = f->reg[RIP] - !f->exact, cfa, value;
    if (!find_table(pc, &t) || !follow(&t, t.common, UINTPTR_MAX, &first, NULL))
        return false;
    r = first;
    if (!follow(&t, t.own, pc, &r, &first))
        return false;
    if (r.cfa.how == IS_EXPRESSION) {
        if (!evaluate(&r.cfa, s, f, NULL, &cfa))
            return false;
    } else {
        if (!know(f, r.cfa.reg, &value))
            return false;
        cfa = value + (uintptr_t)r.cfa.offset;
    }
    struct frame caller = *f;
    learn(&caller, RSP, cfa);
    caller.exact = t.signal;
    for (unsigned i = 0; i < REGISTERS; i++) {
        if (r.reg[i].how == SAME)
            continue;
        caller.known &= ~(1u << i);
        if (find_register(&r.reg[i], s, f, cfa, &value))
            learn(&caller, i, value);
    }
    *f = caller;
    return r.reg[RIP].how != SAME && know(f, RIP, &value) && know(f, RSP, &value);
}

unsigned tn_backtrace(const struct tn_where *where, uintptr_t low, uintptr_t high, uintptr_t *pc, unsigned max)
{
    struct stack s = {.low = low, .high = high};
    struct frame f = {.exact = true};
    unsigned n = 0;
    learn(&f, RIP, where->pc);
    learn(&f, RSP, where->sp);
    learn(&f, RBP, where->fp);
    while (n < max && f.reg[RIP] != 0 && f.reg[RSP] >= low && f.reg[RSP] <= high) {
        pc[n++] = f.reg[RIP] - !f.exact; /* inside the call, not behind it */
        if (!step(&s, &f))
            break;
    }
    return n;
}

#else

/* The frame of each function holds the caller's frame pointer, and above it the return address. */
unsigned tn_backtrace(const struct tn_where *where, uintptr_t low, uintptr_t high, uintptr_t *pc, unsigned max)
{
    uintptr_t fp = where->fp, frame[2];
    unsigned n = 0;
    if (where->pc != 0 && n < max)
        pc[n++] = where->pc;
    while (n < max && fp >= low && fp <= high && high - fp >= sizeof frame && fp % sizeof fp == 0 &&
           tn_peek(fp, frame, sizeof frame) && frame[1] != 0) {
        pc[n++] = frame[1] - 1;
        if (frame[0] <= fp)
            break;
        fp = frame[0];
    }
    return n;
}

#endif
