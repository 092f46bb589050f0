/* SPDX-License-Identifier: MIT
 *
 * The lock benchmark (000 §4.5, algorithm 1) on Boost.Fiber, as locks.c. Its workers never sleep unless --suspend says so.
 */
#include "bench.h"
#include "bench_cpu.h"

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

namespace
{

bench *b;

struct alignas(64) lock_of {
    fibers::mutex mutex;
    std::uint64_t turns = 0;
};

struct alignas(64) member {
    std::atomic<std::uint64_t> turns{0}; /* looked at while it counts */
    std::uint64_t random = 0;
};

std::uint64_t turns_now(std::vector<member> &all, std::uint64_t *least)
{
    std::uint64_t turns = 0;
    *least = UINT64_MAX;
    for (auto &m : all) {
        auto n = m.turns.load(std::memory_order_relaxed);
        turns += n;
        *least = n < *least ? n : *least;
    }
    return turns;
}

void repetition(int rep, std::uint64_t critical, std::uint64_t other, std::chrono::nanoseconds length)
{
    auto number = static_cast<std::size_t>(bench_int(b, "fibres")),
         locks = static_cast<std::size_t>(bench_int(b, "locks"));
    std::vector<lock_of> lock(locks);
    std::vector<member> all(number);
    std::vector<fibers::fiber> fibre;
    std::atomic<bool> over{false};
    for (std::size_t i = 0; i < number; i++) {
        auto &m = all[i];
        m.random = static_cast<std::uint64_t>(bench_int(b, "seed")) * 7919 + i;
        fibre.emplace_back(fibers::launch::post, std::allocator_arg, boost::context::fixedsize_stack(65536),
                           [&, critical, other] {
                               for (std::uint64_t turns = 1; !over.load(std::memory_order_relaxed); turns++) {
                                   m.random = m.random * 6364136223846793005u + 1442695040888963407u;
                                   auto &l = lock[(m.random >> 33) % lock.size()];
                                   bench_work(other);
                                   {
                                       std::unique_lock<fibers::mutex> hold(l.mutex);
                                       bench_work(critical);
                                       l.turns++;
                                   }
                                   m.turns.store(turns, std::memory_order_relaxed);
                                   if (turns % 8 == 0)
                                       boost::this_fiber::yield(); /* as locks.c does */
                               }
                           });
    }
    std::uint64_t least;
    boost::this_fiber::sleep_for(length / 10);
    auto turns = turns_now(all, &least), cpu = bench_cpu(b), begin = bench_now();
    boost::this_fiber::sleep_for(length);
    auto took = bench_now() - begin;
    cpu = bench_cpu(b) - cpu;
    turns = turns_now(all, &least) - turns;
    over.store(true, std::memory_order_relaxed);
    for (auto &f : fibre)
        f.join();
    std::uint64_t under = 0, total = turns_now(all, &least);
    for (auto &l : lock)
        under += l.turns;
    if (under != total)
        bench_invalid(b, "%llu turns, but %llu under the locks: they do not exclude",
                      static_cast<unsigned long long>(total), static_cast<unsigned long long>(under));
    if (turns == 0) {
        bench_invalid(b, "no turn ended in time: a longer --duration");
        return;
    }
    bench_sample(b, "throughput", "1/s", static_cast<double>(turns) * 1e9 / static_cast<double>(took), rep);
    bench_sample(b, "cpu", "ns", static_cast<double>(cpu) / static_cast<double>(turns), rep);
    bench_sample(b, "fairness", "1",
                 static_cast<double>(least) * static_cast<double>(all.size()) / static_cast<double>(total), rep);
}

void measure()
{
    auto critical = static_cast<std::uint64_t>(bench_int(b, "critical"));
    auto other = bench_given(b, "other") ? static_cast<std::uint64_t>(bench_int(b, "other")) : critical;
    double seconds = bench_given(b, "duration") ? bench_real(b, "duration") : 0.2;
    for (int rep = 0; rep < bench_reps(b); rep++)
        repetition(rep, critical, other, std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}

void with_workers()
{
    auto workers = static_cast<unsigned>(bench_int(b, "workers"));
    bool suspend = bench_int(b, "suspend") != 0;
    if (workers == 1) {
        measure();
        return;
    }
    std::mutex lock;
    fibers::condition_variable_any over;
    bool done = false;
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < workers; i++)
        threads.emplace_back([&] {
            fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, suspend);
            std::unique_lock<std::mutex> hold(lock);
            over.wait(hold, [&] { return done; }); /* this thread's own fibre waits; the others run */
        });
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, suspend);
    measure();
    {
        std::unique_lock<std::mutex> hold(lock);
        done = true;
    }
    over.notify_all();
    for (auto &t : threads)
        t.join();
}

} // namespace

int main(int argc, char **argv)
{
    static bench_option own[] = {
        {"locks", BENCH_INT, "1", 1, 1000000, nullptr, "", "one of which is taken in each turn", nullptr, 0, 0,
         false},
        {"critical", BENCH_INT, "1000", 0, 1e9, nullptr, "ns", "of work under a lock", nullptr, 0, 0, false},
        {"other", BENCH_INT, nullptr, 0, 1e9, nullptr, "ns", "of work before; without it, as --critical", nullptr, 0,
         0, false},
        {"suspend", BENCH_FLAG, nullptr, 0, 1, nullptr, "",
         "idle workers sleep; the library's default is that they spin", nullptr, 0, 0, false},
        BENCH_CPU_OPTION,
    };
    static bench about;
    b = &about;
    b->program = "locks-boost";
    b->about = "fibres compute, and compute under one of some locks, for 0.2 s or --duration";
    b->clock = BENCH_CPU_CLOCK;
    b->takes = BENCH_TAKES_FIBRES | BENCH_TAKES_DURATION;
    b->own = own;
    b->n = sizeof own / sizeof *own;
    bench_start(b, argc, argv);
    char version[32];
    std::snprintf(version, sizeof version, "%d.%d.%d", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                  BOOST_VERSION % 100);
    bench_binary_peer(
        b, "boost.fiber", version,
        bench_int(b, "suspend") != 0
            ? "\"stack\": 65536, \"guards\": \"none\", \"idle\": \"suspend\", \"differs\": \"no guards\""
            : "\"stack\": 65536, \"guards\": \"none\", \"idle\": \"spin\", \"differs\": \"no guards; idle "
              "workers spin\"");
    bench_work_calibrate();
    with_workers();
    return bench_finish(b);
}
