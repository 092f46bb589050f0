/* SPDX-License-Identifier: MIT
 *
 * Instructions and system calls of single operations, counted one by one: a child process does the operation so many
 * times, its parent lets it go step by step (ptrace) between two marks. Exact, and indifferent to whoever else uses
 * the machine. Times of the same operations stand beside them. Rows H6 (contexts, by the number of fibres that yield to
 * each other) and B3.3 (split stacks, by the frame of the function called).
 */
#include "bench_tenter.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static struct bench *bench;

/* ---- the operations ---- */

static void *yielder(void *arg)
{
    for (uint64_t i = 0, n = *(const uint64_t *)arg; i < n; i++)
        tn_yield();
    return arg;
}

/* Calls that have a frame of their own and cannot be left out. A split stack compares a small frame's stack pointer with
 * the segment's end, of a larger one it works out the end first; one above a page is probed page by page besides. */
#define FRAMES "64|512|4096"
#define CALLEE(bytes)                                                  \
    static __attribute__((noinline)) uint64_t call_##bytes(uint64_t x) \
    {                                                                  \
        volatile uint64_t room[bytes / sizeof(uint64_t)];              \
        room[x % 8] = x;                                               \
        return room[x % 8];                                            \
    }
CALLEE(64)
CALLEE(512)
CALLEE(4096)

/* A loop for each, so that the call is a direct one. */
#define CALLS(bytes)                   \
    for (uint64_t i = 0; i < ops; i++) \
    sum += call_##bytes(i)

enum { MOST_FIBRES = 64 };

static void do_yields(uint64_t ops)
{
    uint64_t n = (uint64_t)bench_int(bench, "fibres"), each = ops / n;
    tn_fibre *f[MOST_FIBRES];
    for (uint64_t i = 0; i < n; i++)
        if (tn_spawn(&f[i], NULL, yielder, &each) != 0)
            bench_die(bench, BENCH_INTERNAL, "no fibre");
    for (uint64_t i = 0; i < n; i++)
        tn_join(f[i], NULL);
}

static void do_calls(uint64_t ops)
{
    uint64_t sum = 0;
    switch (bench_int(bench, "frame")) {
    case 0:
        CALLS(64);
        break;
    case 1:
        CALLS(512);
        break;
    default:
        CALLS(4096);
    }
    if (sum != ops * (ops - 1) / 2)
        bench_invalid(bench, "the calls do not add up");
}

static const struct operation {
    const char *time, *instructions, *syscalls;
    void (*run)(uint64_t ops);
} operations[] = {
    {"yield_time", "yield_instructions", "yield_syscalls", do_yields},
    {"call_time", "call_instructions", "call_syscalls", do_calls},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- counting ---- */

#if defined(__x86_64__)

#define MARK() __asm__ volatile("int3")

/* The child's part: the operation with FEW and with MANY rounds, each between marks. */
enum { FEW = MOST_FIBRES, MANY = 3 * FEW }; /* whole rounds of what happens every 64th time */

static void *marked(void *arg)
{
    const struct operation *o = arg;
    o->run(FEW);
    MARK();
    o->run(FEW);
    MARK();
    o->run(MANY);
    MARK();
    return arg;
}

struct steps {
    uint64_t instructions, syscalls;
};

/* From one mark to the next, on the one thread that makes them; the others run on. */
static bool step(pid_t thread, struct steps *s)
{
    int status;
    for (*s = (struct steps){0};; s->instructions++) {
        struct user_regs_struct r;
        if (ptrace(PTRACE_GETREGS, thread, NULL, &r) != 0)
            return false;
        errno = 0;
        long text = ptrace(PTRACE_PEEKTEXT, thread, (void *)r.rip, NULL);
        if (errno != 0)
            return false;
        if ((text & 0xff) == 0xcc)
            return ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) == 0 && waitpid(thread, &status, __WALL) == thread;
        s->syscalls += (text & 0xffff) == 0x050f;
        if (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) != 0 || waitpid(thread, &status, __WALL) != thread ||
            !WIFSTOPPED(status))
            return false;
    }
}

static bool count_child(pid_t child, struct steps *few, struct steps *many)
{
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) != 0)
        return false;
    ptrace(PTRACE_CONT, child, NULL, NULL);
    for (;;) {
        pid_t who = waitpid(-1, &status, __WALL);
        if (who < 0 || (who == child && !WIFSTOPPED(status)))
            return false;
        if (!WIFSTOPPED(status))
            continue;
        int signal = WSTOPSIG(status);
        if (signal == SIGTRAP && status >> 16 == 0) /* the first mark; the next step begins right behind it */
            return step(who, few) && step(who, many);
        ptrace(PTRACE_CONT, who, NULL, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
    }
}

static bool count(const struct operation *o, double *instructions, double *syscalls)
{
    struct steps few, many;
    pid_t child = fork();
    if (child == 0) {
        struct tn_config c = TN_CONFIG_INIT;
        c.workers = 1;
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(1);
        raise(SIGSTOP);
        tn_run(&c, marked, (void *)(uintptr_t)o, NULL);
        _exit(0);
    }
    bool good = child > 0 && count_child(child, &few, &many);
    if (child > 0) {
        kill(child, SIGKILL);
        while (waitpid(-1, NULL, __WALL) > 0) /* its threads too: they are traced one by one */
            ;
    }
    if (good) {
        *instructions = (double)(many.instructions - few.instructions) / (MANY - FEW);
        *syscalls = (double)(many.syscalls - few.syscalls) / (MANY - FEW);
    }
    return good;
}

#else

static bool count(const struct operation *o, double *instructions, double *syscalls)
{
    (void)o, (void)instructions, (void)syscalls;
    return false;
}

#endif

/* ---- time ---- */

static void *timed(void *arg)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        for (int rep = 0; rep < bench_reps(bench); rep++) {
            uint64_t ops = (uint64_t)bench_int(bench, "ops") / MOST_FIBRES * MOST_FIBRES, begin = bench_now();
            operations[i].run(ops);
            bench_sample(bench, operations[i].time, "ns", (double)(bench_now() - begin) / (double)ops, rep);
        }
    return arg;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"fibres", BENCH_INT, "2", 2, MOST_FIBRES, NULL, "fibres", "that yield to each other; a power of two", NULL,
         0, 0, false},
        {"frame", BENCH_CHOICE, "64", 0, 0, FRAMES, "bytes", "of the function that is called", NULL, 0, 0, false},
    };
    static struct bench b = {.program = "steps",
                             .about =
                                 "instructions and system calls of a switch and of a call, counted, and their time",
                             .clock = "starts just before the first operation of a repetition, stops after the last",
                             .takes = BENCH_TAKES_SCHEDULER | BENCH_TAKES_OPS,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    if (MOST_FIBRES % bench_int(&b, "fibres") != 0)
        bench_die(&b, BENCH_USAGE, "--fibres %s: must be a power of two", bench_text(&b, "fibres"));
    for (size_t i = 0; i < OPERATIONS && !bench_int(&b, "print-config"); i++) {
        double instructions, syscalls;
        if (!count(&operations[i], &instructions, &syscalls))
            continue; /* no ptrace here: no sample, and whoever needs one says so */
        bench_sample(&b, operations[i].instructions, "1", instructions, bench_reps(&b) - 1);
        bench_sample(&b, operations[i].syscalls, "1", syscalls, bench_reps(&b) - 1);
    }
    bench_tenter_run(&b, "", timed, NULL);
    return bench_finish(&b);
}
