#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Development test: our histogram (experiments/workloads/hdr.h) against npm's hdr-histogram-js, on random data sets of
# several shapes: every percentile asked for and every bucket's edges and count must be equal. Needs node, npm, a C
# compiler and the registry; without them it exits 77.
#
#     tests/dev/hdr_against_js.sh [SEED]
set -eu
here=$(CDPATH="" cd -- "$(dirname -- "$0")/../.." && pwd)
seed=${1:-1}
cc=${CC:-cc}
for program in node npm "$cc"; do
    if ! command -v "$program" >/dev/null; then
        echo "hdr_against_js: no $program: skipped"
        exit 77
    fi
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
cd "$tmp"
printf '{"private": true}\n' >package.json
if ! timeout 120 npm install --no-audit --no-fund --ignore-scripts hdr-histogram-js@3.0.1 >npm.log 2>&1; then
    tail -3 npm.log
    echo "hdr_against_js: npm cannot install hdr-histogram-js: skipped"
    exit 77
fi

cat >ours.c <<'C'
#include "hdr.h"
#include <inttypes.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hdr *h = hdr_new();
    uint64_t v;
    while (scanf("%" SCNu64, &v) == 1)
        hdr_record(h, v);
    printf("{\"total\": %" PRIu64 ", \"percentiles\": [", h->total);
    for (int i = 1; i < argc; i++)
        printf("%s%" PRIu64, i > 1 ? ", " : "", hdr_percentile(h, atof(argv[i])));
    printf("], \"buckets\": [");
    unsigned at = 0;
    struct hdr_step s;
    for (int first = 1; hdr_next(h, &at, &s); first = 0)
        printf("%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", first ? "" : ", ", s.lowest, s.highest, s.count);
    puts("]}");
    return 0;
}
C
"$cc" -std=c17 -O1 -Wall -I "$here/experiments/workloads" -o ours ours.c -lm

cat >theirs.js <<'JS'
const { execFileSync } = require('child_process');
const hdr = require('hdr-histogram-js');
let state = BigInt(process.argv[2]);
const MASK = (1n << 64n) - 1n;
function random() { // SplitMix64, to a number in [0, 1)
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
}
const HOUR = 3600e9;
const shapes = {
    one: [1, () => 1234567],
    two: [2, () => Math.floor(random() * 5000)],
    small: [1000, () => Math.floor(random() * 3000)],
    uniform: [20000, () => Math.floor(random() * 1e9)],
    exponential: [50000, () => Math.floor(-Math.log(1 - random()) * 20000)],
    heavy_tail: [50000, () => Math.min(HOUR, Math.floor(900 / Math.pow(1 - random(), 1.7)))],
    all_sizes: [30000, () => Math.floor(2 ** (random() * 41.9))],
    edges: [10000, () => Math.max(0, 2 ** Math.floor(random() * 42) + Math.floor(random() * 3) - 1)],
};
const percents = [0, 0.01, 1, 5, 10, 25, 33.3, 50, 66.7, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999, 100];
let bad = 0;
for (const [name, [n, make]] of Object.entries(shapes)) {
    const values = Array.from({ length: n }, make);
    const h = hdr.build({ lowestDiscernibleValue: 1, highestTrackableValue: 2 ** 42 - 1,
                          numberOfSignificantValueDigits: 3, bitBucketSize: 64, autoResize: false });
    values.forEach((v) => h.recordValue(v));
    const ours = JSON.parse(execFileSync('./ours', percents.map(String),
                                         { input: values.join('\n'), maxBuffer: 1 << 28 }));
    const wrong = [];
    if (ours.total !== h.totalCount)
        wrong.push(`total ${ours.total}, expected ${h.totalCount}`);
    percents.forEach((p, i) => {
        const wanted = h.getValueAtPercentile(p);
        if (ours.percentiles[i] !== wanted)
            wrong.push(`p${p}: ${ours.percentiles[i]}, expected ${wanted}`);
    });
    const counts = new Map();
    for (const v of values)
        counts.set(h.lowestEquivalentValue(v), (counts.get(h.lowestEquivalentValue(v)) || 0) + 1);
    const wanted = [...counts.entries()].sort((a, b) => a[0] - b[0])
        .map(([low, count]) => [low, h.highestEquivalentValue(low), count]);
    if (JSON.stringify(wanted) !== JSON.stringify(ours.buckets))
        wrong.push(`buckets differ (${ours.buckets.length}, expected ${wanted.length})`);
    console.log(`${wrong.length ? 'FAIL' : 'ok  '} ${name}: ${n} values, ${wanted.length} buckets`);
    wrong.slice(0, 5).forEach((w) => console.log('     ' + w));
    bad += wrong.length ? 1 : 0;
}
console.log(`${Object.keys(shapes).length - bad} passed, ${bad} failed`);
process.exit(bad ? 1 : 0);
JS
node theirs.js "$seed"
