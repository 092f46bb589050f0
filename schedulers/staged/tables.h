/* SPDX-License-Identifier: MIT
 *
 * What staged can be told, and what it counts.
 */
#ifndef TN_STAGED_TABLES_H
#define TN_STAGED_TABLES_H

#include "scheduler.h"

#define TN_KNOB_OWNER staged
#define STAGED_KNOBS(K)                                                                                              \
    K(stages, NULL, 3, 1, 9, "", "stages, each with a queue and a pool", "003 §4.3.2")                               \
    K(split, NULL, 0, 0, 999999999, "",                                                                              \
      "workers of each stage at first, a digit each: 181 is one, eight, one, and 90 nine and none; 0: all in stage " \
      "0, without controller in turn",                                                                               \
      "003 §4.3.2")                                                                                                  \
    K(capacity, NULL, 128, 1, 1 << 20, "fibres", "when a stage is full: those before it help", "003 §4.4.7")         \
    K(full, "overflow|refuse", 0, 0, 1, "", "a spawn into a full stage: enters all the same, or gets EAGAIN",        \
      "003 §4.4.7")                                                                                                  \
    K(batch, NULL, 4, 1, 64, "fibres", "how many a worker takes at once", "003 §4.3.2")                              \
    K(control, NULL, 500, 0, 1000000, "us", "a worker may change its stage so often; 0: never", "003 §4.3.2")

enum { STAGED_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob staged_knobs[] = {STAGED_KNOBS(TN_KNOB_ROW)};
#define KNOB(cl, k)       TN_KNOB((cl)->knobs, TN_KNOB_OWNER, k)
#define CONTROL_GIVEN(cl) (KNOB(cl, control) != 0 && KNOB(cl, control) != staged_knobs[staged_knob_control].initial)

enum { FULL_OVERFLOW, FULL_REFUSE };
enum { STUCK_NS = 500000 };

enum { STAGED_OVERFLOW, STAGED_HELPED, STAGED_MOVED, STAGED_BATCHES, STAGED_FREED };
static const struct tn_counter_row staged_counters[] = {
    [STAGED_OVERFLOW] = {"overflow", "fibres that entered a stage though its queue was full"},
    [STAGED_HELPED] = {"helped", "batches taken from a full stage by a worker of an earlier one"},
    [STAGED_MOVED] = {"moved", "times that a worker went over to another stage"},
    [STAGED_BATCHES] = {"batches", "times that fibres were taken from a stage's queue"},
    [STAGED_FREED] = {"freed", "fibres of another stage taken from behind a worker that was stuck"},
};

#endif
