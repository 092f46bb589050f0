/* SPDX-License-Identifier: MIT */
/*
 * What explore and simulate share: virtual threads as user-level contexts, the entries that the compiler's
 * instrumentation calls (enter.S, plain.c), the interposed library (sync.c, libc.c), memory (heap.c, tls.c).  A runtime
 * supplies in_engine() and the functions named *hooks* below.
 */
#ifndef INSTRUMENT_H
#define INSTRUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops.h"

/* At most 16 threads: clocks are two vectors of eight 16-bit lanes, queues of threads are 16 nibbles. */
enum { IN_THREADS = 16, IN_STACK = 256 * 1024 };

struct in_thread {
    void *sp;     /* enter.S: first */
    uint64_t ret; /* enter.S: second; what the pending operation returns */
    void *(*fn)(void *);
    void *arg;
    void *result; /* what fn returned */
    char *low, *high;
    uint64_t pc; /* of the call into the interposed library that is under way */
    uint8_t id, parent, children;
    bool alive, ended, detached, joined;
    bool exits;    /* it has called exit(): what its stack holds is no leak */
    bool tls_made; /* its copy of the thread-local variables */
    int error;     /* errno */
};

extern struct in_thread *in_cur, in_boot, in_thread[IN_THREADS];
extern void *in_engine_sp;
extern uint32_t in_code;
extern bool in_over;  /* the process has ended: main has returned, or somebody has called exit() */
extern bool in_ahead; /* a look ahead is under way: anything but reads must call in_stop first */

void in_engine(uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4);
uint64_t in_op(uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t code);
void in_launch(void);
void in_trampoline(void);

#define IN_OP(op, log, a0, a1, a2) in_op((uint64_t)(a0), (uint64_t)(a1), (uint64_t)(a2), 5, 5, (op)*8 + (log))
#define IN_CALL()                                           \
    do {                                                    \
        if (in_ahead)                                       \
            in_op(0, 0, 0, 0, 0, OP_STOP * 8);              \
        in_cur->pc = (uint64_t)__builtin_return_address(0); \
    } while (0)

/* The same of what changes nothing of its own, so that a look ahead may pass. */
#define IN_CALL_READS() (in_cur->pc = (uint64_t)__builtin_return_address(0))

/* Whether a thread of the code under test is running, rather than the runtime itself. */
static inline bool in_explored(void)
{
    return in_cur != &in_boot;
}

static inline bool in_own_stack(const void *at)
{
    return (const char *)at >= in_cur->low && (const char *)at < in_cur->high;
}

void in_world_init(void);  /* once: stacks, heap, shadow */
void in_world_reset(void); /* before each execution: memory as it was after the constructors */
void in_thread_start(unsigned id, unsigned parent, void *(*fn)(void *), void *arg);
void in_image(const char *path); /* load the code under test */
void in_thread_done(void);       /* destroys the values of its keys */
void in_keys_reset(void);
const char *in_keys_of(unsigned thread, size_t *size); /* the values of its keys */
void in_sync_reset(void);

/* The code under test. */
struct in_object {
    char *text, *text_end; /* where its instructions lie */
    char *data, *data_end; /* its writable segments */
    char *base;
    char *saved; /* the data as constructors left it */
    void *tls_image;
    size_t tls_filled, tls_size, tls_align;
    int (*main)(int, char **);
};
extern struct in_object in_object;

/* ---- memory ---- */

extern char *in_low, *in_high;               /* stacks, thread-local storage, heap: one stretch at a fixed address */
enum { IN_TLS = 64 * 1024, IN_WORDS = 128 }; /* of that, words of the library itself at its end */
static const size_t in_heap_each = (size_t)16 << 20; /* of each thread */

void in_heap_reset(void);
/* NULL, or what is wrong with reading or writing these bytes of the heap. */
const char *in_heap_wrong(const char *at, size_t size, bool write);
bool in_is_heap(const void *p);
/* The i-th block of a thread, with its size; NULL: it has fewer. */
const char *in_heap_block(unsigned thread, unsigned i, size_t *size);
const char *in_heap_leak(char *text, size_t size); /* at the end: a block that nothing points to */
extern bool in_reuse, in_malloc_fail, in_spurious_wake;

/* ---- values of 16 bytes, by number (wide.c) ---- */

extern struct in_wide {
    uint64_t half[2];
} in_wide[];
extern uint32_t in_wides;
uint64_t in_wide_number(const void *at);
void in_wide_again(void); /* the table is another one */

/* ---- what the code under test says (names.c) ---- */

enum { IN_NAMES = 256 };
extern struct in_name {
    const volatile void *at;
    char text[32];
} in_name[IN_NAMES];
extern unsigned in_names;

/* ---- hooks of the runtime ---- */

/* What must hold from here on, and until here: dscheck.h. */
void in_invariant(bool (*holds)(void));
void in_invariant_end(void);

/* A plain access, from the code at pc. */
void in_plain(const void *at, size_t size, bool write, uint64_t pc);
/* Bytes that a free(), called at pc, takes from whoever may still use them. */
void in_freed(const void *at, size_t size, uint64_t pc);
/* The code under test did something wrong; does not return to it. */
_Noreturn void in_bug(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
