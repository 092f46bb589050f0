/* SPDX-License-Identifier: MIT
 *
 * What the simulator's test asks of it; compiled without instrumentation, so that asking costs nothing.
 */
#ifndef SIM_PROBE_H
#define SIM_PROBE_H

#include <stdbool.h>

unsigned long probe_now(void);      /* ns since the start */
void probe_until(unsigned long ns); /* compute until then */
void probe_expect(unsigned long ns, const char *what);
unsigned long probe_transfers(void);   /* lines taken from another core, by all cores */
void probe_heavy(void);                /* a heavy fence */
void probe_clock(void);                /* a look at it through the seam */
void probe_spin(unsigned spins);       /* a breath there, after so many */
void probe_sleep(void);                /* there, until somebody wakes it */
void probe_wake(void);                 /* who sleeps so, or nobody */
bool probe_worst_is(const char *name); /* is this the variable whose line was waited for most? */
unsigned long probe_kernel(void);      /* what this thread has spent in the kernel */
bool probe_guards(unsigned n);         /* are there so many? Or the host has guards that are a mapping each */
int probe_failures(void);

#endif
