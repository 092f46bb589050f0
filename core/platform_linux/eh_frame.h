/* SPDX-License-Identifier: MIT
 *
 * Finding and opening the entry of .eh_frame that holds for an address (frames.c follows its instructions). The format is
 * that of the Linux Standard Base and of DWARF's section 6.4. Tables lie in the objects that are loaded; nothing is read
 * outside the object that _dl_find_object names, which takes no lock.
 */
#ifndef TN_EH_FRAME_H
#define TN_EH_FRAME_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

struct bytes {
    const unsigned char *at, *end;
    bool bad; /* something was not as it must be */
};

static const unsigned char *take(struct bytes *b, uint64_t n)
{
    const unsigned char *at = b->at;
    if (n > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        b->at = b->end;
        return NULL;
    }
    b->at += n;
    return at;
}

static uint64_t number(struct bytes *b, unsigned n)
{
    const unsigned char *at = take(b, n);
    uint64_t value = 0;
    for (unsigned i = 0; at != NULL && i < n; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static int64_t signed_number(struct bytes *b, unsigned n)
{
    unsigned shift = 64 - 8 * n;
    return (int64_t)(number(b, n) << shift) >> shift;
}

/* LEB128: seven bits a byte. */
static uint64_t leb_bits(struct bytes *b, bool sign)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = number(b, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0 && !b->bad);
    return sign && (byte & 0x40) != 0 && shift < 64 ? value | UINT64_MAX << shift : value;
}

static uint64_t leb(struct bytes *b)
{
    return leb_bits(b, false);
}

static int64_t signed_leb(struct bytes *b)
{
    return (int64_t)leb_bits(b, true);
}

/* Part of what follows, which its length precedes. */
static struct bytes block(struct bytes *b, uint64_t n)
{
    const unsigned char *at = take(b, n);
    return at != NULL ? (struct bytes){at, at + n, false} : (struct bytes){.bad = true};
}

/* A pointer, in one of the encodings of the Linux Standard Base; `data` is what "relative to data" means. */
enum { PC_RELATIVE = 0x10, DATA_RELATIVE = 0x30, SIGNED_4 = 0x0b };

static uintptr_t pointer(struct bytes *b, uint64_t encoding, uintptr_t data)
{
    uintptr_t base = 0;
    if ((encoding & 0xf0) == PC_RELATIVE)
        base = (uintptr_t)b->at;
    else if ((encoding & 0xf0) == DATA_RELATIVE)
        base = data;
    else if ((encoding & 0xf0) != 0)
        b->bad = true;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return base + number(b, 8);
    case 0x01:
        return base + leb(b);
    case 0x02:
        return base + number(b, 2);
    case 0x03:
        return base + number(b, 4);
    case 0x09:
        return base + (uintptr_t)signed_leb(b);
    case 0x0a:
        return base + (uintptr_t)signed_number(b, 2);
    case SIGNED_4:
        return base + (uintptr_t)signed_number(b, 4);
    default:
        b->bad = true;
        return 0;
    }
}

/* ---- the table for an address ---- */

enum { RETURN_REGISTER = 16 }; /* of x86-64 */

struct table {
    struct bytes common, own; /* instructions: for all that share them (CIE), and for the function (FDE) */
    uintptr_t start;
    uint64_t code;
    int64_t data; /* factors */
    uint64_t encoding;
    bool signal; /* a signal handler returns to here */
};

/* .eh_frame_hdr holds the functions' starts in order, each with the place of its FDE. */
static bool find_entry(uintptr_t pc, const unsigned char **start, struct bytes *entry)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)pc, &found) != 0 ||
        found.dlfo_eh_frame == NULL) /* NOLINT: an address that may be none */
        return false;
    const unsigned char *head = found.dlfo_eh_frame, *end = found.dlfo_map_end;
    struct bytes b = {head, end, false};
    uint64_t version = number(&b, 1), frames = number(&b, 1), counts = number(&b, 1), rows = number(&b, 1);
    pointer(&b, frames, (uintptr_t)head);
    uint64_t n = pointer(&b, counts, (uintptr_t)head), low = 0, high = n;
    struct bytes all = block(&b, n <= UINT32_MAX ? n * 8 : UINT64_MAX);
    if (b.bad || version != 1 || rows != (DATA_RELATIVE | SIGNED_4))
        return false;
    while (low < high) { /* the last one that starts no later than pc */
        uint64_t middle = low + (high - low) / 2;
        struct bytes row = {all.at + middle * 8, all.end, false};
        if (pointer(&row, rows, (uintptr_t)head) <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    struct bytes row = {all.at + (low - 1) * 8 + 4, all.end, false};
    uintptr_t at = pointer(&row, rows, (uintptr_t)head);
    if (at < (uintptr_t)found.dlfo_map_start || at >= (uintptr_t)end)
        return false;
    *start = found.dlfo_map_start;
    *entry = (struct bytes){*start + (at - (uintptr_t)*start), end, false};
    return true;
}

/* An entry without its length. */
static struct bytes open_entry(struct bytes from)
{
    uint64_t n = number(&from, 4);
    if (from.bad || n == 0 || n == UINT32_MAX) /* the end; one of more than 4 GiB */
        return (struct bytes){.bad = true};
    return block(&from, n);
}

static bool find_table(uintptr_t pc, struct table *t)
{
    const unsigned char *start;
    struct bytes from;
    *t = (struct table){0};
    if (!find_entry(pc, &start, &from))
        return false;
    struct bytes own = open_entry(from);
    const unsigned char *back = own.at;
    uint64_t distance = number(&own, 4);
    if (own.bad || distance > (uint64_t)(back - start))
        return false;
    struct bytes c = open_entry((struct bytes){back - distance, from.end, false});
    uint64_t id = number(&c, 4), version = number(&c, 1);
    const unsigned char *letters = c.at;
    while (number(&c, 1) != 0)
        ;
    t->code = leb(&c);
    t->data = signed_leb(&c);
    uint64_t returns = version == 1 ? number(&c, 1) : leb(&c);
    if (c.bad || id != 0 || (version != 1 && version != 3) || returns != RETURN_REGISTER ||
        (*letters != '\0' && *letters != 'z'))
        return false;
    if (*letters == 'z') {
        struct bytes more = block(&c, leb(&c));
        for (const unsigned char *l = letters + 1; *l != '\0'; l++) {
            if (*l == 'R')
                t->encoding = number(&more, 1);
            else if (*l == 'P')
                pointer(&more, number(&more, 1) & 0x0f, 0);
            else if (*l == 'L')
                number(&more, 1);
            else if (*l == 'S')
                t->signal = true;
            else
                return false;
        }
        c.bad = c.bad || more.bad;
    }
    t->start = pointer(&own, t->encoding, 0);
    uintptr_t bytes = pointer(&own, t->encoding & 0x0f, 0);
    if (*letters == 'z')
        take(&own, leb(&own));
    t->common = c;
    t->own = own;
    return !c.bad && !own.bad && pc - t->start < bytes;
}

#endif
#endif
