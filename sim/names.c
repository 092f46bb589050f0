/* SPDX-License-Identifier: MIT
 *
 * The variable that lies at an address of the program: by its table of symbols, where the program has one.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *image; /* the program's file */
static size_t bytes;

static void load(void)
{
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size > sizeof(ElfW(Ehdr))) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        image = p != MAP_FAILED ? p : NULL;
        bytes = (size_t)st.st_size;
    }
    close(fd);
}

static bool inside(uint64_t at, uint64_t n)
{
    return at <= bytes && n <= bytes - at;
}

const char *sim_variable(uintptr_t line, size_t *offset)
{
    if (image == NULL)
        load();
    if (image == NULL)
        return NULL;
    const ElfW(Ehdr) *head = (const void *)image;
    const ElfW(Shdr) *section = (const void *)(image + head->e_shoff);
    if (!inside(head->e_shoff, (uint64_t)head->e_shnum * sizeof *section))
        return NULL;
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *table = &section[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= head->e_shnum ||
            !inside(table->sh_offset, table->sh_size))
            continue;
        const ElfW(Shdr) *names = &section[table->sh_link];
        const ElfW(Sym) *symbol = (const void *)(image + table->sh_offset);
        for (size_t k = 0; k < table->sh_size / sizeof *symbol; k++)
            if (ELF64_ST_TYPE(symbol[k].st_info) == STT_OBJECT && symbol[k].st_value < line + SIM_LINE &&
                line < symbol[k].st_value + symbol[k].st_size && symbol[k].st_name < names->sh_size &&
                inside(names->sh_offset, names->sh_size)) {
                *offset = line > symbol[k].st_value ? line - symbol[k].st_value : 0;
                return image + names->sh_offset + symbol[k].st_name;
            }
    }
    return NULL;
}
