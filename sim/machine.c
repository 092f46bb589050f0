/* SPDX-License-Identifier: MIT
 *
 * A machine is a file of `key: value` lines, of which # begins a comment: the source of the figure. The names of the keys
 * are the table below; all of them must be there, once. Times are nanoseconds, with as many digits as one likes.
 */
#include "sim.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_machine sim_machine;
uint32_t sim_words;
uint8_t sim_distance[SIM_CORES][SIM_CORES];
uint64_t sim_near[SIM_CORES][SIM_LAYERS][SIM_CORES / 64];

/* How a value is written: one or more times in nanoseconds, or whole numbers. */
static const struct key {
    const char *name;
    enum { TIME, TIMES, NUMBER, NUMBERS } kind;
    void *to;
} keys[] = {
    {"cores", NUMBER, &sim_machine.cores},     {"layers", NUMBERS, sim_machine.width},
    {"transfer", TIMES, sim_machine.transfer}, {"instruction", TIME, &sim_machine.instruction},
    {"hit", TIME, &sim_machine.hit},           {"memory", TIME, &sim_machine.memory},
    {"serve", TIME, &sim_machine.serve},       {"atomic", TIME, &sim_machine.atomic},
    {"fence", TIME, &sim_machine.fence},       {"pause", TIME, &sim_machine.pause},
    {"stores", NUMBER, &sim_machine.stores},   {"clock", TIME, &sim_machine.clock},
    {"malloc", TIME, &sim_machine.malloc},     {"park", TIME, &sim_machine.park},
    {"wake", TIME, &sim_machine.wake},         {"start", TIME, &sim_machine.start},
    {"yield", TIME, &sim_machine.yield},       {"create", TIME, &sim_machine.create},
    {"heavy", TIME, &sim_machine.heavy},       {"interrupt", TIME, &sim_machine.interrupt},
    {"slice", TIME, &sim_machine.slice},
};
enum { KEYS = sizeof keys / sizeof *keys };

static void value(const char *path, unsigned line, const struct key *k, const char *text)
{
    bool times = k->kind == TIME || k->kind == TIMES, many = k->kind == TIMES || k->kind == NUMBERS;
    unsigned n = 0, most = k->kind == TIMES ? SIM_LAYERS + 1 : SIM_LAYERS;
    text += strspn(text, " [");
    while (*text != '\0' && *text != ']' && *text != '#') {
        char *end;
        double v = strtod(text, &end);
        if (end == text || !(v >= 0 && v < 1e9) || (n > 0 && !many) || n == most)
            sim_die(2, "%s:%u: %s: %s%s from 0 to 1e9", path, line, k->name, many ? "several" : "one",
                    times ? " time(s) in ns," : " number(s),");
        if (times)
            ((uint64_t *)k->to)[n++] = (uint64_t)(v * (double)SIM_PS + 0.5);
        else
            ((uint32_t *)k->to)[n++] = (uint32_t)v;
        text = end + strspn(end, " ,");
    }
    if (n == 0)
        sim_die(2, "%s:%u: %s has no value", path, line, k->name);
    if (k->kind == NUMBERS)
        sim_machine.layers = n;
}

static void parse(const char *path, FILE *f)
{
    char text[512];
    bool seen[KEYS] = {false};
    for (unsigned line = 1; fgets(text, sizeof text, f) != NULL; line++) {
        text[strcspn(text, "\n")] = '\0';
        size_t name = strcspn(text, ":#");
        if (text[strspn(text, " \t")] == '\0' || text[name] != ':')
            continue;
        unsigned i = 0;
        while (i < KEYS && !(strlen(keys[i].name) == name && memcmp(keys[i].name, text, name) == 0))
            i++;
        if (i == KEYS || seen[i])
            sim_die(2, "%s:%u: %s '%.*s'", path, line, i == KEYS ? "there is no key" : "a second", (int)name, text);
        seen[i] = true;
        value(path, line, &keys[i], text + name + 1);
    }
    for (unsigned i = 0; i < KEYS; i++)
        if (!seen[i])
            sim_die(2, "%s: the key '%s' is missing", path, keys[i].name);
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

void sim_machine_load(const char *name, unsigned cores)
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
    if (sim_machine.cores == 0 || sim_machine.cores > SIM_CORES)
        sim_die(2, "%s: cores: 1 to %d", path, SIM_CORES);
    if (sim_machine.stores == 0 || sim_machine.stores > 64)
        sim_die(2, "%s: stores: 1 to 64", path);
    if (cores > sim_machine.cores)
        sim_die(2, "%u cores: the machine '%s' has %u", cores, sim_machine.name, sim_machine.cores);
    sim_machine.cores = cores != 0 ? cores : sim_machine.cores;
    sim_words = (sim_machine.cores + 63) / 64;
    lay_out();
}
