/* SPDX-License-Identifier: MIT
 *
 * What a child of fork begins anew: its parent's other threads may have been in the middle of any of it. Called once, in
 * the child, by its only thread (process.c).
 */
#ifndef TN_CHILD_H
#define TN_CHILD_H

void tn_child_look(void);    /* nobody is stopped, or stops threads */
void tn_child_symbols(void); /* none has been asked for */
void tn_child_fault(void);   /* no runtime wants to be told */

#endif
