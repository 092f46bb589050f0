/* SPDX-License-Identifier: MIT
 *
 * As much of likwid as the workloads call, for test_counters.c, which defines it: no machine is needed that has it.
 */
void likwid_markerInit(void);
void likwid_markerThreadInit(void);
int likwid_markerRegisterRegion(const char *region);
int likwid_markerStartRegion(const char *region);
int likwid_markerStopRegion(const char *region);
void likwid_markerGetRegion(const char *region, int *events, double *values, double *time, int *count);
void likwid_markerClose(void);
char *perfmon_getEventName(int group, int event);
