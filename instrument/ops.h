/* SPDX-License-Identifier: MIT */
/*
 * What instrumented code can ask of the runtime beneath it.  Numbers, since enter.S needs them: the code of an operation
 * on memory is its number times 8 plus the logarithm of its size.
 */
#ifndef INSTRUMENT_OPS_H
#define INSTRUMENT_OPS_H

#define OP_LOAD       0
#define OP_STORE      1
#define OP_XCHG       2
#define OP_ADD        3
#define OP_SUB        4
#define OP_AND        5
#define OP_OR         6
#define OP_XOR        7
#define OP_NAND       8
#define OP_CAS        9  /* strong; returns whether, and writes the expected value back */
#define OP_CAS_WEAK   10 /* the same, and may fail without reason where that is asked for */
#define OP_CAS_VAL    11 /* returns the old value */
#define OP_FENCE      12
#define OP_ATOMIC_END 13

/* On words of the interposed library (sync.c).  Those marked * wait until they can succeed. */
#define OP_LOCK       13 /* *  0 becomes the argument */
#define OP_TRYLOCK    14 /*    the same, or fails */
#define OP_RDLOCK     15 /* *  readers + 1 unless there is a writer (its bit is the highest) */
#define OP_TRYRDLOCK  16
#define OP_AWAIT      17 /* *  reads what is not 0 */
#define OP_TAKE       18 /* *  what is not 0, less 1 */
#define OP_TRYTAKE    19
#define OP_ENQUEUE    20 /*    a thread, at the end of a queue of 16 nibbles */
#define OP_DEQUEUE    21 /*    one of them, which is a choice */
#define OP_REMOVE     22 /*    a given one, if it is there */
#define OP_ARRIVE     23 /*    the same, but the last of so many leaves an empty queue */
#define OP_AWAIT_OVER 24 /* *  reads what is not the argument */
#define OP_MEMORY_END 25

/* Of threads, and of the explorer. */
#define OP_CREATE 25
#define OP_END    26
#define OP_JOIN   27
#define OP_CHOOSE 28 /* one of so many */
#define OP_YIELD  29
#define OP_STOP   30 /* something that ends a look ahead: see explore.h */
#define OP_BUG    31 /* the argument is a message; does not return */
#define OP_ASSUME 32 /* the thread goes no further, and nobody counts the execution; does not return */

#endif
