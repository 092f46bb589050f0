/* SPDX-License-Identifier: MIT
 *
 * A machine is a file of `key: value` lines, of which # begins a comment: the source of the figure. The names of the keys
 * are the table below; all of them must be there, once. Times are nanoseconds, with as many digits as one likes.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_machine sim_machine;
uint32_t sim_processors;
uint32_t sim_words;
uint8_t sim_distance[SIM_CORES][SIM_CORES];
uint64_t sim_near[SIM_CORES][SIM_LAYERS][SIM_CORES / 64];

static uint32_t transfers, ways, sharing, victim, reach; /* how many values there are */

/* How a value is written: one or more times in nanoseconds, or whole numbers. */
static const struct key {
    const char *name;
    enum { TIME, TIMES, NUMBER, NUMBERS } kind;
    void *to;
    uint32_t *count; /* of several */
    bool optional;
} keys[] = {
    {"cores", NUMBER, &sim_machine.cores, NULL, false},
    {"layers", NUMBERS, sim_machine.width, &sim_machine.layers, false},
    {"transfer", TIMES, sim_machine.transfer, &transfers, false},
    {"instruction", TIME, &sim_machine.instruction, NULL, false},
    {"hit", TIME, &sim_machine.hit, NULL, false},
    {"memory", TIME, &sim_machine.memory, NULL, false},
    {"serve", TIME, &sim_machine.serve, NULL, false},
    {"atomic", TIME, &sim_machine.atomic, NULL, false},
    {"fence", TIME, &sim_machine.fence, NULL, false},
    {"pause", TIME, &sim_machine.pause, NULL, false},
    {"stores", NUMBER, &sim_machine.stores, NULL, false},
    {"clock", TIME, &sim_machine.clock, NULL, false},
    {"malloc", TIME, &sim_machine.malloc, NULL, false},
    {"park", TIME, &sim_machine.park, NULL, false},
    {"wake", TIME, &sim_machine.wake, NULL, false},
    {"start", TIME, &sim_machine.start, NULL, false},
    {"yield", TIME, &sim_machine.yield, NULL, false},
    {"create", TIME, &sim_machine.create, NULL, false},
    {"heavy", TIME, &sim_machine.heavy, NULL, false},
    {"interrupt", TIME, &sim_machine.interrupt, NULL, false},
    {"call", TIME, &sim_machine.call, NULL, false},
    {"slack", TIME, &sim_machine.slack, NULL, false},
    {"slice", TIME, &sim_machine.slice, NULL, false},
    {"granularity", TIME, &sim_machine.granularity, NULL, false},
    {"capacity", NUMBERS, sim_machine.capacity, &sim_machine.levels, true},
    {"ways", NUMBERS, sim_machine.ways, &ways, true},
    {"sharing", NUMBERS, sim_machine.sharing, &sharing, true},
    {"victim", NUMBERS, sim_machine.victim, &victim, true},
    {"reach", TIMES, sim_machine.reach, &reach, true},
    {"smt", TIME, &sim_machine.smt, NULL, true},
};
enum { KEYS = sizeof keys / sizeof *keys, LONGEST = 1 << 16 };

static void value(const char *path, unsigned line, const struct key *k, const char *text)
{
    bool times = k->kind == TIME || k->kind == TIMES, many = k->kind == TIMES || k->kind == NUMBERS;
    unsigned n = 0, most = k->optional ? SIM_LEVELS : k->kind == TIMES ? SIM_LAYERS + 1 : SIM_LAYERS;
    text += strspn(text, " \t");
    bool list = *text == '[';
    text += list;
    for (text += strspn(text, " "); *text != '\0' && *text != ']' && *text != '#';) {
        char *end;
        double v = strtod(text, &end);
        if (end == text || !(v >= 0 && v < 1e9) || (!times && v != (uint32_t)v) || (n > 0 && !many) || n == most) {
            static const char *const what[] = {"a time in ns", "times in ns", "a whole number", "whole numbers"};
            if (many)
                sim_die(2, "%s:%u: %s takes 1 to %u %s, each from 0 to below 1e9", path, line, k->name, most,
                        what[k->kind]);
            sim_die(2, "%s:%u: %s takes %s from 0 to below 1e9", path, line, k->name, what[k->kind]);
        }
        if (times)
            ((uint64_t *)k->to)[n++] = (uint64_t)(v * (double)SIM_PS + 0.5);
        else
            ((uint32_t *)k->to)[n++] = (uint32_t)v;
        text = end + strspn(end, " ,");
    }
    if (n == 0)
        sim_die(2, "%s:%u: %s has no value", path, line, k->name);
    if (list != (*text == ']'))
        sim_die(2, "%s:%u: %s: a list is written [a, b]", path, line, k->name);
    text += list;
    text += strspn(text, " \t");
    if (*text != '\0' && *text != '#')
        sim_die(2, "%s:%u: %s: '%s' is too much", path, line, k->name, text);
    if (k->count != NULL)
        *k->count = n;
}

static void parse(const char *path, FILE *f)
{
    static char all[LONGEST + 1];
    char *rest = all, *text;
    bool seen[KEYS] = {false};
    size_t length = fread(all, 1, LONGEST, f);
    if (ferror(f))
        sim_die(2, "%s cannot be read: %s", path, strerror(errno));
    if (length == LONGEST || memchr(all, '\0', length) != NULL)
        sim_die(2, "%s is no text of less than %d KiB, as a machine file is", path, LONGEST / 1024);
    for (unsigned line = 1; (text = strsep(&rest, "\n")) != NULL; line++) {
        text[strcspn(text, "\r")] = '\0';
        size_t name = strcspn(text, ":#");
        size_t blank = strspn(text, " \t");
        if (text[blank] == '\0' || text[blank] == '#')
            continue;
        if (text[name] != ':')
            sim_die(2, "%s:%u: a line is 'key: value', a comment or empty", path, line);
        unsigned i = 0;
        while (i < KEYS && !(strlen(keys[i].name) == name && memcmp(keys[i].name, text, name) == 0))
            i++;
        size_t printable = 0;
        while (printable < name && printable < 32 && isprint((unsigned char)text[printable]))
            printable++;
        if (i == KEYS || seen[i])
            sim_die(2, "%s:%u: %s '%.*s'", path, line, i == KEYS ? "there is no key" : "a second", (int)printable,
                    text);
        seen[i] = true;
        value(path, line, &keys[i], text + name + 1);
    }
    for (unsigned i = 0; i < KEYS; i++)
        if (!seen[i] && !keys[i].optional)
            sim_die(2, "%s: the key '%s' is missing", path, keys[i].name);
}

static void check_caches(const char *path)
{
    uint32_t n = sim_machine.levels;
    bool fit = ways == n && sharing == n && victim == n && reach == (n > 1 ? n - 1 : 0);
    for (uint32_t i = 0; i < n && fit; i++) {
        uint32_t lines = sim_machine.capacity[i] * (1024 / SIM_LINE);
        fit = sim_machine.capacity[i] <= 1 << 20 && sim_machine.ways[i] != 0 && lines != 0 &&
              lines % sim_machine.ways[i] == 0 && sim_machine.sharing[i] != 0 &&
              sim_machine.sharing[i] <= SIM_CORES &&
              (i > 0 || (sim_machine.sharing[0] == 1 && sim_machine.victim[0] == 0));
    }
    if (!fit)
        sim_die(
            2,
            "%s: capacity, ways, sharing and victim have one value for each level of caches, reach has none for the "
            "first, which is one core's; ways divide the lines of 64 bytes",
            path);
}

static void lay_out(void)
{
    for (uint32_t a = 0; a < SIM_CORES; a++)
        for (uint32_t b = 0; b < SIM_CORES; b++) {
            uint8_t layer = 0;
            while (layer < sim_machine.layers && a / sim_machine.width[layer] != b / sim_machine.width[layer])
                layer++;
            sim_distance[a][b] = layer;
            for (uint32_t l = layer; l < sim_machine.layers; l++)
                sim_near[a][l][b / 64] |= UINT64_C(1) << b % 64;
        }
}

void sim_machine_load(const char *name, unsigned cores, bool smt)
{
    char path[1024];
    bool is_path = strchr(name, '/') != NULL;
    snprintf(path, sizeof path, is_path ? "%s" : SIM_MACHINES "/%s.yaml", name);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        sim_die(2, "no machine '%s': %s cannot be read (./tenter sim --list shows the machines)", name, path);
    parse(path, f);
    fclose(f);
    const char *base = strrchr(path, '/') + 1;
    snprintf(sim_machine.name, sizeof sim_machine.name, "%.*s", (int)strcspn(base, "."), base);
    for (uint32_t i = 0; i < sim_machine.layers; i++)
        if (sim_machine.width[i] == 0 || (i > 0 && sim_machine.width[i] <= sim_machine.width[i - 1]))
            sim_die(2, "%s: layers: numbers of cores, growing", path);
    if (transfers != sim_machine.layers + 1)
        sim_die(2, "%s: transfer has %u times: it takes %u, one for each of the layers and one for what lies beyond",
                path, transfers, sim_machine.layers + 1);
    for (uint32_t i = 1; i < transfers; i++)
        if (sim_machine.transfer[i] < sim_machine.transfer[i - 1])
            sim_die(2, "%s: transfer: a line from farther away comes sooner; times grow with the distance", path);
    if (sim_machine.cores == 0 || sim_machine.cores > SIM_CORES)
        sim_die(2, "%s: cores: 1 to %d", path, SIM_CORES);
    if (sim_machine.stores == 0 || sim_machine.stores > 64)
        sim_die(2, "%s: stores: 1 to 64", path);
    if (sim_machine.instruction == 0 && sim_machine.hit == 0)
        sim_die(2, "%s: instruction or hit: at least 0.001, or no time would pass for who looks again and again",
                path);
    check_caches(path);
    if (cores > sim_machine.cores)
        sim_die(2, "%u cores: the machine '%s' has %u%s", cores, sim_machine.name, sim_machine.cores,
                sim_machine.smt != 0 && !smt ? ", each with two threads by --smt" : "");
    sim_machine.cores = cores != 0 ? cores : sim_machine.cores;
    if (smt && sim_machine.smt == 0)
        sim_die(2, "the machine '%s' says nothing of two threads on a core (smt)", sim_machine.name);
    if (smt && 2 * sim_machine.cores > SIM_CORES)
        sim_die(2, "%u cores with two threads each: at most %d threads", sim_machine.cores, SIM_CORES);
    sim_processors = sim_machine.cores * (smt ? 2 : 1);
    sim_words = (sim_machine.cores + 63) / 64;
    lay_out();
}
