// SPDX-License-Identifier: MIT
//
// Exceptions of C++ belong to the fibre: one that is being handled, or is on its way through destructors that switch. And
// so does errno.
#include <tenter.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>

static std::atomic<int> wrong, left;

static std::string message(long id)
{
    return "the exception of fibre " + std::to_string(id) + ", long enough for a place of its own";
}

struct yields_at_end {
    ~yields_at_end()
    {
        for (int i = 0; i < 3; i++)
            tn_yield();
        wrong += std::uncaught_exceptions() != 1;
    }
};

static void *throws(void *arg)
{
    long id = reinterpret_cast<long>(arg);
    for (int i = 0; i < 50; i++) {
        try {
            yields_at_end at_end;
            throw message(id);
        } catch (const std::string &caught) {
            for (long k = 0; k <= id % 3; k++)
                tn_yield();
            wrong += caught != message(id);
            errno = static_cast<int>(id);
            tn_yield_hard();
            wrong += errno != static_cast<int>(id);
            try {
                throw;
            } catch (const std::string &again) {
                wrong += &again != &caught;
            }
        }
        wrong += std::uncaught_exceptions() != 0;
    }
    left--;
    return nullptr;
}

static void *all(void *arg)
{
    enum { FIBRES = 20 };
    tn_fibre *f[FIBRES];
    left = FIBRES;
    for (long i = 0; i < FIBRES; i++)
        if (tn_spawn(&f[i], nullptr, throws, reinterpret_cast<void *>(i)) != 0)
            return nullptr;
    for (tn_fibre *one : f)
        tn_join(one, nullptr);
    return left == 0 ? arg : nullptr;
}

int main()
{
    int passed = 0, failed = 0;
    for (int workers = 1; workers <= 3; workers++) {
        struct tn_config config = TN_CONFIG_INIT;
        void *value = nullptr;
        config.workers = workers;
        wrong = 0;
        bool good = tn_run(&config, all, &config, &value) == 0 && value == &config && wrong == 0;
        if (!good)
            std::printf("%d workers: %d wrong\n", workers, wrong.load());
        (good ? passed : failed)++;
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
