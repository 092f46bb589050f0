/* SPDX-License-Identifier: MIT */
/* stopping: the asker waits for the thread as long as it takes; see look-case.h. */
#define PATIENCE CASE_FOREVER

#include "look-case.h"

CASE_MAIN(prepare, check, asker, asked)
