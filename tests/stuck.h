/* SPDX-License-Identifier: MIT
 *
 * What the suites of deadlocks, stalls and dumps share: children that get stuck, and what they said. What goes to
 * standard error lands in a file, so that a program that is stuck can see when it was told so: no test decides by time.
 */
#ifndef TESTS_STUCK_H
#define TESTS_STUCK_H

#include <stdatomic.h>

#include "harness.h"

/* In a child: from here on standard error is a file; has that been told there? undivert hands it all to whoever reads
 * the real one, and returns `code`. */
void divert(void);
bool told(const char *what);
int undivert(int code);

/* Look again and again, some napping in between (it is the body), but not for ever. */
enum { LONG = 20000 };
#define UNTIL(condition) for (int naps_ = 0; naps_ < LONG && !(condition); naps_++)

/* A fibre that has a name, or the end of the process. */
tn_fibre *named(const char *name, void *(*fn)(void *), void *arg);

/* Functions of fibres: waits for a "mutex", whose address is what_it_waits_for; ends at once. */
void *waits_in_vain(void *arg);
void *ends(void *arg);
extern const void *const what_it_waits_for;

/* And one that waits for whoever has `waiter`, which is there when `waits` says so. */
void *waits_for_thread(void *arg);
extern tn_waiter waiter;
extern atomic_bool waits;

/* Deadlocks abort, stalls are not looked for. run: a child's function, which runs the fibre function that `fn` points
 * to in such a runtime with two workers, and returns the int that it was given the address of. */
struct tn_config quiet(int64_t workers);
int run(void *fn);

/* What the child said; does it contain the text? If something was not as it should be, show it. */
extern char err[1 << 20];
bool has(const char *text);
void show(bool good, int status);

#endif
