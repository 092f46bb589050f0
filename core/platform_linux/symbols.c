/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: names for addresses, read from the ELF files. No lock (with glibc from 2.35 on, whose
 * _dl_find_object tells the file), no allocation: a signal handler may ask.
 */
#define _GNU_SOURCE
#include "../platform.h"
#include "child.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files whose symbols were asked for. */
enum { FILES = 8 };
static struct object {
    uintptr_t base;
    const char *path;
    const unsigned char *map; /* NULL: cannot be read */
    size_t bytes;
} objects[FILES];
static unsigned n_objects;

/* Addresses that were asked for: a thousand fibres wait in the same few places. */
enum { KNOWN = 256 };
static struct known {
    uintptr_t pc;
    struct tn_symbol symbol;
} known[KNOWN];

static const char *program(void)
{
    static char path[512];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return path;
}

static struct object *object_of(uintptr_t pc)
{
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
    struct dl_find_object found;
    if (_dl_find_object((void *)pc, &found) != 0)
        return NULL;
    const struct link_map *map = found.dlfo_link_map;
    const char *path = map->l_name != NULL && *map->l_name != '\0' ? map->l_name : program();
    for (unsigned i = 0; i < n_objects; i++)
        if (objects[i].base == map->l_addr && strcmp(objects[i].path, path) == 0)
            return &objects[i];
    if (n_objects == FILES)
        return NULL;
    struct object *o = &objects[n_objects++];
    *o = (struct object){.base = map->l_addr, .path = path};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return o;
    if (fstat(fd, &st) == 0 && st.st_size > (off_t)sizeof(ElfW(Ehdr))) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED && memcmp(at, ELFMAG, SELFMAG) == 0) {
            o->map = at;
            o->bytes = (size_t)st.st_size;
        } else if (at != MAP_FAILED) {
            munmap(at, (size_t)st.st_size);
        }
    }
    close(fd);
    return o;
#else
    (void)pc;
    return NULL;
#endif
}

static bool inside(const struct object *o, uint64_t at, uint64_t bytes)
{
    return at <= o->bytes && bytes <= o->bytes - at;
}

/* The function at `offset` in one symbol table. */
static bool search(const struct object *o, const ElfW(Shdr) * table, const ElfW(Shdr) * names, struct tn_symbol *s)
{
    if (!inside(o, table->sh_offset, table->sh_size) || !inside(o, names->sh_offset, names->sh_size) ||
        names->sh_size == 0)
        return false;
    const char *text = (const char *)o->map + names->sh_offset;
    const ElfW(Sym) *symbol = (const void *)(o->map + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbol; i++, symbol++) {
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
            s->file_offset < symbol->st_value || s->file_offset - symbol->st_value >= symbol->st_size ||
            symbol->st_name >= names->sh_size)
            continue;
        s->function = text + symbol->st_name;
        s->function_offset = s->file_offset - symbol->st_value;
        return true;
    }
    return false;
}

static void find_function(const struct object *o, struct tn_symbol *s)
{
    const ElfW(Ehdr) *head = (const void *)o->map;
    if (o->map == NULL || head->e_shentsize != sizeof(ElfW(Shdr)) ||
        !inside(o, head->e_shoff, (uint64_t)head->e_shnum * sizeof(ElfW(Shdr))))
        return;
    const ElfW(Shdr) *section = (const void *)(o->map + head->e_shoff);
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (unsigned kind = 0; kind < 2; kind++)
        for (unsigned i = 0; i < head->e_shnum; i++)
            if (section[i].sh_type == kinds[kind] && section[i].sh_link < head->e_shnum &&
                search(o, &section[i], &section[section[i].sh_link], s))
                return;
}

struct tn_symbol tn_symbol(uintptr_t pc)
{
    struct known *k = &known[(pc >> 2) % KNOWN];
    if (k->pc != pc) {
        struct object *o = object_of(pc);
        k->pc = pc;
        k->symbol = (struct tn_symbol){.function = ""};
        if (o != NULL) {
            k->symbol.file = o->path;
            k->symbol.file_offset = pc - o->base;
            find_function(o, &k->symbol);
        }
    }
    return k->symbol;
}

void tn_symbols_close(void)
{
    for (unsigned i = 0; i < n_objects; i++)
        if (objects[i].map != NULL)
            munmap((void *)(uintptr_t)objects[i].map, objects[i].bytes);
    n_objects = 0;
    memset(known, 0, sizeof known);
}

/* What the parent had mapped stays mapped here: which of it that was cannot be told if it was just at it. */
void tn_child_symbols(void)
{
    n_objects = 0;
    memset(known, 0, sizeof known);
}
