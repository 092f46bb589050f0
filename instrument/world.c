/* SPDX-License-Identifier: MIT */
/*
 * The world of the code under test: its object, its threads' stacks and thread-local storage, and how all that is put
 * back to where constructors left it.  Stacks, storage and heap lie at a fixed address, each thread's apart, so that an
 * address depends on what its thread has done and on nothing else.
 */
#define _GNU_SOURCE
#include "instrument.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct in_thread *in_cur = &in_boot, in_boot, in_thread[IN_THREADS];
void *in_engine_sp;
uint32_t in_code;
bool in_ahead, in_over;
struct in_object in_object;
char *in_low, *in_high;

static char *const fixed = (char *)0x200000000000;
static size_t each; /* a thread's stretch: storage, stack, heap */

static _Noreturn void refuse(const char *what)
{
    fprintf(stderr, "%s: not supported\n", what);
    _exit(77);
}

static int segments(struct dl_phdr_info *info, size_t size, void *wanted)
{
    (void)size;
    if (strcmp(info->dlpi_name, wanted) != 0)
        return 0;
    struct in_object *o = &in_object;
    char *relro = NULL, *relro_end = NULL;
    o->base = (char *)info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        char *at = o->base + p->p_vaddr;
        if (p->p_type == PT_GNU_RELRO) {
            relro = at;
            relro_end = (char *)(((size_t)at + p->p_memsz + 4095) & ~(size_t)4095);
        } else if (p->p_type == PT_GNU_STACK && (p->p_flags & PF_X) != 0) {
            refuse("code on the stack, as of nested functions");
        } else if (p->p_type == PT_DYNAMIC) {
            for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)at; d->d_tag != DT_NULL; d++)
                if (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_STATIC_TLS) != 0)
                    refuse("thread-local variables of the model initial-exec or local-exec");
                else if (d->d_tag == DT_FINI_ARRAY)
                    refuse("destructors, which would run after the last execution");
        } else if (p->p_type == PT_TLS) {
            if (p->p_memsz > IN_TLS - IN_WORDS)
                refuse("more than 65408 bytes of thread-local variables");
            o->tls_image = at;
            o->tls_filled = p->p_filesz;
            o->tls_size = p->p_memsz;
            o->tls_align = p->p_align;
        } else if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0) {
            o->text = at;
            o->text_end = at + p->p_memsz;
        } else if (p->p_type == PT_LOAD && (p->p_flags & PF_W) != 0) {
            o->data = at;
            o->data_end = at + p->p_memsz;
        }
    }
    if (relro != NULL && o->data != NULL && relro_end > o->data && relro <= o->data)
        o->data = relro_end < o->data_end ? relro_end : o->data_end;
    return 1;
}

void in_image(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(77);
    }
    dl_iterate_phdr(segments, (void *)path);
    union {
        void *p;
        int (*f)(int, char **);
    } to = {dlsym(handle, "main")};
    if (to.p == NULL || in_object.text == NULL) {
        fprintf(stderr, "there is no main() in the code under test\n");
        exit(2);
    }
    in_object.main = to.f;
    if (in_object.data != NULL) {
        size_t size = (size_t)(in_object.data_end - in_object.data);
        in_object.saved = malloc(size + 1);
        memcpy(in_object.saved, in_object.data, size);
    }
}

void in_world_init(void)
{
    each = IN_TLS + IN_STACK + in_heap_each;
    in_low = mmap(fixed, each * IN_THREADS, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (in_low != fixed) {
        fprintf(stderr, "no room at the fixed address of the explored memory\n");
        exit(99);
    }
    in_high = in_low + each * IN_THREADS;
    size_t size = 256 * 1024;
    char *engine = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    in_engine_sp = engine + size - 64;
    for (unsigned t = 0; t < IN_THREADS; t++) {
        char *low = in_low + t * each;
        in_thread[t].id = (uint8_t)t;
        in_thread[t].low = low + IN_TLS;
        in_thread[t].high = low + IN_TLS + IN_STACK;
    }
}

void in_world_reset(void)
{
    in_over = false;
    in_sync_reset();
    in_keys_reset();
    if (in_object.data != NULL)
        memcpy(in_object.data, in_object.saved, (size_t)(in_object.data_end - in_object.data));
    for (unsigned t = 0; t < IN_THREADS; t++) {
        in_thread[t].alive = in_thread[t].ended = in_thread[t].joined = in_thread[t].detached = false;
        in_thread[t].children = 0;
        in_thread[t].exits = in_thread[t].tls_made = false;
    }
    in_heap_reset();
}

void in_thread_main(void);
void in_thread_main(void)
{
    struct in_thread *t = in_cur;
    t->result = t->fn(t->arg);
    if (t->id == 0) /* ends the process, where a thread destroys the values of its keys */
        in_over = true;
    else
        in_thread_done();
    in_op(0, 0, 0, 0, 0, OP_END * 8);
    __builtin_unreachable();
}

static void *run_main(void *arg)
{
    static char name[] = "program", *argv[] = {name, NULL};
    (void)arg;
    int code = in_object.main(1, argv);
    in_cur->pc = 0;
    if (code != 0)
        in_bug("exit", "main returned %d", code);
    return NULL;
}

void in_thread_start(unsigned id, unsigned parent, void *(*fn)(void *), void *arg)
{
    static unsigned guarded; /* threads whose stacks have a guard below them; their numbers come in order */
    struct in_thread *t = &in_thread[id];
    for (; guarded <= id; guarded++)
        mprotect(in_thread[guarded].low, 4096, PROT_NONE);
    t->fn = id == 0 ? run_main : fn;
    t->arg = arg;
    t->parent = (uint8_t)parent;
    t->alive = true;
    t->ended = false;
    t->pc = 0;
    t->error = 0;
    uint64_t *sp = (uint64_t *)(t->high - 16 - 56);
    memset(sp, 0, 56 + 16);
    sp[6] = (uint64_t)in_trampoline;
    t->sp = sp;
}

/* Thread-local storage: what general-dynamic code calls.  The first use by a thread makes its copy. */
struct tls_index {
    unsigned long module, offset;
};
void *__tls_get_addr(struct tls_index *i);
void *__tls_get_addr(struct tls_index *i)
{
    static char boot[IN_TLS];
    static bool boot_made;
    unsigned id = in_explored() ? in_cur->id : 0;
    char *block = in_explored() ? in_thread[id].low - IN_TLS : boot;
    bool *made = in_explored() ? &in_thread[id].tls_made : &boot_made;
    if (!*made) {
        *made = true;
        memcpy(block, in_object.tls_image, in_object.tls_filled);
        memset(block + in_object.tls_filled, 0, in_object.tls_size - in_object.tls_filled);
    }
    return block + i->offset;
}
