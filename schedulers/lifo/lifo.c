/* SPDX-License-Identifier: MIT
 *
 * lifo: the newest ready fibre runs first (003 §4.2.1): a depth-first walk, for locality. Thieves take the oldest.
 * What yields goes elsewhere: put back on the stack, it would be the next to run, and the fibre that it waits for
 * would never get the worker (003 §4.4.4).
 */
#define TN_KNOB_OWNER lifo
#define LOCAL_LIFO    1
#include "parts/either.h"

EITHER_TABLE(lifo, "newest first; local stacks with FIFO stealing, or one global stack");
