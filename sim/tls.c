/* SPDX-License-Identifier: MIT
 *
 * Thread-local storage: a block for each thread, whose end takes the place of the thread pointer.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <link.h>
#include <string.h>

static const char *image;
static size_t filled, room;

static int find(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_TLS)
            continue;
        image = (const char *)(info->dlpi_addr + p->p_vaddr);
        filled = p->p_filesz;
        room = (p->p_memsz + p->p_align - 1) / p->p_align * p->p_align;
    }
    return 1; /* the program is the first in the list, and alone has what sim_tls() is asked for */
}

void *sim_tls(intptr_t offset);
void *sim_tls(intptr_t offset)
{
    struct sim_thread *t = sim_me;
    if (t->tls == NULL) {
        sim_drain();
        t->tls = sim_map(room);
        memcpy(t->tls, image, filled);
    }
    return (char *)t->tls + room + offset;
}

void sim_tls_open(void)
{
    dl_iterate_phdr(find, NULL);
}

void sim_tls_close(struct sim_thread *t)
{
    if (t->tls != NULL)
        sim_unmap(t->tls, room);
}
