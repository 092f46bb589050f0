/* SPDX-License-Identifier: MIT */
/*
 * idle: one worker searches, for an item that is there, another one sleeps; a waker makes a second item, and may leave it to
 * the search. Who finds something else must then wake a successor.
 */
enum { WORKERS = 2, ITEMS = 1, GETS = 1, ASLEEP = 1, THERE = 1 };

#include "idle-case.h"

CASE_MAIN(prepare, check, waker, worker0, worker1)
