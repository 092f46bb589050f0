/* SPDX-License-Identifier: MIT
 *
 * Micro benchmarks on Boost.Fiber: the cases of micro.c. One worker runs its round-robin algorithm, several
 * run work stealing (or a shared queue, --algorithm). Stacks come from a cache of each thread, without
 * guards: the library's own pool may not be used by two threads.
 */
#include "micro_common.h"

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

namespace
{

/* ---- stacks ---- */

constexpr std::size_t stack_size = 65536;

class cached_stack
{
  public:
    using traits_type = boost::context::stack_traits;

    boost::context::stack_context allocate()
    {
        auto &c = cache();
        if (c.empty())
            return boost::context::fixedsize_stack(stack_size).allocate();
        auto s = c.back();
        c.pop_back();
        return s;
    }

    void deallocate(boost::context::stack_context &s) noexcept
    {
        cache().push_back(s); /* memory goes back to the system when the process ends */
    }

  private:
    /* Not inlined: the address of a thread-local must not be kept where a fibre may move. */
    __attribute__((noinline)) static std::vector<boost::context::stack_context> &cache()
    {
        /* Never destroyed: at the end of a thread the library still gives stacks back. */
        static thread_local auto *c = new std::vector<boost::context::stack_context>;
        return *c;
    }
};

template <typename Fn> fibers::fiber spawn(Fn &&fn)
{
    return fibers::fiber(fibers::launch::post, std::allocator_arg, cached_stack(), std::forward<Fn>(fn));
}

/* Which thread this is, asked anew: compilers take the answer of one call for that of the next, also over a
 * switch. */
__attribute__((noinline)) std::thread::id thread_now()
{
    __asm__ volatile("" : : : "memory");
    return std::this_thread::get_id();
}

double per(std::uint64_t begin, std::uint64_t ops)
{
    return static_cast<double>(bench_now() - begin) / static_cast<double>(ops);
}

/* ---- yield ---- */

double null_yield(std::uint64_t ops)
{
    auto begin = bench_now();
    for (std::uint64_t i = 0; i < ops; i++)
        boost::this_fiber::yield();
    return per(begin, ops);
}

double yield_among(const char *name, unsigned count, std::uint64_t ops)
{
    std::vector<fibers::fiber> f;
    std::atomic<std::uint64_t> yields{0};
    auto each = ops / count;
    auto begin = bench_now();
    for (unsigned i = 0; i < count; i++)
        f.push_back(spawn([each, &yields] {
            for (std::uint64_t k = 0; k < each; k++)
                boost::this_fiber::yield();
            yields.fetch_add(each, std::memory_order_relaxed);
        }));
    for (auto &x : f)
        x.join();
    double ns = per(begin, ops);
    if (yields != ops)
        micro_fail(name, "yields are missing");
    return ns;
}

double yield_2(std::uint64_t ops)
{
    return yield_among("yield_2", 2, ops);
}

double yield_1000(std::uint64_t ops)
{
    return yield_among("yield_1000", 1000, ops);
}

/* ---- spawn and join ---- */

double spawn_batch(const char *name, std::uint64_t ops, unsigned batch)
{
    std::vector<fibers::fiber> f(batch);
    std::vector<std::uint64_t> value(batch);
    std::uint64_t sum = 0;
    auto begin = bench_now();
    for (std::uint64_t i = 0; i < ops; i += batch) {
        for (unsigned k = 0; k < batch; k++)
            f[k] = spawn([&value, k] { value[k] = k + 1; });
        for (unsigned k = 0; k < batch; k++) {
            f[k].join();
            sum += value[k];
        }
    }
    double ns = per(begin, ops);
    if (sum != ops * (batch + 1) / 2)
        micro_fail(name, "joined values do not add up");
    return ns;
}

double spawn_join(std::uint64_t ops)
{
    return spawn_batch("spawn_join", ops, 1);
}

double spawn_join_100(std::uint64_t ops)
{
    return spawn_batch("spawn_join_100", ops, 100);
}

/* ---- ping-pong ---- */

struct table {
    fibers::mutex lock;
    fibers::condition_variable turn_changed[2];
    int turn = 0;
};

void play(table &t, int me, std::uint64_t rounds)
{
    for (std::uint64_t i = 0; i < rounds; i++) {
        std::unique_lock<fibers::mutex> hold(t.lock);
        t.turn_changed[me].wait(hold, [&] { return t.turn == me; });
        t.turn = !me;
        t.turn_changed[!me].notify_one();
    }
}

double ping_pong(std::uint64_t ops)
{
    table t;
    std::uint64_t returned = 0;
    auto begin = bench_now();
    auto second = spawn([&] {
        play(t, 1, ops);
        returned = ops;
    });
    play(t, 0, ops);
    second.join();
    double ns = per(begin, ops);
    if (returned != ops)
        micro_fail("ping_pong", "a ball was lost");
    return ns;
}

/* ---- mutexes ---- */

double mutex(std::uint64_t ops)
{
    fibers::mutex lock;
    auto begin = bench_now();
    for (std::uint64_t i = 0; i < ops; i++) {
        lock.lock();
        lock.unlock();
    }
    return per(begin, ops);
}

double through(const char *name, std::uint64_t ops, bool yields)
{
    fibers::mutex lock;
    std::uint64_t turns = 0;
    auto body = [&] {
        for (std::uint64_t i = 0; i < ops / 2; i++) {
            std::unique_lock<fibers::mutex> hold(lock);
            if (yields)
                boost::this_fiber::yield();
            turns++;
        }
    };
    auto begin = bench_now();
    auto a = spawn(body), b = spawn(body);
    a.join();
    b.join();
    if (turns != ops)
        micro_fail(name, "turns are missing");
    return per(begin, ops);
}

double mutex_2w(std::uint64_t ops)
{
    return through("mutex_2w", ops, false);
}

double mutex_pass(std::uint64_t ops)
{
    return through("mutex_pass", ops, true);
}

/* ---- channels ---- */

template <class Channel> double pass(const char *name, std::uint64_t ops, Channel &items)
{
    std::uint64_t sum = 0, item = 0;
    auto begin = bench_now();
    auto sender = spawn([&] {
        for (std::uint64_t i = 1; i <= ops; i++)
            items.push(i);
    });
    for (std::uint64_t i = 0; i < ops; i++) {
        items.pop(item);
        sum += item;
    }
    sender.join();
    double ns = per(begin, ops);
    if (sum != ops * (ops + 1) / 2)
        micro_fail(name, "items are missing");
    return ns;
}

double channel(std::uint64_t ops)
{
    fibers::unbuffered_channel<std::uint64_t> items;
    return pass("channel", ops, items);
}

double channel_16(std::uint64_t ops)
{
    fibers::buffered_channel<std::uint64_t> items{16}; /* of which it uses 15 */
    return pass("channel_16", ops, items);
}

/* ---- fork-join ---- */

std::uint64_t node(unsigned depth)
{
    std::uint64_t left = 0, right = 0;
    if (depth == 0)
        return 1;
    auto a = spawn([&left, depth] { left = node(depth - 1); });
    auto b = spawn([&right, depth] { right = node(depth - 1); });
    a.join();
    b.join();
    return 1 + left + right;
}

double fork_join(std::uint64_t ops)
{
    auto begin = bench_now();
    for (std::uint64_t i = 0; i < ops; i++)
        if (node(micro_depth()) != micro_nodes())
            micro_fail("fork_join", "nodes are missing");
    return per(begin, ops * micro_nodes());
}

/* ---- wake-up over two workers ---- */

double wake_2w(std::uint64_t ops)
{
    fibers::mutex lock;
    fibers::condition_variable wake;
    bool posted = false;
    std::uint64_t up_at = 0;
    std::atomic<std::uint64_t> armed{0}, up{0};
    auto waker = thread_now();
    auto sleeper = spawn([&] {
        while (thread_now() == waker) /* a fibre that is bound to its worker stays there */
            boost::this_fiber::yield();
        for (std::uint64_t i = 1; i <= ops; i++) {
            std::unique_lock<fibers::mutex> hold(lock);
            armed.store(i, std::memory_order_release);
            wake.wait(hold, [&] { return posted; });
            up_at = bench_now();
            posted = false;
            up.store(i, std::memory_order_release);
        }
    });
    auto reached = [](std::atomic<std::uint64_t> &word, std::uint64_t value, const char *why) {
        auto begin = bench_now();
        while (word.load(std::memory_order_acquire) != value) {
            bench_relax();
            if (bench_now() - begin > MICRO_PATIENCE_NS) {
                micro_fail("wake_2w", why);
                while (word.load(std::memory_order_acquire) != value)
                    boost::this_fiber::yield();
            }
        }
    };
    while (armed.load(std::memory_order_acquire) == 0) /* no thief passes the dispatcher in a queue of a hog */
        boost::this_fiber::yield();
    for (std::uint64_t i = 1; i <= ops; i++) {
        reached(armed, i, "no other worker took the sleeper");
        bench_work(MICRO_PAUSE_NS);
        auto begin = bench_now();
        {
            std::unique_lock<fibers::mutex> hold(lock);
            posted = true;
            wake.notify_one();
        }
        reached(up, i, "no other worker ran the woken fibre");
        micro_latency(up_at - begin);
    }
    sleeper.join();
    return micro_latency_median();
}

const micro_case cases[] = {
    {"null_yield", "yield of the only fibre", 1, 1, null_yield},
    {"yield_2", "yield among two fibres", 1, 2, yield_2},
    {"yield_1000", "yield among a thousand fibres", 1, 100000, yield_1000},
    {"spawn_join", "spawn a fibre, join it", 1, 1, spawn_join},
    {"spawn_join_100", "spawn a hundred fibres, join them; for each", 1, 100, spawn_join_100},
    {"ping_pong", "two fibres wake each other (mutex, condition); a round trip", 1, 1, ping_pong},
    {"mutex", "take a free mutex, give it back", 1, 1, mutex},
    {"mutex_2w", "two fibres on two workers go through one mutex; for each time", 2, 2, mutex_2w},
    {"mutex_pass", "two fibres go through one mutex, and yield with it; for each time", 1, 2, mutex_pass},
    {"channel", "one fibre sends to another, from hand to hand; for each item", 1, 1, channel},
    {"channel_16", "one fibre sends to another, through 15 places; for each item", 1, 1, channel_16},
    {"fork_join", "binary tree of fibres; for each node", 1, 1, fork_join},
    {"wake_2w", "wake a fibre that sleeps on another worker", 2, 1, wake_2w},
};
constexpr std::size_t cases_n = sizeof cases / sizeof *cases;

/* ---- workers ---- */

enum algorithm { work_stealing, shared_work };

void join_algorithm(algorithm which, unsigned workers, bool suspend)
{
    if (which == work_stealing)
        fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, suspend);
    else
        fibers::use_scheduling_algorithm<fibers::algo::shared_work>(suspend);
}

void measure_all(const bench *b, algorithm which)
{
    unsigned workers = micro_workers();
    if (workers == 1) {
        micro_measure(cases, cases_n);
        return;
    }
    std::mutex lock;
    fibers::condition_variable_any over;
    bool done = false;
    std::vector<std::thread> threads;
    bool pin = bench_int(b, "pin") != 0, suspend = bench_int(b, "suspend") != 0;
    for (unsigned i = 1; i < workers; i++)
        threads.emplace_back([&, i] {
            if (pin)
                bench_pin(i);
            join_algorithm(which, workers, suspend);
            std::unique_lock<std::mutex> hold(lock);
            over.wait(hold, [&] { return done; }); /* this thread's own fibre waits; the others run */
        });
    if (pin)
        bench_pin(0);
    join_algorithm(which, workers, suspend);
    micro_measure(cases, cases_n);
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
    static bench_option own[] = {MICRO_OPTIONS("16"),
                                 {"algorithm", BENCH_CHOICE, "work_stealing", 0, 0, "work_stealing|shared_work", "",
                                  "of two workers and more; one worker has round_robin", nullptr, 0, 0, false},
                                 {"suspend", BENCH_FLAG, nullptr, 0, 1, nullptr, "",
                                  "idle workers sleep; the library's default is that they spin", nullptr, 0, 0,
                                  false}};
    static bench b;
    b.program = "micro-boost";
    b.about = "single operations of Boost.Fiber";
    b.clock = MICRO_CLOCK;
    b.own = own;
    b.n = sizeof own / sizeof *own;
    micro_start(&b, argc, argv, cases, cases_n, nullptr, 0);
    auto which = static_cast<algorithm>(bench_int(&b, "algorithm"));
    char version[32], more[256];
    std::snprintf(version, sizeof version, "%d.%d.%d", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                  BOOST_VERSION % 100);
    std::snprintf(more, sizeof more,
                  "\"algorithm\": \"%s\", \"idle\": \"%s\", \"stack\": %zu, \"guards\": \"none\", "
                  "\"stacks\": \"cached by thread\", "
                  "\"differs\": \"no guards, no counters\"",
                  micro_workers() == 1 ? "round_robin" : bench_text(&b, "algorithm"),
                  bench_int(&b, "suspend") ? "suspend" : "spin", stack_size);
    bench_binary_peer(&b, "boost.fiber", version, more);
    bench_work_calibrate();
    measure_all(&b, which);
    return micro_finish();
}
