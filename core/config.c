/* SPDX-License-Identifier: MIT
 *
 * The runtime's own knobs: struct tn_config, else the environment, else the default.
 */
#include "internal.h"

enum { CONFIG_STACK_MIN = 16384, SLOTS_TO_REPLACE = 64, PREEMPT_MIN_US = 50 };

#define CONFIG_KNOBS(K)                                                                                              \
    K(workers, NULL, 0, 0, 4096, "threads", "threads that run fibres; 0: one for each processor", "000 §3.2")        \
    K(slots, NULL, 0, 0, 4096, "threads",                                                                            \
      "most workers that the cluster may grow to; 0: as many as there are "                                          \
      "processors, or workers; with a monitor 64 more",                                                              \
      "000 §3.2")                                                                                                    \
    K(stack, NULL, 65536, CONFIG_STACK_MIN, (int64_t)TN_STACK_MAX, "bytes", "size of a fibre's stack", "004 §3.3.1") \
    K(idle, "block|spin|spin-block", 2, 0, 2, "", "what a worker without work does", "000 §3.2.3")                   \
    K(spin_us, NULL, 100, 0, 1000000, "us", "spin-block: how long a worker looks for work before it blocks",         \
      "000 §3.2.3")                                                                                                  \
    K(pin, NULL, 0, 0, 1, "", "1: pin each worker to a processor of its own", "000 §2.3.2")                          \
    K(on_demand, NULL, 0, 0, 1, "", "1: start a worker's thread only when there is work for it", "004 §3.3.5")       \
    K(pool, NULL, 64, 1, 4096, "threads", "most threads that run blocking calls (tn_blocking)", "003 §4.4.3")        \
    K(pool_ms, NULL, 1000, 0, 1000000, "ms", "how long such a thread stays when there is nothing to do",             \
      "003 §4.4.3")                                                                                                  \
    K(monitor_us, NULL, 0, 0, 1000000, "us",                                                                         \
      "how often a monitor looks for workers that are stuck in the kernel, to replace them; 0: never", "003 §4.4.3") \
    K(preempt_us, NULL, 0, 0, 1000000, "us",                                                                         \
      "how long a fibre may compute while others are ready; 0: for ever, else at least 50; see -Dpreemption",        \
      "004 §3.3.4")                                                                                                  \
    K(seed, NULL, 1, 0, INT64_MAX, "", "seed of every random choice", "")                                            \
    K(deadlock, "off|dump|abort", 2, 0, 2, "", "when every fibre is blocked for ever: tell which, and why", "")      \
    K(stall_ms, NULL, 0, 0, 1 << 30, "ms",                                                                           \
      "tell when a worker or a ready fibre has not moved for so long; 0: do not look", "")                           \
    K(sigquit, "off|dump|die", 2, 0, 2, "", "SIGQUIT: tell what each fibre does; then go on, or die", "")

#define ROW(k, choices, initial, low, high, unit, help, from) \
    {#k, choices, initial, low, high, unit, help, from, TN_NOT_FIXED},
#define OFFSET(k, ...)      offsetof(struct tn_config, k),
#define ENVIRONMENT(k, ...) #k,

const struct tn_knob config_knobs[] = {CONFIG_KNOBS(ROW)};
const size_t n_config_knobs = sizeof config_knobs / sizeof config_knobs[0];
static const size_t offsets[] = {CONFIG_KNOBS(OFFSET)};

enum { PREFIX = sizeof "TENTER_" - 1 };

/* TENTER_SPIN_US for spin_us. */
static const char *variable(const char *knob, char name[32])
{
    size_t n = PREFIX;
    memcpy(name, "TENTER_", PREFIX);
    for (; *knob != '\0' && n < 31; knob++)
        name[n++] = (char)(*knob >= 'a' && *knob <= 'z' ? *knob - 'a' + 'A' : *knob);
    name[n] = '\0';
    return name;
}

/* The value that a variable gives a knob; errors name it as the user wrote it. */
static int value_of(const char *name, const struct tn_knob *row, const char *text, int64_t *value)
{
    struct tn_knob shown = *row;
    shown.name = name;
    return tn_knob_value("environment", &shown, text, strlen(text), value);
}

/* What else may follow TENTER_: the two specs and what the platform reads, with the values it knows; and how the names
 * of those begin that tests and cases read. A mistyped name, or value, would leave a default in force that nobody asked
 * for, as a mistyped knob would. */
static const struct tn_knob variables[] = {{.name = "SCHEDULER"},
                                           {.name = "POLLER"},
                                           {.name = "MEMBARRIER", .choices = "0|1"},
                                           {.name = "GUARDS", .choices = "mprotect"},
#if defined(TN_PLATFORM_SIM)
                                           {.name = "MACHINE"},
                                           {.name = "CORES"},
                                           {.name = "CAPACITIES", .choices = "0|1"},
                                           {.name = "SMT", .choices = "0|1"},
#endif
                                           {.name = "LIKWID"}};
static const char *const families[] = {"TEST_", "CASE_", "TWIN_"};

enum { N_KNOBS = sizeof offsets / sizeof *offsets, N_VARIABLES = sizeof variables / sizeof *variables };

static bool variable_known(const char *name, const char *const *known)
{
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    for (size_t i = 0; i < N_KNOBS + N_VARIABLES; i++)
        if (strlen(known[i]) == length && memcmp(name, known[i], length) == 0)
            return true;
    return false;
}

static int environment_check(void)
{
    char names[N_KNOBS][32];
    const char *known[N_KNOBS + N_VARIABLES], *entry;
    for (size_t i = 0; i < N_KNOBS + N_VARIABLES; i++)
        known[i] = i < N_KNOBS ? variable(config_knobs[i].name, names[i]) + PREFIX : variables[i - N_KNOBS].name;
    for (size_t i = 0; (entry = tn_environment(i)) != NULL; i++) {
        if (strncmp(entry, "TENTER_", PREFIX) != 0 || variable_known(entry + PREFIX, known))
            continue;
        const char *nearest = tn_nearest(entry + PREFIX, known, N_KNOBS + N_VARIABLES);
        tn_message("tenter: no variable '%.*s'; %s%s%s", (int)strcspn(entry, "="), entry,
                   nearest != NULL ? "did you mean 'TENTER_" : "unset it", nearest != NULL ? nearest : "",
                   nearest != NULL ? "'?" : "");
        return EINVAL;
    }
    for (size_t i = 0; i < N_VARIABLES; i++) {
        char name[32];
        const char *text = tn_getenv(variable(variables[i].name, name));
        int64_t any;
        if (text != NULL && variables[i].choices != NULL && value_of(name, &variables[i], text, &any) != 0)
            return EINVAL;
    }
    return 0;
}

const struct preset config_presets[] = {
    {"pushing:preset=fibre", "pushing:queue=nemesis:fresh=staging:steal=one:levels=3", TN_IDLE_BLOCK}};
const size_t n_config_presets = sizeof config_presets / sizeof *config_presets;

/* The preset that the scheduler's text names; NULL: none. A preset is a whole: it takes no knobs besides. */
static int preset_of(const char *text, const struct preset **out)
{
    static const char mark[] = ":preset=";
    const char *named = text != NULL ? strstr(text, mark) : NULL;
    *out = NULL;
    for (size_t i = 0; i < n_config_presets && named != NULL; i++)
        if (strcmp(text, config_presets[i].name) == 0)
            *out = &config_presets[i];
    if (named == NULL || *out != NULL)
        return 0;
    for (size_t i = 0; i < n_config_presets; i++) {
        size_t length = strlen(config_presets[i].name);
        if (strncmp(text, config_presets[i].name, length) == 0 && text[length] == ':') {
            tn_message("tenter: %s takes no further knobs; it stands for %s, which does", config_presets[i].name,
                       config_presets[i].stands_for);
            return EINVAL;
        }
    }
    named += sizeof mark - 1;
    tn_message("tenter: no preset '%.*s'; there is %s", (int)strcspn(named, ":"), named, config_presets[0].name);
    return EINVAL;
}

int config_resolve(const struct tn_config *given, struct tn_config *out)
{
    if (environment_check() != 0)
        return EINVAL;
    const struct tn_config unset = TN_CONFIG_INIT;
    *out = given != NULL ? *given : unset;
    if (out->scheduler == NULL)
        out->scheduler = tn_getenv("TENTER_SCHEDULER");
    const struct preset *preset;
    if (preset_of(out->scheduler, &preset) != 0)
        return EINVAL;
    if (preset != NULL)
        out->scheduler = preset->stands_for;
    for (size_t i = 0; i < n_config_knobs; i++) {
        const struct tn_knob *row = &config_knobs[i];
        int64_t *value = (int64_t *)(void *)((char *)out + offsets[i]), said;
        char name[32];
        const char *text = tn_getenv(variable(row->name, name));
        /* Also where the program has set the knob: whoever wrote nonsense there was not told that it has no effect. */
        if (text != NULL && value_of(name, row, text, &said) != 0)
            return EINVAL;
        if (*value == TN_UNSET) {
            *value = preset != NULL && value == &out->idle ? preset->idle : row->initial;
            *value = text != NULL ? said : *value;
        } else if (*value < row->low || *value > row->high) {
            tn_message("tenter: %s=%lld is out of range: %lld to %lld %s", row->name, (long long)*value,
                       (long long)row->low, (long long)row->high, row->unit);
            return EINVAL;
        }
    }
    if (out->poller == NULL)
        out->poller = tn_getenv("TENTER_POLLER");
    if (out->workers == 0)
        out->workers = tn_processors();
    if (out->slots == 0)
        out->slots = (out->workers > tn_processors() ? out->workers : tn_processors()) +
                     (out->monitor_us != 0 ? SLOTS_TO_REPLACE : 0);
    if (out->preempt_us != 0 && !TN_PREEMPTION) {
        tn_message("tenter: preempt_us=%lld: this build never preempts (meson setup -Dpreemption=true)",
                   (long long)out->preempt_us);
        return EINVAL;
    }
    if (out->preempt_us != 0 && out->preempt_us < PREEMPT_MIN_US) {
        tn_message("tenter: preempt_us=%lld: 0, or at least %d", (long long)out->preempt_us, PREEMPT_MIN_US);
        return EINVAL;
    }
    if (out->slots < out->workers) {
        tn_message("tenter: slots=%lld is less than workers=%lld", (long long)out->slots, (long long)out->workers);
        return EINVAL;
    }
    return 0;
}
