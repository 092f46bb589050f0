/* SPDX-License-Identifier: MIT
 *
 * fifo: the oldest ready fibre runs first (003 §4.2.1): a breadth-first walk, robust against starvation. With
 * layout=local the order holds for each worker, and thieves take the oldest.
 */
#define TN_KNOB_OWNER fifo
#define LOCAL_LIFO    0
#include "parts/either.h"

EITHER_TABLE(fifo, "oldest first; local queues with stealing, or one global queue");
