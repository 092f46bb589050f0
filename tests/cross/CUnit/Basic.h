/* SPDX-License-Identifier: MIT
 *
 * What tests/harness.c uses of CUnit, for processors for which Debian's cross compiler comes without one.
 * Included by one file only.
 */
#ifndef TESTS_CROSS_CUNIT_H
#define TESTS_CROSS_CUNIT_H

#include <stdio.h>
#include <stdlib.h>

typedef struct CU_Test {
    const char *pName;
    void (*fn)(void);
} *CU_pTest;
typedef struct CU_Suite {
    const char *name;
    void (*before_each)(void);
} *CU_pSuite;
typedef enum { CUE_SUCCESS } CU_ErrorCode;
enum { CU_BRM_VERBOSE, CU_FALSE = 0, CU_TESTS_MAX = 64 };

static struct CU_Suite cu_suite;
static struct CU_Test cu_tests[CU_TESTS_MAX];
static CU_pTest cu_current;
static unsigned cu_n, cu_failed, cu_faults;

static inline CU_ErrorCode CU_initialize_registry(void)
{
    return CUE_SUCCESS;
}

static inline CU_pSuite CU_add_suite_with_setup_and_teardown(const char *name, void *init, void *clean,
                                                             void (*before_each)(void), void *after_each)
{
    (void)init, (void)clean, (void)after_each;
    cu_suite = (struct CU_Suite){name, before_each};
    return &cu_suite;
}

static inline CU_pTest CU_add_test(CU_pSuite suite, const char *name, void (*fn)(void))
{
    (void)suite;
    if (cu_n == CU_TESTS_MAX)
        return NULL;
    cu_tests[cu_n] = (struct CU_Test){name, fn};
    return &cu_tests[cu_n++];
}

static inline CU_pTest CU_get_current_test(void)
{
    return cu_current;
}

static inline void CU_assertImplementation(int good, unsigned line, const char *text, const char *file,
                                           const char *function, int fatal)
{
    (void)function, (void)fatal;
    if (good)
        return;
    cu_faults++;
    printf("\n    %s:%u: CU_ASSERT(%s)", file, line, text);
}

static inline void CU_basic_set_mode(int mode)
{
    (void)mode;
}

static inline void CU_basic_run_tests(void)
{
    printf("\nSuite: %s\n", cu_suite.name);
    for (unsigned i = 0; i < cu_n; i++) {
        cu_current = &cu_tests[i];
        cu_faults = 0;
        printf("  Test: %s ...", cu_current->pName);
        fflush(stdout);
        cu_suite.before_each();
        cu_current->fn();
        cu_failed += cu_faults != 0;
        printf(cu_faults != 0 ? "FAILED\n" : "passed\n");
    }
}

static inline unsigned CU_get_number_of_tests_failed(void)
{
    return cu_failed;
}

static inline unsigned CU_get_number_of_tests_run(void)
{
    return cu_n;
}

static inline void CU_cleanup_registry(void)
{
}

#endif
