/* SPDX-License-Identifier: MIT
 *
 * A shared object that is no scheduler module: loading it must fail with a message.
 */
const int no_table_at_all = 1;
