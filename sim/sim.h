/* SPDX-License-Identifier: MIT
 *
 * The simulator's inside: threads that are contexts of one thread of the system, each with a clock; cores that they
 * occupy; lines of memory and who has them; a machine that says what each event costs. Times are picoseconds.
 *
 * The rule by which everything runs: of all threads, the one with the smallest clock acts next; of equals, the one of the
 * smallest number. A thread's clock moves in sim_arrive(), which each event passes first: it adds the instructions since
 * the last event, and gives way while another thread is behind.
 *
 * A plain access does not give way. It is noted, the thread goes on, and what it has noted is charged in its turn, one
 * access after the other, by whoever runs then: all of it before the thread's next event. Plain accesses do not race (the
 * explorer says so), so what they read and write is the same as if they were made in their turn, and a change of stacks,
 * which is most of what an access costs the host, is needed only where a thread synchronises with others.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_CORES = 256, SIM_THREADS = 1024, SIM_LAYERS = 4, SIM_LEVELS = 3, SIM_LEAVING = 4, SIM_LINE = 64 };

#define SIM_NEVER    UINT64_MAX
#define SIM_PS       UINT64_C(1000)       /* in a nanosecond */
#define SIM_START_NS UINT64_C(1000000000) /* where clocks begin: 0 may mean "never" to a program */

/* ---- machine.c: what it costs ---- */

struct sim_machine {
    char name[64];
    uint32_t cores, layers;
    uint32_t width[SIM_LAYERS];        /* cores that are together in a layer, ascending; behind the last: the rest */
    uint64_t transfer[SIM_LAYERS + 1]; /* of a line from a core of the same layer */
    uint64_t instruction, hit, memory; /* one instruction; a line that the core has; one that nobody has */
    uint64_t serve, atomic, fence,
        pause;                         /* a line's home, busy with one reader; what an atomic, a fence, a pause add */
    uint64_t clock, malloc, work;      /* a look at the clock; malloc or free; a nanosecond of tn_work */
    uint64_t park, wake, start, yield; /* to sleep; to wake; from the waking to running; to give the core away */
    uint64_t create, heavy, interrupt; /* a thread; a heavy fence; what it costs each other core */
    uint64_t call, slack;              /* into the kernel for nothing; how late a sleep ends */
    uint64_t slice, granularity; /* after which a core is taken from a thread if another waits for it; if that has
                                          been woken there */
    uint32_t stores;             /* stores that may be under way before a core waits */
    /* Of each level of caches, the first one first; 0 levels: the file says nothing of them. */
    uint32_t levels, capacity[SIM_LEVELS], ways[SIM_LEVELS]; /* KiB; lines of a set */
    uint32_t sharing[SIM_LEVELS], victim[SIM_LEVELS]; /* cores that share one; filled by what the one before drops */
    uint64_t reach[SIM_LEVELS];                       /* of a line there, from the second level on */
    uint64_t smt; /* one instruction while the core's other thread runs; 0: the file says nothing of that */
};

extern struct sim_machine sim_machine;
extern uint32_t
    sim_processors;        /* that run a thread each: the cores, with --smt twice; n and n + cores are one core's */
extern uint32_t sim_words; /* of 64 cores, that the machine has */
extern uint8_t sim_distance[SIM_CORES][SIM_CORES];               /* the first layer that holds both */
extern uint64_t sim_near[SIM_CORES][SIM_LAYERS][SIM_CORES / 64]; /* the cores of that layer around one */

/* By its name (a file in the folder of machines) or by a path; `cores` 0: all it has. Ends the process (2) with one line
 * if that is not possible. */
void sim_machine_load(const char *name, unsigned cores, bool smt);

/* ---- engine.c: threads and cores ---- */

/* A line that has been asked for is its owner's until the request arrives. */
struct sim_leaving {
    const struct sim_line *line;
    uint64_t until;
};

/* Of each processor: of each core, or with --smt of each of its two threads; `leaving` is the core's. */
struct sim_core {
    _Alignas(64) uint64_t instructions, accesses, busy; /* busy: had a thread for so long */
    uint64_t stall;                                     /* of that, waited for lines, stores and fences */
    uint64_t next_store, drained;                       /* drained: when the last store under way is over */
    uint64_t transfers, shared;                         /* lines taken from another core; copied */
    uint64_t cold;                                      /* lines from memory */
    uint64_t outer, lost;                               /* lines found in an outer level; that fell out of the last */
    uint64_t stored[64];                                /* when the stores under way are over */
    struct sim_leaving leaving[SIM_LEAVING];            /* the last ones */
    uint32_t next_leaving;
};

struct sim_thread {
    _Alignas(64) uint64_t clock;
    uint32_t id, core, pinned;                                 /* SIM_NOWHERE: none */
    enum { SIM_RUNS, SIM_WAITS, SIM_SLEEPS, SIM_ENDED } state; /* waits: for a core */
    bool timed_out, joined;
    bool woken;      /* waits for `core`, where it has been woken */
    uint64_t since;  /* has had its core since */
    uint64_t there;  /* the line of the access that is being charged is under way, and here at; 0: it is not */
    uint64_t waited; /* for that, so far */
    uint64_t rest;   /* instructions behind the last access that is noted */
    uint16_t noted, charged; /* plain accesses: how many; how many of them are over */
    bool arrives;            /* at an event, to which the rest of the instructions leads; else it goes on at once */
    const void *word;        /* it sleeps until somebody wakes this */
    struct sim_thread *joiner;
    void *(*fn)(void *);
    void *arg, *result, *self, *stack, *tls;
};
static const uint32_t SIM_NOWHERE = UINT32_MAX;

extern struct sim_thread *sim_me;
extern struct sim_core sim_cores[SIM_CORES], *sim_here;
extern uint32_t sim_core_number;

/* The clock of the thread that runs, how far it may go before another one is behind it, and the instructions that it has
 * executed since its last event or note (counted by what bin/as has put into the program). */
extern uint64_t sim_now, sim_limit, sim_insns, sim_price; /* of an instruction now */

/* A plain access that is still to be charged, and the instructions before it. */
struct sim_note {
    uint64_t what;      /* the address, and with 1 << SIM_BITS: it is written */
    uint32_t insns, pc; /* programs are linked below 4 GiB */
};
enum { SIM_NOTES = 64 };
extern struct sim_note *sim_notes; /* of the thread that runs */
extern uint32_t sim_noted;

void sim_start(void *(*fn)(void *), void *arg); /* runs fn(arg) as thread 0; does not return */
void sim_turn(void);  /* charge what is noted, and let others act until this thread has the smallest clock */
void sim_drain(void); /* charge what is noted: before what others can see and what is no event */
struct sim_thread *sim_create(void *(*fn)(void *), void *arg);
void *sim_join(struct sim_thread *t);
int sim_sleep(const void *word, uint64_t deadline); /* 0: woken, else ETIMEDOUT */
void sim_wake(const void *word, unsigned n);        /* charges what that costs */
void sim_pin(unsigned core);
void sim_yield(void);
void sim_interrupt(void); /* every other core that runs something, for machine.interrupt */
unsigned sim_running(void);

static inline void sim_settle(void)
{
    sim_here->instructions += sim_insns;
    sim_now += sim_insns * sim_price;
    sim_insns = 0;
}

static inline void sim_arrive(void)
{
    if (sim_noted == 0) {
        sim_settle();
        if (__builtin_expect(sim_now <= sim_limit, 1))
            return;
    }
    sim_turn();
}

/* An event that touches no memory. */
static inline void sim_charge(uint64_t cost)
{
    sim_arrive();
    sim_now += cost;
}

/* ---- tls.c: what a program's thread-locals are ---- */

void sim_tls_open(void);
void sim_tls_close(struct sim_thread *t); /* its number is another thread's now */

/* ---- lines.c: memory, and who has it ---- */

struct sim_line {
    _Alignas(64) uint64_t busy;       /* until then its home is */
    uint64_t sharers[SIM_CORES / 64]; /* cores that have it */
    uint64_t stall;                   /* what all have waited for it */
    uint32_t transfers;               /* from one core to another */
    uint32_t number;                  /* by first touch; only with --capacities; 0: none yet */
    uint16_t owner;                   /* 1 + the core that alone has it, and may write; 0: none */
};
_Static_assert(sizeof(struct sim_line) == 64, "one line for one");

enum sim_access { SIM_READ, SIM_WRITE, SIM_UPDATE };

/* All memory of the program lies below this address: its data (it is linked at a fixed place), and what it maps. */
enum { SIM_BITS = 37 };
extern struct sim_line *sim_lines;

void sim_lines_open(void);
void sim_miss(struct sim_line *l, enum sim_access how, uintptr_t at, const void *pc); /* by the code before `pc` */
bool sim_miss_noted(struct sim_thread *t,
                    const struct sim_note *n); /* true: it is over; else go on when t acts again */
void sim_fence(void);                          /* wait for the stores under way */

/* ---- capacity.c: what the caches hold, with --capacities ---- */

extern bool sim_capacities;
void sim_capacities_open(void);
bool sim_at_hand(uint32_t core, const struct sim_line *l); /* in the first level */

/* What it takes to bring a line that the core has to its first level, which is done. */
uint64_t sim_reach(uint32_t core, const struct sim_line *l);

static inline uintptr_t sim_noted_at(const struct sim_note *n)
{
    return n->what & ((UINT64_C(1) << SIM_BITS) - 1);
}

static inline enum sim_access sim_noted_how(const struct sim_note *n)
{
    return n->what >> SIM_BITS != 0 ? SIM_WRITE : SIM_READ;
}

/* Inlined, so that the return address is that of what the program calls. */
#define SIM_INSIDE static inline __attribute__((always_inline))

SIM_INSIDE bool sim_hit(const struct sim_line *l, enum sim_access how)
{
    bool mine = how == SIM_READ ? (l->sharers[sim_core_number / 64] >> (sim_core_number % 64) & 1) != 0
                                : how == SIM_WRITE && l->owner == sim_core_number + 1;
    if (!__builtin_expect(mine && (!sim_capacities || sim_at_hand(sim_core_number, l)), 1))
        return false;
    sim_here->accesses++;
    sim_now += sim_machine.hit;
    return true;
}

SIM_INSIDE void sim_touch_line(uintptr_t at, enum sim_access how)
{
    struct sim_line *l = &sim_lines[at / SIM_LINE];
    sim_arrive();
    if (!sim_hit(l, how))
        sim_miss(l, how, at, __builtin_return_address(0));
}

SIM_INSIDE void sim_note_line(uintptr_t at, enum sim_access how)
{
    if (sim_noted == 0) { /* nothing to wait for? */
        sim_settle();
        if (sim_now <= sim_limit && sim_hit(&sim_lines[at / SIM_LINE], how))
            return;
    }
    if (__builtin_expect(sim_insns > UINT32_MAX, 0))
        sim_arrive();
    sim_notes[sim_noted++] = (struct sim_note){at | (uint64_t)(how == SIM_WRITE) << SIM_BITS, (uint32_t)sim_insns,
                                               (uint32_t)(uintptr_t)__builtin_return_address(0)};
    sim_insns = 0;
    if (__builtin_expect(sim_noted == SIM_NOTES, 0))
        sim_drain();
}

/* Of each line: its turn is waited for (touch), or it is noted. */
#define SIM_LINES(of_line)                                                                         \
    uintptr_t at = (uintptr_t)p, last = at + size - 1;                                             \
    if (__builtin_expect(last >> SIM_BITS != 0, 0)) {                                              \
        sim_charge(sim_machine.hit); /* the C library's, or a host's stack */                      \
        return;                                                                                    \
    }                                                                                              \
    of_line(at, how);                                                                              \
    for (uintptr_t line = at / SIM_LINE + 1; __builtin_expect(line <= last / SIM_LINE, 0); line++) \
        of_line(line *SIM_LINE, how);

SIM_INSIDE void sim_touch(const volatile void *p, size_t size, enum sim_access how){SIM_LINES(sim_touch_line)}

SIM_INSIDE void sim_plain(const void *p, size_t size, enum sim_access how)
{
    SIM_LINES(sim_note_line)
}

/* The lines that were waited for most: their addresses, at most n. */
unsigned sim_lines_worst(uintptr_t *at, unsigned n);

/* ---- arena.c: where memory of the program comes from ---- */

void sim_arena_open(void);
void *sim_map(size_t bytes);
void *sim_map_named(size_t bytes, uintptr_t *frame); /* the frame of who has asked for it */
void sim_unmap(void *base, size_t bytes);
bool sim_is_block(const void *p);

/* The block that reaches into a line: how far into it the line begins, its size, and who has asked for it. */
bool sim_named(uintptr_t line, size_t *offset, size_t *bytes, uintptr_t *from, uintptr_t *via);

/* ---- where.c: where virtual time went ---- */

uint64_t sim_used(void); /* by all threads: for so long they have had cores (engine.c) */

struct sim_account {
    uint64_t on_core, stall,
        kernel;      /* of a thread: had a core; of that, waited for lines; in what the kernel costs */
    uint32_t worker; /* 1 + its index; 0: it is none */
};
uint32_t sim_account(uint32_t i, struct sim_account *to);        /* of the i-th thread; how many there are */
void sim_kernel(uint64_t cost);                                  /* as sim_charge(), for what the kernel does */
void sim_interrupted(const struct sim_thread *t, uint64_t cost); /* the kernel has done that while it ran */
void sim_worker(uint32_t index);                                 /* the thread is a worker */
void sim_on_core(const struct sim_thread *t);
void sim_off_core(const struct sim_thread *t);

void sim_waited(uintptr_t at, const void *pc, uint64_t stall);
bool sim_place(uintptr_t line, uintptr_t *at, uintptr_t *pc);
extern uint32_t sim_traffic[SIM_CORES][SIM_CORES]; /* lines that the first, their owner, handed to the second */

enum sim_event { SIM_ON, SIM_OFF, SIM_RUN };
void sim_event(enum sim_event kind, const struct sim_thread *t, uint64_t at);
void sim_where_open(void);
void sim_report_open(void); /* of report.c: what a program does not say itself, at its end */
void sim_where_write(const uintptr_t *line, unsigned n); /* and who waited for these lines */

/* ---- names.c ---- */

/* The variable that reaches into a line, and how far into it the line begins; NULL: nobody knows. */
const char *sim_variable(uintptr_t line, size_t *offset);

/* ---- report.c ---- */

_Noreturn void sim_die(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints what a program's record says under "sim", or the same for people. */
void tn_simulated(bool json);

#endif
