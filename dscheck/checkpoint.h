/* SPDX-License-Identifier: MIT */
/* The file of a checkpoint: a head, which says what it belongs to; which code has run; the parts; a digest of all that. */
#ifndef DSCHECK_CHECKPOINT_H
#define DSCHECK_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PARTS_MAX = 4096 };

struct head {
    char magic[24], version[48];
    uint64_t program, base; /* a digest of the code under test, and where it lay */
    char options[256];
    uint64_t executions, blocked, events, conflicts, threads, code;
    double seconds, done;
    uint64_t parts;
};

struct part {
    int file; /* descriptor */
    uint64_t at, size;
};

void head_init(struct head *h, const char *options);
/* Writes beside it, and renames; false: it cannot be written, which has been said. */
bool checkpoint_write(const char *name, const struct head *h, const uint8_t *seen, const struct part *part);
/* Ends the process with one line when the file is no checkpoint of this program. */
void checkpoint_read(const char *name, struct head *h, uint8_t *seen, struct part *part);

#endif
