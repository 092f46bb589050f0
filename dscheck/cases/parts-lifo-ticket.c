/* SPDX-License-Identifier: MIT */
/* lifo, request=ticket: a thief takes what a ticket names; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_FETCH(lifo, PARTS_KNOBS({"request", REQUEST_TICKET}, {"private", 0}, {"capacity", 2}, ), PARTS_TICKETS())
