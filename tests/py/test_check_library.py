# SPDX-License-Identifier: MIT
"""What the explorer's library (instrument/) does as the C library does, and what it says where a program uses it wrongly."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import HEAD, Checking  # noqa: E402

MORE = "#include <errno.h>\n#include <semaphore.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include <time.h>\n"
BOTH = " int main(void) { go(a, b); return 0; }"
TWICE = " int main(void) { go(a, a); return 0; }"

#: name -> (program, None where it is right, or how what is said begins)
PROGRAMS: dict[str, tuple[str, str | None]] = {
    "mtx-times-out": ("""static mtx_t m; static struct timespec until = {1, 0}; static void *a(void *p) {
        int r = mtx_timedlock(&m, &until); assert(r != thrd_timedout); mtx_unlock(&m); return p; }
        static void *b(void *p) { mtx_lock(&m); mtx_unlock(&m); return p; }
        int main(void) { mtx_init(&m, mtx_timed); go(a, b); return 0; }""", "assertion"),
    "mtx-no-deadlock": ("""static mtx_t m; static struct timespec until = {1, 0}; static void *a(void *p) {
        if (mtx_timedlock(&m, &until) == thrd_success) mtx_unlock(&m); return p; }
        int main(void) { mtx_init(&m, mtx_timed); mtx_lock(&m); go(a, a); mtx_unlock(&m); return 0; }""", None),
    "sem-times-out": ("""static sem_t s; static struct timespec until = {1, 0};
        static void *a(void *p) { assert(sem_timedwait(&s, &until) == 0); return p; }
        static void *b(void *p) { sem_post(&s); return p; } int main(void) { sem_init(&s, 0, 0); go(a, b); return 0; }""",
                      "assertion"),
    "sem-no-deadlock": ("""static sem_t s; static struct timespec until = {1, 0}; static void *a(void *p) {
        if (sem_clockwait(&s, CLOCK_MONOTONIC, &until)) assert(errno == ETIMEDOUT); return p; }
        static void *b(void *p) { sem_post(&s); return p; } int main(void) { sem_init(&s, 0, 0); go(a, b); return 0; }""", None),
    "cnd-no-deadlock": ("""static mtx_t m; static cnd_t c; static struct timespec until = {1, 0}; static void *a(void *p) {
        mtx_lock(&m); int r; while ((r = cnd_timedwait(&c, &m, &until)) == thrd_success) ; assert(r == thrd_timedout);
        mtx_unlock(&m); return p; } int main(void) { mtx_init(&m, mtx_plain); cnd_init(&c); go(a, a); return 0; }""", None),
    "barrier-in-rounds": ("""static pthread_barrier_t b; static void *a(void *p) { pthread_barrier_wait(&b); return p; }
        int main(void) { pthread_barrier_init(&b, 0, 2); pthread_t u[2]; for (int i = 0; i < 2; i++)
        pthread_create(&u[i], 0, a, 0); go(a, a); for (int i = 0; i < 2; i++) pthread_join(u[i], 0);
        pthread_barrier_destroy(&b); return 0; }""", None),
    "barrier-destroyed-at-once": ("""static pthread_barrier_t b; static void *a(void *p) {
        if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) pthread_barrier_destroy(&b); return p; }
        int main(void) { pthread_barrier_init(&b, 0, 2); go(a, a); return 0; }""", None),
    "barrier-destroyed-too-early": ("""static pthread_barrier_t b; static void *a(void *p) {
        pthread_barrier_wait(&b); return p; } static void *b_(void *p) { pthread_barrier_destroy(&b); return p; }
        int main(void) { pthread_barrier_init(&b, 0, 2); go(a, b_); return 0; }""", "misuse|data race"),
    "padding": ("""struct s { char c; int i; }; static void *a(void *p) { struct s *q = malloc(sizeof(*q)), *r = malloc(sizeof(*r)), l;
        q->c = 1; q->i = 2; memcpy(&l, q, sizeof(l)); *r = *q; assert(l.i + r->i == 4); free(q); free(r); return p; }""" + TWICE,
                None),
    "bit-fields": ("""struct s { unsigned a : 3, b : 5; int c; }; static void *a(void *p) { struct s *q = malloc(sizeof(*q)),
        *r = malloc(sizeof(*r)); q->a = 1; q->b = 2; q->c = 3; *r = *q; free(q); free(r); return p; }""" + TWICE, None),
    "realloc": ("""static void *a(void *p) { int *q = malloc(4); q[0] = 1; q = realloc(q, 8); int x = q[1]; free(q);
        return x ? p : 0; }""" + TWICE, "heap"),
    "realloc-kept": ("""static void *a(void *p) { char *q = malloc(11); memset(q, 1, 11); q = realloc(q, 40); int x = q[10];
        assert(x == 1); free(q); return p; }""" + TWICE, None),
    "results-in-the-heap": ("""struct s { pthread_key_t k; int r; void *m; char *e; }; static int one(void *p) { return 7; }
        static void *a(void *p) { struct s *q = malloc(sizeof(*q)); thrd_t n; pthread_key_create(&q->k, 0);
        pthread_setspecific(q->k, q); assert(pthread_getspecific(q->k) == q); thrd_create(&n, one, 0); thrd_join(n, &q->r);
        assert(q->r == 7); if (posix_memalign(&q->m, 64, 64) == 0) free(q->m);
        assert(strtol("12x", &q->e, 10) == 12 && *q->e == 'x'); free(q); return p; }
        static void *b(void *p) { return p; }""" + BOTH, None),
    "key-race": ("static pthread_key_t k; static void *a(void *p) { pthread_key_create(&k, 0); return p; }" + TWICE, "data race"),
    "rwlock-destroyed-too-early": ("""static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; static void *a(void *p) {
        pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); return p; }
        static void *b(void *p) { pthread_rwlock_destroy(&l); return p; }""" + BOTH, "misuse|data race"),
    "sem-destroyed-too-early": ("""static sem_t s; static void *a(void *p) { sem_post(&s); return p; }
        static void *b(void *p) { sem_destroy(&s); return p; } int main(void) { sem_init(&s, 0, 1); go(a, b); return 0; }""",
                                "data race"),
    "destroyed-in-time": ("""static sem_t s; static pthread_rwlock_t l; static void *a(void *p) { pthread_rwlock_rdlock(&l);
        pthread_rwlock_unlock(&l); sem_post(&s); return p; } static void *b(void *p) { sem_wait(&s); pthread_rwlock_destroy(&l);
        sem_destroy(&s); return p; } int main(void) { sem_init(&s, 0, 0); pthread_rwlock_init(&l, 0); go(a, b); return 0; }""",
                          None),
    "sem-value": ("""static sem_t s; static void *a(void *p) { int v; assert(sem_getvalue(&s, &v) == 0); assert(v != 1); return p; }
        static void *b(void *p) { sem_post(&s); return p; } int main(void) { sem_init(&s, 0, 0); go(a, b); return 0; }""", "assertion"),
    "sem-value-orders": ("""static sem_t s; static int x; static void *a(void *p) { int v; do sem_getvalue(&s, &v); while (v == 0);
        assert(x == 1); return p; } static void *b(void *p) { x = 1; sem_post(&s); return p; }
        int main(void) { sem_init(&s, 0, 0); go(a, b); return 0; }""", None),
    "sem-value-race": ("""static sem_t s; static int v; static void *a(void *p) { sem_getvalue(&s, &v); return p; }""" + TWICE, "data race"),
    "_Exit": ("""static atomic_int x; static void *a(void *p) { if (x++) _Exit(2); return p; }""" + TWICE, "exit"),
    "_Exit-0": ("""static void *a(void *p) { _Exit(0); } static void *b(void *p) { return p; }""" + BOTH, None),
    "atoi-race": ("""static char s[8] = "12"; static void *a(void *p) { s[0] = '3'; return p; }
        static void *b(void *p) { return atoi(s) ? p : 0; }""" + BOTH, "data race"),
    "errno-of-each": ("""static atomic_int f; static sem_t s; static void *a(void *p) { errno = 0; while (!f) ;
        assert(errno == 0); return p; } static void *b(void *p) { assert(errno == 0); sem_trywait(&s); assert(errno == EAGAIN);
        f = 1; return p; }""" + BOTH, None),
    "exit-in-a-thread": ("""static sem_t s; static void *a(void *p) { sem_wait(&s); return p; }
        static void *b(void *p) { exit(0); }""" + BOTH, None),
    "exit-keeps": ("static void *a(void *p) { return p; } int main(void) { int *q = malloc(4); *q = 1; go(a, a); if (*q) exit(0); free(q); }",
                   None),
    "leak-at-exit": ("static void *a(void *p) { malloc(4); return p; } int main(void) { go(a, a); exit(0); }", "leak"),
    "main-keeps": ("""_Thread_local int *mine; static pthread_key_t k; static void d(void *p) { assert(0); }
        static void *a(void *p) { return p; } int main(void) { mine = malloc(4); pthread_key_create(&k, d);
        pthread_setspecific(k, malloc(4)); go(a, a); return 0; }""", None),
    "anothers-block": ("""static _Atomic(int *) g; static atomic_uintptr_t seen; static void *a(void *p) { int *q = malloc(16);
        seen = (uintptr_t)q; g = q; return p; } static void *b(void *p) { int *q; while (!(q = g)) ; free(q); int *r = malloc(16);
        assert((uintptr_t)r != seen); free(r); return p; }""" + BOTH, "assertion"),
    "large-array": ("static void *a(void *p) { char b[1 << 20]; memset(b, 1, sizeof(b)); return b[77] ? p : 0; }" + TWICE,
                    "unsupported: a thread needs more than 256 KiB of stack"),
    "deep": ("""static int r(int n) { volatile char x[64]; x[0] = 1; return n == 0 ? 0 : x[0] + r(n - 1); }
        static void *a(void *p) { return r(20000) ? p : 0; }""" + TWICE, "unsupported: a thread needs more than 256 KiB of stack"),
    "large-thread-local": ("""_Thread_local char big[65500]; static void *a(void *p) { big[5] = 1; return p; }""" + TWICE,
                           "unsupported: .*more than 65408"),
    "initial-exec": ("""static __thread int v __attribute__((tls_model("initial-exec"))); static void *a(void *p) { v++;
        return p; }""" + TWICE, "unsupported: .*thread-local"),
    "nested-function": ("""static void call(void (*f)(int)) { f(3); } static void *a(void *p) { int l = 0;
        void add(int k) { l += k; } call(add); assert(l == 3); return p; }""" + TWICE, "unsupported: .*code on the stack"),
    "destructor": ("""static void *a(void *p) { return p; } __attribute__((destructor)) static void d(void) { assert(0); }""" + TWICE,
                   "unsupported: .*destructors"),
    "thread-in-a-constructor": ("""static pthread_t z; static void *a(void *p) { return p; }
        __attribute__((constructor)) static void c(void) { pthread_create(&z, 0, a, 0); }""" + TWICE, "unsupported: .*before main"),
    "block-of-a-constructor": ("""static int *q; static void *a(void *p) { return p; }
        __attribute__((constructor)) static void c(void) { q = malloc(4); }""" + TWICE, "unsupported: .*before main"),
    "huge": ("static void *a(void *p) { volatile size_t n = SIZE_MAX; assert(malloc(n) == NULL); return p; }" + TWICE, None),
    "output-counts": ("""static void *a(void *p) { assert(printf("abc%d", 1) == 4 && fwrite("abc", 1, 3, stdout) == 3 &&
        fprintf(stderr, "x") == 1 && putchar('x') == 'x' && fputs("x", stdout) >= 0); return p; }""" + TWICE, None),
    "many-keys": ("""static void *a(void *p) { return p; } int main(void) { for (int i = 0; i < 70; i++) { pthread_key_t k;
        pthread_key_create(&k, 0); pthread_key_delete(k); } go(a, a); return 0; }""", "unsupported: more than 64 keys"),
    "cnd-destroyed-in-use": ("""static mtx_t m; static cnd_t c; static int in; static void *a(void *p) { mtx_lock(&m); in = 1;
        cnd_wait(&c, &m); mtx_unlock(&m); return p; } static void *b(void *p) { mtx_lock(&m); int is = in; mtx_unlock(&m);
        if (is) cnd_destroy(&c); mtx_lock(&m); cnd_signal(&c); mtx_unlock(&m); return p; }
        int main(void) { mtx_init(&m, mtx_plain); cnd_init(&c); go(a, b); return 0; }""", "misuse|deadlock"),
    "anothers-read-lock": ("""static pthread_rwlock_t l; static atomic_int x; static void *a(void *p) { pthread_rwlock_rdlock(&l);
        x = 1; return p; } static void *b(void *p) { while (!x) ; pthread_rwlock_unlock(&l); return p; }""" + BOTH, "misuse"),
}


class Library(Checking):
    def test_each(self) -> None:
        for name, (text, said) in PROGRAMS.items():
            with self.subTest(name):
                file = self.program(text, name + ".c", MORE + HEAD)
                answer, out = self.run_check(file)[1:]
                if said is None:
                    self.assertEqual((answer["verdict"], answer["message"]), ("ok", ""), out)
                else:
                    self.assertIn(answer["verdict"], ("bug", "unsupported"), out)
                    self.assertRegex(answer["message"], f"^({said})")


if __name__ == "__main__":
    unittest.main()
