/* The functions of FMI 3.0 that advance an instance in time; part of fmi3.c.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */

/* There are no events. */

EXPORTED fmi3Status NAMED(fmi3UpdateDiscreteStates)(fmi3Instance c, fmi3Boolean *update, fmi3Boolean *terminate,
                                                    fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *defined,
                                                    fmi3Float64 *next)
{
    *update = *terminate = *nominals = *values = *defined = fmi3False;
    *next = 0.0;
    return require(c, "fmi3UpdateDiscreteStates", RUNNING);
}

EXPORTED fmi3Status NAMED(fmi3EvaluateDiscreteStates)(fmi3Instance c)
{
    return require(c, "fmi3EvaluateDiscreteStates", BEFORE | RUNNING);
}

/* Model exchange. */

EXPORTED fmi3Status NAMED(fmi3EnterContinuousTimeMode)(fmi3Instance c)
{
    return require(c, "fmi3EnterContinuousTimeMode", RUNNING);
}

EXPORTED fmi3Status NAMED(fmi3CompletedIntegratorStep)(fmi3Instance c, fmi3Boolean forward, fmi3Boolean *event,
                                                       fmi3Boolean *terminate)
{
    (void)forward;
    *event = *terminate = fmi3False;
    return require(c, "fmi3CompletedIntegratorStep", RUNNING);
}

EXPORTED fmi3Status NAMED(fmi3SetTime)(fmi3Instance c, fmi3Float64 time)
{
    instance *const it = c;
    return finish(it, core_set_time(&it->core, time));
}

EXPORTED fmi3Status NAMED(fmi3SetContinuousStates)(fmi3Instance c, const fmi3Float64 states[], size_t count)
{
    instance *const it = c;
    return finish(it, core_set_states(&it->core, states, count));
}

EXPORTED fmi3Status NAMED(fmi3GetContinuousStateDerivatives)(fmi3Instance c, fmi3Float64 derivatives[], size_t count)
{
    instance *const it = c;
    return finish(it, core_get_derivatives(&it->core, derivatives, count));
}

EXPORTED fmi3Status NAMED(fmi3GetEventIndicators)(fmi3Instance c, fmi3Float64 indicators[], size_t count)
{
    (void)indicators;
    return count ? refuse(c, "there are no event indicators") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetContinuousStates)(fmi3Instance c, fmi3Float64 states[], size_t count)
{
    instance *const it = c;
    return finish(it, core_get_states(&it->core, states, count));
}

EXPORTED fmi3Status NAMED(fmi3GetNominalsOfContinuousStates)(fmi3Instance c, fmi3Float64 nominals[], size_t count)
{
    (void)c;
    for (size_t i = 0; i < count; ++i) {
        nominals[i] = 1.0;
    }
    return fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetNumberOfEventIndicators)(fmi3Instance c, size_t *count)
{
    (void)c;
    *count = 0;
    return fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetNumberOfContinuousStates)(fmi3Instance c, size_t *count)
{
    (void)c;
    *count = MODEL_STATES;
    return fmi3OK;
}

/* Co-simulation. */

EXPORTED fmi3Status NAMED(fmi3EnterStepMode)(fmi3Instance c) { return require(c, "fmi3EnterStepMode", RUNNING); }

EXPORTED fmi3Status NAMED(fmi3DoStep)(fmi3Instance c, fmi3Float64 time, fmi3Float64 span, fmi3Boolean forward,
                                      fmi3Boolean *event, fmi3Boolean *terminate, fmi3Boolean *early,
                                      fmi3Float64 *last)
{
    instance *const it = c;
    fmi3Status status = require(it, "fmi3DoStep", RUNNING);
    (void)forward;
    *event = *terminate = *early = fmi3False;
    if (status == fmi3OK) {
        status = finish(it, core_advance(&it->core, time, span));
    }
    *last = it->core.data.value[0];
    return status;
}
