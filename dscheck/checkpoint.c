/* SPDX-License-Identifier: MIT */
/* See checkpoint.h. */
#define _GNU_SOURCE
#include "checkpoint.h"

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[24] = "tenter checkpoint 2\n";
static const uint64_t basis = UINT64_C(0xcbf29ce484222325);

static void mix(uint64_t *h, const char *from, const char *to)
{
    for (; from < to; from++)
        *h = (*h ^ (unsigned char)*from) * UINT64_C(0x100000001b3);
}

static int constants(struct dl_phdr_info *info, size_t size, void *digest)
{
    (void)size;
    if ((char *)info->dlpi_addr != in_object.base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = in_object.base + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) == 0)
            mix(digest, at, at + p->p_filesz);
    }
    return 1;
}

void head_init(struct head *h, const char *options)
{
    char exe[512] = "";
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
        exe[0] = '\0';
    const char *slash = strrchr(exe, '/'); /* its name is a digest of its sources */
    *h = (struct head){
        .program = basis, .base = (uint64_t)in_object.base, .code = (uint64_t)(in_object.text_end - in_object.base)};
    memcpy(h->magic, magic, sizeof(magic));
    snprintf(h->version, sizeof(h->version), "%s", slash == NULL ? exe : slash + 1);
    snprintf(h->options, sizeof(h->options), "%s", options == NULL ? "" : options);
    dl_iterate_phdr(constants, &h->program);
    if (in_object.data != NULL)
        mix(&h->program, in_object.saved, in_object.saved + (in_object.data_end - in_object.data));
}

/* What is written, and a digest of it. */
struct out {
    FILE *file;
    uint64_t digest;
};

static bool put(struct out *to, const void *what, size_t size)
{
    mix(&to->digest, what, (const char *)what + size);
    return fwrite(what, 1, size, to->file) == size;
}

static bool copy(struct out *to, const struct part *p)
{
    char piece[65536];
    for (uint64_t done = 0; done < p->size;) {
        uint64_t n = p->size - done < sizeof(piece) ? p->size - done : sizeof(piece);
        ssize_t got = pread(p->file, piece, n, (off_t)(p->at + done));
        if (got <= 0 || !put(to, piece, (size_t)got))
            return false;
        done += (uint64_t)got;
    }
    return true;
}

bool checkpoint_write(const char *name, const struct head *h, const uint8_t *seen, const struct part *part)
{
    char beside[4096];
    snprintf(beside, sizeof(beside), "%s.new", name);
    FILE *f = fopen(beside, "w");
    struct out to = {f, basis};
    bool good = f != NULL && put(&to, h, sizeof(*h)) && put(&to, seen, h->code);
    for (uint64_t i = 0; i < h->parts && good; i++)
        good = put(&to, &part[i].size, sizeof(part[i].size)) && copy(&to, &part[i]);
    good = good && fwrite(&to.digest, sizeof(to.digest), 1, f) == 1 && fflush(f) == 0 && fsync(fileno(f)) == 0;
    if (f != NULL && fclose(f) != 0)
        good = false;
    if (good && rename(beside, name) == 0)
        return true;
    fprintf(stderr, "cannot write the checkpoint %s: %s\n", name, strerror(errno));
    return false;
}

static _Noreturn void refuse(const char *name, const char *why)
{
    fprintf(stderr, "%s: %s\n", name, why);
    exit(2);
}

/* Whether it ends with a digest of what comes before, which goes to at. */
static bool whole(int file, uint64_t *at)
{
    char piece[65536];
    struct stat s;
    uint64_t digest = basis, end;
    if (fstat(file, &s) != 0 || s.st_size < (off_t)sizeof(end))
        return false;
    *at = (uint64_t)s.st_size - sizeof(end);
    for (uint64_t done = 0; done < *at;) {
        ssize_t got = pread(file, piece, *at - done < sizeof(piece) ? *at - done : sizeof(piece), (off_t)done);
        if (got <= 0)
            return false;
        mix(&digest, piece, piece + got);
        done += (uint64_t)got;
    }
    return pread(file, &end, sizeof(end), (off_t)*at) == (ssize_t)sizeof(end) && end == digest;
}

void checkpoint_read(const char *name, struct head *h, uint8_t *seen, struct part *part)
{
    struct head was;
    uint64_t end;
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        refuse(name, strerror(errno));
    if (pread(file, &was, sizeof(was), 0) != (ssize_t)sizeof(was) || memcmp(was.magic, magic, sizeof(magic)) != 0)
        refuse(name, "this is no checkpoint");
    if (strcmp(was.version, h->version) != 0)
        refuse(name, "the checkpoint was written by another version of the explorer: start anew, without --resume");
    if (!whole(file, &end))
        refuse(name, "the checkpoint is damaged, or not all of one: start anew, without --resume");
    if (was.program != h->program && was.base == h->base)
        refuse(name, "the checkpoint is of another program: start anew, without --resume");
    if (strcmp(was.options, h->options) != 0) {
        fprintf(stderr, "%s: the checkpoint was made with other options: give it %s\n", name,
                was.options[0] == '\0' ? "none" : was.options);
        exit(2);
    }
    if (was.base != h->base)
        refuse(name, "the program lay at another address then (address randomisation cannot be turned off here, or "
                     "another program): start anew, without --resume");
    uint64_t at = sizeof(was) + was.code;
    bool good = was.code == h->code && was.parts <= PARTS_MAX &&
                pread(file, seen, was.code, sizeof(was)) == (ssize_t)was.code;
    for (uint64_t i = 0; i < was.parts && good; i++) {
        good = pread(file, &part[i].size, sizeof(part[i].size), (off_t)at) == (ssize_t)sizeof(part[i].size);
        part[i].file = file;
        part[i].at = at + sizeof(part[i].size);
        at = part[i].at + part[i].size;
    }
    if (!good || at != end)
        refuse(name, "the checkpoint does not fit the program: start anew, without --resume");
    *h = was;
}
