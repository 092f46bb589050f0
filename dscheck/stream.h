/* SPDX-License-Identifier: MIT */
/* State that is written to a checkpoint and read from one: one function for both ways, so that they agree. */
#ifndef DSCHECK_STREAM_H
#define DSCHECK_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct stream {
    FILE *file;
    bool loads;
};

static inline void stream(struct stream *s, void *p, size_t size)
{
    if (size > 0 && (s->loads ? fread(p, size, 1, s->file) : fwrite(p, size, 1, s->file)) != 1)
        abort(); /* both are memory, and the file was found whole */
}

#endif
