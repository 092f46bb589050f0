/* SPDX-License-Identifier: MIT
 *
 * The only door to the operating system. All that differs between the runtimes (native, explored, simulated) is
 * behind these functions; each runtime supplies one implementation at link time (core/platform_linux/ here).
 * Nothing else in core/ and schedulers/ includes an operating-system header or declares a thread-local: the
 * test `seam` greps for it.
 */
#ifndef TN_PLATFORM_H
#define TN_PLATFORM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t tn_time;

/* May fibres be preempted (-Dpreemption)? */
#ifndef TN_PREEMPTION
#define TN_PREEMPTION 0
#endif

/* What a module may call, also from a shared object that is loaded at run time. */
#define TN_MODULE_API __attribute__((visibility("default")))

/* ---- threads ---- */

struct tn_thread {
    uintptr_t handle;
};

/* Start a thread. Its stack is at least 256 KiB. Errors: EAGAIN, ENOMEM. */
int tn_thread_create(struct tn_thread *t, void *(*fn)(void *), void *arg);
void tn_thread_join(struct tn_thread *t);

/* Run fn on the calling thread, which is `t` meanwhile, and is not cancelled (pthread_cancel). Its signals are masked as before
 * when it comes back. */
void tn_thread_here(struct tn_thread *t, void *(*fn)(void *), void *arg);

/* The calling thread's number in the system, and whether the thread of that number sleeps in the kernel now (false if
 * there is none). A look costs some system calls. */
uint32_t tn_thread_number(void);
bool tn_thread_sleeps(uint32_t number);

/* How often this process was forked off, counted along its line of parents since Tenter was loaded: what was made under
 * another number belongs to a parent. The child's only thread is a plain one: tn_self() is NULL there. */
unsigned tn_process(void);

/* The calling thread goes on with this fibre, or with none: what the simulator draws. */
#if defined(TN_PLATFORM_SIM)
void tn_runs(const void *fibre);
#else
static inline void tn_runs(const void *fibre)
{
    (void)fibre;
}
#endif

/* The one thread-local of the tree: what this thread is to Tenter (its worker), NULL on any other thread.
 * Read anew after every switch of stacks and never kept across one: the fibre may be on another thread then. */
#if defined(TN_PLATFORM_LINUX)
extern _Thread_local void *tn_self_slot __attribute__((tls_model("initial-exec")));
static inline void *tn_self(void)
{
    return tn_self_slot;
}
#else
void *tn_self(void);
#endif
void tn_self_set(void *self);

/* The same by a call that no compiler looks into: for code that has switched stacks since it last asked. */
void *tn_self_now(void);

/* Where this thread's errno is. Asked once by each worker: the address belongs to the thread, the value to the
 * fibre, and a compiler that keeps the address over a switch would mix the two up (004 §3.3.8). */
int *tn_errno_address(void);

/* What the C++ runtime keeps for each thread: the exceptions that are being handled. They too belong to the fibre. NULL:
 * there is no C++ in this program. */
struct tn_exceptions {
    void *caught;
    unsigned uncaught;
};
struct tn_exceptions *tn_exceptions_address(void);

/* If the calling thread ends otherwise than by returning from its function (pthread_exit), call `lost` on it; NULL: do not
 * any more. */
void tn_thread_guard(void (*lost)(void));

/* Processors that this process may use, and pinning of the calling thread to the n-th of them (modulo). */
unsigned tn_processors(void);
int tn_pin(unsigned n);

/* How far apart the a-th and the b-th of them are (modulo their number): 0 if they are the same one, and the more the
 * farther out the first part of the machine is that holds both. Below 0: -ENOTSUP, nobody knows, or -ENOMEM. The first
 * call is slow. */
int tn_processor_distance(unsigned a, unsigned b);

/* ---- parking ---- */

/* Sleep while *word == expected, until tn_unpark or `deadline`. May return early: callers look again.
 * Returns 0 or ETIMEDOUT. */
int tn_park(_Atomic(uint32_t) *word, uint32_t expected, tn_time deadline);
void tn_unpark(_Atomic(uint32_t) *word, unsigned n);

/* ---- time, spinning, work ---- */

TN_MODULE_API tn_time tn_now(void);

/* One breath in a spin loop. */
static inline void tn_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Called in a contended spin: some breaths, then the processor is given up (two cores!). *spins starts at 0.
 * The same function serves the spin locks of core/queues/. */
TN_MODULE_API void tn_spin_wait(unsigned *spins);

/* How many rounds a bounded spin may take: natively n, under exploration 1. */
TN_MODULE_API unsigned tn_spin_bound(unsigned n);

TN_MODULE_API void tn_work(uint64_t ns);
TN_MODULE_API double tn_work_calibrate(void);

/* Not for cryptography: the start of a seed that nobody gave. */
uint64_t tn_entropy(void);

/* ---- memory ---- */

/* Address space that becomes memory when touched; page-aligned; NULL when refused. */
void *tn_map(size_t bytes);
void tn_unmap(void *base, size_t bytes);
size_t tn_page(void);

/* Make one page in each of n stretches of `stride` bytes from `base` a guard: touching it kills. In one batch
 * where the kernel can (MADV_GUARD_INSTALL, no mapping is split), by mprotect otherwise.
 * Errors: ENOMEM the map limit is reached (vm.max_map_count). */
int tn_guard(void *base, size_t stride, size_t n);

/* How guards are made here: "madvise" (as many as one likes) or "mprotect" (two mappings each, of which
 * vm.max_map_count allows 65530 by default). TENTER_GUARDS=mprotect does as an older kernel would. */
const char *tn_guard_name(void);

/* Of memory from tn_map, page-aligned at `low`: the bytes between the lowest that is not zero and `high`. Pages that were
 * never touched are not touched by it. */
size_t tn_used_above(const char *low, const char *high);

/* Give the pages back to the system; they read as zero when touched again. */
void tn_discard(void *base, size_t bytes);

/* ---- faults ---- */

/* While open, `tell` is called on a memory fault, on the thread that made it, before anything else happens: then the
 * handler that the process had when this was opened first, or death by the same signal. Counted: each open has its
 * close. Must be safe in a signal handler. */
void tn_fault_open(void (*tell)(uintptr_t address, uintptr_t sp));
void tn_fault_close(void);

/* A stack for this thread's signal handlers, unless it has one: a stack that has overflowed cannot hold the handler.
 * Returns what tn_fault_stack_free takes, on the same thread; NULL is fine. */
void *tn_fault_stack(void);
void tn_fault_stack_free(void *stack);

/* ---- fences that share their cost unevenly ---- */

/* A store before tn_fence_light() and a load after it, against a store before tn_fence_heavy() and a load after
 * it: not both loads can miss the other side's store. The light one stops the compiler only; the heavy one
 * makes every other thread of the process execute a full fence: by membarrier or, where the kernel lacks it, by a
 * visit to each processor, which is slow. */
#if defined(TN_PLATFORM_LINUX)
static inline void tn_fence_light(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}
#else
void tn_fence_light(void);
#endif
TN_MODULE_API void tn_fence_heavy(void);

/* ---- contexts: assembly or ucontext, moves registers and nothing else ---- */

/* tn_context_make: prepare a stack that grows down from `top`, so that the first switch to the returned context
 * calls entry(arg of that switch), which never returns.
 * tn_context_switch: save the caller's context in *from, go on in `to`. Returns, when somebody switches back, the
 * `arg` of that switch. Keeps the registers that the ABI calls callee-saved, the control bits of MXCSR and the x87
 * control word (aarch64: FPCR) included. */
#if defined(TN_CONTEXT_ASM) && defined(__x86_64__)
#include "context/x86_64.h"
#elif defined(TN_CONTEXT_ASM) && defined(__aarch64__)
#include "context/aarch64.h"
#elif defined(TN_CONTEXT_ASM)
#error "no assembly context for this processor: configure with -Dcontext=ucontext"
#else
void *tn_context_make(void *top, size_t bytes, void (*entry)(void *arg));
void *tn_context_switch(void **from, void *to, void *arg);
#endif

/* Which it is: "asm" or "ucontext". */
extern const char tn_context_name[];

/* What a debugger looks for by its name stays, whatever the linker thinks of it. */
#define TN_FOR_DEBUGGERS __attribute__((used))

/* Where a back-trace and a debugger find them: offsets from the context. `sp` < 0: the stack pointer is the
 * context's own address plus sp_add. */
extern const struct tn_context_layout {
    int32_t pc, fp, sp, sp_add;
} tn_context_layout;

/* ---- looking at a process that is stuck ---- */

/* All of this but tn_on_quit may be called inside a signal handler. */

/* Where a thread or a parked context is: what an unwinder starts from. */
struct tn_where {
    uintptr_t pc, sp, fp;
};

/* Where the caller is. */
#if defined(__x86_64__)
#define TN_HERE(w)                                                           \
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" \
                     : "=&r"((w).pc), "=&r"((w).sp), "=&r"((w).fp))
#elif defined(__aarch64__)
#define TN_HERE(w) \
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=&r"((w).pc), "=&r"((w).sp), "=&r"((w).fp))
#else
#define TN_HERE(w) ((w) = (struct tn_where){0, 0, 0})
#endif

/* How many threads the process has; 0: nobody knows. And how many of them are the sanitizer's own. */
unsigned tn_thread_count(void);
unsigned tn_tool_threads(void);

/* Stop the threads of a list, wherever they are, and let them go on. One that has not stopped within `patience` ns (it
 * blocks the signal, or has ended) has no TN_STOPPED afterwards. One list at a time. */
enum { TN_STOP_NO, TN_STOP_ASKED, TN_STOPPED };
struct tn_stopped {
    struct tn_stopped *next;
    uint32_t thread;
    _Atomic(uint32_t) state;
    struct tn_where where;
};
void tn_threads_stop(struct tn_stopped *list, tn_time patience);
void tn_threads_go(struct tn_stopped *list);

/* Have `fn` called when SIGQUIT comes, on whatever thread, if the process has not set it otherwise; tn_off_quit gives it
 * back. tn_quit ends the process as SIGQUIT does. */
bool tn_on_quit(void (*fn)(const struct tn_where *here));
void tn_off_quit(void);
void tn_quit(void);

/* Copy n bytes of this process's memory; false: not all of them are there. Never faults. */
bool tn_peek(uintptr_t at, void *to, size_t n);

/* The return addresses from `where` outwards, at most `max`; they end where the stack leaves [low, high). Returns how
 * many. Each lies inside its call, not behind it. Whatever is found there, also if it changes meanwhile or is no stack
 * at all: it does not fault, and it ends. */
unsigned tn_backtrace(const struct tn_where *where, uintptr_t low, uintptr_t high, uintptr_t *pc, unsigned max);

/* The file that holds an address (NULL: none known) with its offset there, and the function, "" if it has no symbol.
 * What this opens stays open until tn_symbols_close. One thread at a time. */
struct tn_symbol {
    const char *file, *function;
    uintptr_t file_offset, function_offset;
};
struct tn_symbol tn_symbol(uintptr_t pc);
void tn_symbols_close(void);

int tn_write_raw(int fd, const void *text, size_t n);

/* ---- ticks, that preempt ---- */

#if TN_PREEMPTION
/* Have `tick` called on each thread that has begun its ticks: on the stack that it interrupts, not the alternate one, with
 * the signal blocked. It may switch stacks when it has opened ticks again, and must be back on the same thread when it
 * returns. Errors, with a line said: ENOTSUP, EBUSY. */
int tn_ticks_ready(void (*tick)(const struct tn_where *where));

/* Bytes that ticks need of each stack: two frames, each with all registers, and what `tick` calls. */
size_t tn_ticks_room(void);

/* The calling thread's ticks, every `period` ns until they are paused. `paused`: for who wants to resume them. */
struct tn_ticks {
    void *timer;
    tn_time period;
    bool made, paused;
};
int tn_ticks_begin(struct tn_ticks *t, tn_time period);
void tn_ticks_end(struct tn_ticks *t);
void tn_ticks_pause(struct tn_ticks *t); /* inside one too */
void tn_ticks_resume(struct tn_ticks *t);
void tn_ticks_soon(struct tn_ticks *t, tn_time wait); /* inside one: the next after `wait`, then every period again */
void tn_ticks_open(void);

/* Is an address in the program's own file, not in a library; is it in the runtime's? */
bool tn_code_of_program(uintptr_t pc);
bool tn_code_of_runtime(uintptr_t pc);
#endif

/* ---- debug builds: what must not be held over a scheduling point ---- */

/* Ends the process, with both back-traces, if the calling thread, which runs that fibre, holds a lock of the operating
 * system. */
#if TN_LOCK_CHECK
void tn_lock_check(const char *fibre);
#else
static inline void tn_lock_check(const char *fibre)
{
    (void)fibre;
}
#endif

/* ---- the environment, messages, modules ---- */

const char *tn_getenv(const char *name);
const char *tn_environment(size_t i); /* the i-th NAME=value, NULL behind the last */
TN_MODULE_API void tn_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
TN_MODULE_API _Noreturn void tn_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A scheduler module from a shared object: the address of its table, or NULL (message printed). */
const void *tn_plugin(const char *path, const char *symbol);

#endif
