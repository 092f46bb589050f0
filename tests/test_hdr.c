/* SPDX-License-Identifier: MIT
 *
 * The HDR-layout histogram of the workloads: edges of buckets, percentiles against sorted arrays, merging,
 * values beyond the range.
 */
#include <CUnit/Basic.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../experiments/workloads/hdr.h"

static uint64_t seed, state;

static uint64_t random_next(void) /* xorshift64: any generator does */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void test_edges(void)
{
    static const struct {
        uint64_t value, lowest, highest;
    } known[] = {
        {0, 0, 0},          {1, 1, 1},          {1023, 1023, 1023},       {2047, 2047, 2047},
        {2048, 2048, 2049}, {2049, 2048, 2049}, {4095, 4094, 4095},       {4096, 4096, 4099},
        {8191, 8188, 8191}, {8192, 8192, 8199}, {123456, 123456, 123519}, {1000000, 999936, 1000447},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        unsigned b = hdr_bucket(known[i].value);
        CU_ASSERT_EQUAL(hdr_lowest(b), known[i].lowest);
        CU_ASSERT_EQUAL(hdr_highest(b), known[i].highest);
    }
    bool gapless = true, precise = true;
    for (unsigned b = 0; b < HDR_BUCKETS; b++) {
        uint64_t low = hdr_lowest(b), high = hdr_highest(b);
        gapless = gapless && low <= high && hdr_bucket(low) == b && hdr_bucket(high) == b &&
                  (b == 0 || hdr_highest(b - 1) + 1 == low);
        precise = precise && (high - low) * 1000 <= low;
    }
    CU_ASSERT_TRUE(gapless);
    CU_ASSERT_TRUE(precise);
    CU_ASSERT_EQUAL(hdr_highest(HDR_BUCKETS - 1), HDR_LARGEST);
    CU_ASSERT_EQUAL(hdr_bucket(HDR_LARGEST), HDR_BUCKETS - 1);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void against_sorted(size_t n, unsigned bits)
{
    static const double percents[] = {0.001, 1, 25, 50, 75, 90, 99, 99.9, 99.99, 99.999, 100};
    uint64_t *values = malloc(n * sizeof *values);
    struct hdr *h = hdr_new();
    CU_ASSERT_FATAL(values != NULL && h != NULL);
    for (size_t i = 0; i < n; i++) {
        values[i] = random_next() >> (64 - 1 - random_next() % bits);
        hdr_record(h, values[i]);
    }
    qsort(values, n, sizeof *values, compare);
    CU_ASSERT_EQUAL(h->total, n);
    CU_ASSERT_EQUAL(h->least, values[0]);
    CU_ASSERT_EQUAL(h->most, values[n - 1]);
    CU_ASSERT_EQUAL(hdr_percentile(h, 0), hdr_lowest(hdr_bucket(values[0])));
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        double wanted = percents[i] / 100 * (double)n;
        size_t rank = (size_t)wanted + ((double)(size_t)wanted + 1e-6 < wanted);
        uint64_t exact = values[rank > 0 ? rank - 1 : 0], got = hdr_percentile(h, percents[i]);
        CU_ASSERT_TRUE(got >= exact && (got - exact) * 1000 <= exact);
        if (got < exact || (got - exact) * 1000 > exact)
            printf("\n    n %zu bits %u p%g: sorted %" PRIu64 ", histogram %" PRIu64, n, bits, percents[i], exact,
                   got);
    }
    free(values);
    free(h);
}

static void test_percentiles(void)
{
    against_sorted(1, 20);
    against_sorted(7, 12);
    against_sorted(1000, 11);
    against_sorted(1000, 40);
    against_sorted(100000, 30);
    against_sorted(99999, 42);
}

static void test_merge(void)
{
    struct hdr *part[3], *all = hdr_new(), *merged = hdr_new();
    CU_ASSERT_FATAL(all != NULL && merged != NULL);
    for (int i = 0; i < 3; i++) {
        part[i] = hdr_new();
        CU_ASSERT_FATAL(part[i] != NULL);
        for (int k = 0; k < 5000; k++) {
            uint64_t v = random_next() >> (14 + 8 * i + (int)(random_next() % 24));
            hdr_record(part[i], v);
            hdr_record(all, v);
        }
    }
    struct hdr *empty = hdr_new();
    CU_ASSERT_FATAL(empty != NULL);
    hdr_merge(merged, empty);
    for (int i = 2; i >= 0; i--)
        hdr_merge(merged, part[i]);
    hdr_merge(merged, empty);
    CU_ASSERT_EQUAL(memcmp(merged, all, sizeof *all), 0);

    unsigned at = 0;
    uint64_t sum = 0, last = 0;
    struct hdr_step step;
    while (hdr_next(merged, &at, &step)) {
        CU_ASSERT_TRUE(step.count > 0 && step.lowest <= step.highest && (sum == 0 || step.lowest > last));
        last = step.highest;
        sum += step.count;
    }
    CU_ASSERT_EQUAL(sum, 15000);

    hdr_clear(merged);
    CU_ASSERT_EQUAL(memcmp(merged, empty, sizeof *empty), 0);
    for (int i = 0; i < 3; i++)
        free(part[i]);
    free(all);
    free(merged);
    free(empty);
}

static void test_beyond(void)
{
    struct hdr *h = hdr_new();
    CU_ASSERT_FATAL(h != NULL);
    hdr_record(h, HDR_LARGEST);
    CU_ASSERT_EQUAL(h->clamped, 0);
    hdr_record(h, HDR_LARGEST + 1);
    hdr_record_n(h, UINT64_MAX, 3);
    hdr_record_n(h, UINT64_MAX, 0);
    CU_ASSERT_EQUAL(h->clamped, 4);
    CU_ASSERT_EQUAL(h->total, 5);
    CU_ASSERT_EQUAL(h->most, HDR_LARGEST);
    CU_ASSERT_EQUAL(hdr_percentile(h, 50), HDR_LARGEST);
    CU_ASSERT_EQUAL(hdr_percentile(h, 200), HDR_LARGEST);
    free(h);
}

static void test_empty_and_support(void)
{
    struct hdr *h = hdr_new();
    unsigned at = 0;
    struct hdr_step step;
    CU_ASSERT_FATAL(h != NULL);
    CU_ASSERT_EQUAL(hdr_percentile(h, 99), 0);
    CU_ASSERT_FALSE(hdr_next(h, &at, &step));
    CU_ASSERT_FALSE(hdr_supports(h, 50));
    hdr_record_n(h, 5, 999);
    CU_ASSERT_FALSE(hdr_supports(h, 99));
    hdr_record(h, 5);
    CU_ASSERT_TRUE(hdr_supports(h, 99));
    CU_ASSERT_FALSE(hdr_supports(h, 99.99));
    CU_ASSERT_EQUAL(hdr_percentile(h, 0), 5);
    CU_ASSERT_EQUAL(hdr_percentile(h, 100), 5);
    free(h);
}

int main(void)
{
    const char *given = getenv("TENTER_TEST_SEED");
    state = seed = given != NULL ? strtoull(given, NULL, 0) | 1 : UINT64_C(0x9e3779b97f4a7c15);
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 99;
    CU_pSuite s = CU_add_suite("hdr", NULL, NULL);
    if (s == NULL || CU_add_test(s, "edges of buckets", test_edges) == NULL ||
        CU_add_test(s, "percentiles against sorted arrays", test_percentiles) == NULL ||
        CU_add_test(s, "merge, walk, clear", test_merge) == NULL ||
        CU_add_test(s, "values beyond the range", test_beyond) == NULL ||
        CU_add_test(s, "empty, and support of a percentile", test_empty_and_support) == NULL)
        return 99;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_tests_failed(), run = CU_get_number_of_tests_run();
    unsigned asserts = CU_get_number_of_failures();
    CU_cleanup_registry();
    if (failed != 0)
        printf("replay: TENTER_TEST_SEED=%" PRIu64 " test_hdr\n", seed);
    printf("%u passed, %u failed\n", run - failed, failed);
    return failed != 0 || asserts != 0;
}
