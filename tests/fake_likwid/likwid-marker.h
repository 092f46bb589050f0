/* SPDX-License-Identifier: MIT */
#include <likwid.h>
#define LIKWID_MARKER_INIT                        likwid_markerInit()
#define LIKWID_MARKER_THREADINIT                  likwid_markerThreadInit()
#define LIKWID_MARKER_REGISTER(region)            likwid_markerRegisterRegion(region)
#define LIKWID_MARKER_START(region)               likwid_markerStartRegion(region)
#define LIKWID_MARKER_STOP(region)                likwid_markerStopRegion(region)
#define LIKWID_MARKER_GET(region, n, v, t, times) likwid_markerGetRegion(region, n, v, t, times)
#define LIKWID_MARKER_CLOSE                       likwid_markerClose()
