/* The functions of FMI 2.0 for co-simulation and model exchange.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#include "fmi2_api.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "model.c"
#include "core.c"

typedef struct {
    core core; /* first: an instance is its core */
    fmi2CallbackLogger logger;
    fmi2ComponentEnvironment environment;
    fmi2Type type;
    char name[1];
} instance;

/* A logger interprets its text as a format, in which % and # are special. */
static void tell(fmi2CallbackLogger logger, fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status,
                 const char *text)
{
    char escaped[2 * CORE_TEXT];
    size_t n = 0;
    if (!logger) {
        return;
    }
    for (; *text && n + 2 < sizeof escaped; ++text) {
        if (*text == '%' || *text == '#') {
            escaped[n++] = *text;
        }
        escaped[n++] = *text;
    }
    escaped[n] = '\0';
    logger(environment, name, status, status == fmi2Discard ? "logStatusDiscard" : "logStatusError", escaped);
}

static fmi2Status fail(instance *c, fmi2Status status)
{
    if (c->core.logged & (status == fmi2Discard ? CORE_DISCARDS : CORE_ERRORS)) {
        tell(c->logger, c->environment, c->name, status, c->core.text);
    }
    return status;
}

static fmi2Status finish(instance *c, core_outcome outcome)
{
    if (outcome == CORE_OK) {
        return fmi2OK;
    }
    /* In co-simulation the importer cannot try a smaller step after a getter. */
    return fail(c, outcome == CORE_UNDEFINED && c->type == fmi2ModelExchange ? fmi2Discard : fmi2Error);
}

static fmi2Status refuse(instance *c, const char *text)
{
    return finish(c, core_refuse(&c->core, text));
}

static fmi2Status require(instance *c, const char *call, int modes)
{
    return finish(c, core_require(&c->core, call, modes));
}

static fmi2Status change(instance *c, const char *call, int modes, core_mode mode)
{
    return finish(c, core_change(&c->core, call, modes, mode));
}

EXPORTED const char *NAMED(fmi2GetTypesPlatform)(void) { return "default"; }

EXPORTED const char *NAMED(fmi2GetVersion)(void) { return "2.0"; }

EXPORTED fmi2Component NAMED(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                              const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                                              fmi2Boolean logging)
{
    const fmi2CallbackLogger logger = functions ? functions->logger : NULL;
    const fmi2ComponentEnvironment environment = functions ? functions->componentEnvironment : NULL;
    const char *const called = name ? name : "";
    instance *c;
    (void)resources;
    (void)visible;
    if (!guid || strcmp(guid, MODEL_TOKEN) != 0) {
        tell(logger, environment, called, fmi2Error, "the GUID does not match that of this binary, " MODEL_TOKEN);
        return NULL;
    }
    if (type == fmi2ModelExchange && !MODEL_EXCHANGE) {
        tell(logger, environment, called, fmi2Error, "this FMU is for co-simulation only");
        return NULL;
    }
    c = calloc(1, sizeof *c + strlen(called));
    if (!c) {
        tell(logger, environment, called, fmi2Error, "out of memory for another instance");
        return NULL;
    }
    strcpy(c->name, called);
    c->logger = logger;
    c->environment = environment;
    c->type = type;
    c->core.logged = logging ? CORE_ERRORS | CORE_DISCARDS : CORE_ERRORS;
    core_reset(&c->core);
    return c;
}

EXPORTED void NAMED(fmi2FreeInstance)(fmi2Component c) { free(c); }

EXPORTED fmi2Status NAMED(fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t count,
                                               const fmi2String categories[])
{
    instance *const it = c;
    const fmi2Status status = require(it, "fmi2SetDebugLogging", ANYTIME);
    if (on && count) {
        /* In FMI 2.0 these categories replace those turned on before; in FMI 3.0 they are added. */
        it->core.logged &= CORE_ERRORS;
    }
    return status == fmi2OK ? finish(it, core_log(&it->core, on, count, categories)) : status;
}

EXPORTED fmi2Status NAMED(fmi2SetupExperiment)(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance,
                                               fmi2Real start, fmi2Boolean stop_defined, fmi2Real stop)
{
    instance *const it = c;
    const fmi2Status status = require(it, "fmi2SetupExperiment", 1 << CORE_INSTANTIATED);
    (void)tolerance_defined;
    (void)tolerance;
    (void)stop_defined;
    (void)stop;
    return status == fmi2OK ? finish(it, core_set_time(&it->core, start)) : status;
}

EXPORTED fmi2Status NAMED(fmi2EnterInitializationMode)(fmi2Component c)
{
    return change(c, "fmi2EnterInitializationMode", 1 << CORE_INSTANTIATED, CORE_INITIALIZING);
}

EXPORTED fmi2Status NAMED(fmi2ExitInitializationMode)(fmi2Component c)
{
    return change(c, "fmi2ExitInitializationMode", 1 << CORE_INITIALIZING, CORE_RUNNING);
}

EXPORTED fmi2Status NAMED(fmi2Terminate)(fmi2Component c)
{
    return change(c, "fmi2Terminate", RUNNING, CORE_TERMINATED);
}

EXPORTED fmi2Status NAMED(fmi2Reset)(fmi2Component c)
{
    core_reset(&((instance *)c)->core);
    return fmi2OK;
}

EXPORTED fmi2Status NAMED(fmi2GetReal)(fmi2Component c, const fmi2ValueReference references[], size_t count,
                                       fmi2Real values[])
{
    instance *const it = c;
    for (size_t i = 0; i < count; ++i) {
        const core_outcome outcome = core_get(&it->core, references[i], &values[i]);
        if (outcome != CORE_OK) {
            return finish(it, outcome);
        }
    }
    return fmi2OK;
}

EXPORTED fmi2Status NAMED(fmi2SetReal)(fmi2Component c, const fmi2ValueReference references[], size_t count,
                                       const fmi2Real values[])
{
    instance *const it = c;
    fmi2Status status = require(it, "fmi2SetReal", BEFORE | RUNNING);
    for (size_t i = 0; i < count && status == fmi2OK; ++i) {
        status = finish(it, core_set(&it->core, references[i], values[i]));
    }
    return status;
}

#define NO_VARIABLES(access, type, constant)                                                                           \
    EXPORTED fmi2Status NAMED(fmi2##access##type)(fmi2Component c, const fmi2ValueReference references[],              \
                                                  size_t count, constant fmi2##type values[])                          \
    {                                                                                                                  \
        (void)references;                                                                                              \
        (void)values;                                                                                                  \
        return count ? refuse(c, "there are no variables of type " #type) : fmi2OK;                                    \
    }

NO_VARIABLES(Get, Integer, )
NO_VARIABLES(Get, Boolean, )
NO_VARIABLES(Get, String, )
NO_VARIABLES(Set, Integer, const)
NO_VARIABLES(Set, Boolean, const)
NO_VARIABLES(Set, String, const)

EXPORTED fmi2Status NAMED(fmi2GetFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    instance *const it = c;
    return finish(it, core_save(&it->core, state));
}

EXPORTED fmi2Status NAMED(fmi2SetFMUstate)(fmi2Component c, fmi2FMUstate state)
{
    instance *const it = c;
    return finish(it, core_restore(&it->core, state));
}

EXPORTED fmi2Status NAMED(fmi2FreeFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    core_drop(state);
    return fmi2OK;
}

EXPORTED fmi2Status NAMED(fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c, (void)state;
    *size = CORE_BYTES;
    return fmi2OK;
}

EXPORTED fmi2Status NAMED(fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    instance *const it = c;
    return finish(it, core_write(&it->core, state, (unsigned char *)bytes, size));
}

EXPORTED fmi2Status NAMED(fmi2DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                                   fmi2FMUstate *state)
{
    instance *const it = c;
    return finish(it, core_read(&it->core, (const unsigned char *)bytes, size, state));
}

EXPORTED fmi2Status NAMED(fmi2GetDirectionalDerivative)(fmi2Component c, const fmi2ValueReference unknowns[],
                                                        size_t unknown_count, const fmi2ValueReference knowns[],
                                                        size_t known_count, const fmi2Real seed[],
                                                        fmi2Real sensitivity[])
{
    (void)unknowns, (void)unknown_count, (void)knowns, (void)known_count, (void)seed, (void)sensitivity;
    return refuse(c, "this FMU has no directional derivatives");
}

#include "fmi2_run.h"
