/* SPDX-License-Identifier: MIT */
/* stopping: the asker soon gives up, and the thread may stop at the last moment or come too late; see look-case.h. */
#define PATIENCE 1

#include "look-case.h"

CASE_MAIN(prepare, check, asker, asked)
