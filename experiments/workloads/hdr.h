/* SPDX-License-Identifier: MIT
 *
 * A histogram with the HDR layout, three significant figures, for values from 0 to 2^42 - 1 (in nanoseconds:
 * 73 minutes).
 *
 * Layout. Values below 2048 have a bucket each. From there every power of two is cut into 1024 buckets of
 * equal width, so a value v >= 2048 of b bits lies in a bucket 2^(b-11) wide: at most v/1024. Three
 * significant figures ask for a width of no more than v/1000 everywhere, and 2048 is the smallest power of
 * two from which on that holds. Buckets are numbered through from 0 without a gap:
 *
 *     v < 2048:  bucket v
 *     v of b bits, b > 11:  s = b - 11 (the shift), bucket 1024 s + (v >> s), where 1024 <= v >> s < 2048
 *
 * A value beyond the range is counted in the last bucket and in `clamped`: it is never lost, and its size is
 * not believed. One thread writes a histogram; merging and reading wait until the writer is done (by a join
 * or by an acquire load of something that it released).
 */
#ifndef HDR_H
#define HDR_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define HDR_HALF    1024u /* buckets of one power of two */
#define HDR_BITS    42u   /* bits of the largest value */
#define HDR_BUCKETS ((HDR_BITS - 11u) * HDR_HALF + 2u * HDR_HALF)
#define HDR_LARGEST ((UINT64_C(1) << HDR_BITS) - 1)

static_assert(HDR_LARGEST >= UINT64_C(3600) * 1000 * 1000 * 1000, "an hour must fit");

struct hdr {
    uint64_t total;   /* values recorded, the clamped ones included */
    uint64_t clamped; /* of these, values beyond HDR_LARGEST */
    uint64_t least, most;
    uint64_t count[HDR_BUCKETS];
};

/* Zeroed, hence empty; pages of buckets that nothing falls into are never touched. NULL: no memory. free()
 * it. */
static inline struct hdr *hdr_new(void)
{
    return (struct hdr *)calloc(1, sizeof(struct hdr));
}

static inline unsigned hdr_bucket(uint64_t value)
{
    if (value < 2 * HDR_HALF)
        return (unsigned)value;
    unsigned shift = 53u - (unsigned)__builtin_clzll(value); /* b - 11, with b = 64 - clz */
    return shift * HDR_HALF + (unsigned)(value >> shift);
}

/* The least and the greatest value of a bucket. */
static inline uint64_t hdr_lowest(unsigned bucket)
{
    if (bucket < 2 * HDR_HALF)
        return bucket;
    unsigned shift = bucket / HDR_HALF - 1;
    return (uint64_t)(bucket - shift * HDR_HALF) << shift;
}

static inline uint64_t hdr_highest(unsigned bucket)
{
    return hdr_lowest(bucket + 1) - 1; /* the formula holds one past the end, too */
}

static inline void hdr_record_n(struct hdr *h, uint64_t value, uint64_t n)
{
    if (n == 0)
        return;
    if (value > HDR_LARGEST) {
        h->clamped += n;
        value = HDR_LARGEST;
    }
    if (h->total == 0 || value < h->least)
        h->least = value;
    if (value > h->most)
        h->most = value;
    h->total += n;
    h->count[hdr_bucket(value)] += n;
}

static inline void hdr_record(struct hdr *h, uint64_t value)
{
    hdr_record_n(h, value, 1);
}

/* Add what `from` holds to `into`. */
static inline void hdr_merge(struct hdr *into, const struct hdr *from)
{
    if (from->total == 0)
        return;
    if (into->total == 0 || from->least < into->least)
        into->least = from->least;
    if (from->most > into->most)
        into->most = from->most;
    into->total += from->total;
    into->clamped += from->clamped;
    for (unsigned b = hdr_bucket(from->least); b <= hdr_bucket(from->most); b++)
        into->count[b] += from->count[b];
}

static inline void hdr_clear(struct hdr *h)
{
    if (h->total != 0)
        for (unsigned b = hdr_bucket(h->least); b <= hdr_bucket(h->most); b++)
            h->count[b] = 0;
    h->total = h->clamped = h->least = h->most = 0;
}

/* The value at a percentile by nearest rank: the greatest value of the bucket in which the ceil(p/100 *
 * total)-th smallest lies (the least value of the first used bucket at p = 0). An empty histogram gives 0. */
static inline uint64_t hdr_percentile(const struct hdr *h, double percent)
{
    if (h->total == 0)
        return 0;
    if (percent <= 0)
        return hdr_lowest(hdr_bucket(h->least));
    double exact = (percent > 100 ? 100 : percent) / 100 * (double)h->total;
    uint64_t rank = (uint64_t)ceil(exact - exact * 0x1p-52); /* 99.9 % of 1000 is rank 999, however rounded */
    uint64_t seen = 0;
    if (rank < 1)
        rank = 1;
    for (unsigned b = hdr_bucket(h->least); b <= hdr_bucket(h->most); b++) {
        seen += h->count[b];
        if (seen >= rank)
            return hdr_highest(b);
    }
    return hdr_highest(hdr_bucket(h->most));
}

/* Is p supported by enough values? At least ten must lie beyond it. */
static inline bool hdr_supports(const struct hdr *h, double percent)
{
    return (double)h->total * (100 - percent) / 100 >= 10 * (1 - 1e-9);
}

/* Walk the buckets in use: `*at` starts at 0; false at the end. */
struct hdr_step {
    uint64_t lowest, highest, count;
};
static inline bool hdr_next(const struct hdr *h, unsigned *at, struct hdr_step *out)
{
    for (unsigned b = *at; b < HDR_BUCKETS; b++) {
        if (h->count[b] == 0)
            continue;
        out->lowest = hdr_lowest(b);
        out->highest = hdr_highest(b);
        out->count = h->count[b];
        *at = b + 1;
        return true;
    }
    *at = HDR_BUCKETS;
    return false;
}

#endif
