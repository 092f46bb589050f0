/* SPDX-License-Identifier: MIT
 *
 * When requests arrive, at which connection, for which key, of which size.
 *
 * ETC is the workload of a memcached cluster at Facebook as fitted by Atikoglu et al. (Workload analysis of a large-scale
 * key-value store, SIGMETRICS 2012, section 5): sizes of keys by a generalised extreme-value distribution, of values by a
 * generalised Pareto one, gaps between arrivals by another.
 */
#include "loadgen.h"

#include <math.h>
#include <stdlib.h>

static double unit(uint64_t *seed) /* in (0, 1) */
{
    return ((double)(bench_random(seed) >> 11) + 0.5) * 0x1p-53;
}

static double pareto(double u, double scale, double shape)
{
    return scale * (pow(u, -shape) - 1) / shape;
}

double chance_gap(uint64_t *seed, double mean)
{
    static const double shape = 0.154971; /* of ETC; its mean is scale / (1 - shape) */
    switch (load.arrivals) {
    case 0:
        return -log(unit(seed)) * mean;
    case 1:
        return pareto(unit(seed), mean * (1 - shape), shape);
    default:
        return mean;
    }
}

uint32_t chance_pick(uint64_t *seed, const double *cumulative, uint32_t n)
{
    if (cumulative == NULL)
        return bench_below(seed, n);
    double at = unit(seed) * cumulative[n - 1];
    uint32_t low = 0, high = n - 1; /* the first whose sum is at least that */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cumulative[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double *chance_skew(uint32_t n, double s)
{
    if (s <= 0)
        return NULL;
    double *all = malloc(n * sizeof *all), sum = 0;
    if (all == NULL)
        bench_die(load.b, BENCH_INTERNAL, "no memory");
    for (uint32_t i = 0; i < n; i++)
        all[i] = sum += pow(i + 1.0, -s);
    return all;
}

static uint32_t within(double x, double low, double high)
{
    return (uint32_t)(x < low ? low : x > high ? high : x);
}

void chance_sizes(uint64_t number, uint32_t *key, uint32_t *value)
{
    enum { KEY_LEAST = 16 }; /* its number fits in */
    *key = (uint32_t)load.key_size;
    *value = (uint32_t)load.value_size;
    if (load.etc) {
        uint64_t seed = number * 0x9e3779b97f4a7c15u;
        *key = within(30.7984 + 8.20449 * (pow(-log(unit(&seed)), -0.078688) - 1) / 0.078688, KEY_LEAST, 250);
        *value = within(pareto(unit(&seed), 214.476, 0.348238), 1, 1000000);
    }
}
