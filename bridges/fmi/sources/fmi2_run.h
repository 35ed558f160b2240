/* The functions of FMI 2.0 that advance an instance in time; part of fmi2.c.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */

/* Model exchange, without events. */

EXPORTED fmi2Status NAMED(fmi2EnterEventMode)(fmi2Component c) { return require(c, "fmi2EnterEventMode", RUNNING); }

EXPORTED fmi2Status NAMED(fmi2NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info)
{
    memset(info, 0, sizeof *info);
    return require(c, "fmi2NewDiscreteStates", RUNNING);
}

EXPORTED fmi2Status NAMED(fmi2EnterContinuousTimeMode)(fmi2Component c)
{
    return require(c, "fmi2EnterContinuousTimeMode", RUNNING);
}

EXPORTED fmi2Status NAMED(fmi2CompletedIntegratorStep)(fmi2Component c, fmi2Boolean forward, fmi2Boolean *event,
                                                       fmi2Boolean *terminate)
{
    (void)forward;
    *event = fmi2False;
    *terminate = fmi2False;
    return require(c, "fmi2CompletedIntegratorStep", RUNNING);
}

EXPORTED fmi2Status NAMED(fmi2SetTime)(fmi2Component c, fmi2Real time)
{
    instance *const it = c;
    return finish(it, core_set_time(&it->core, time));
}

EXPORTED fmi2Status NAMED(fmi2SetContinuousStates)(fmi2Component c, const fmi2Real states[], size_t count)
{
    instance *const it = c;
    return finish(it, core_set_states(&it->core, states, count));
}

EXPORTED fmi2Status NAMED(fmi2GetDerivatives)(fmi2Component c, fmi2Real derivatives[], size_t count)
{
    instance *const it = c;
    return finish(it, core_get_derivatives(&it->core, derivatives, count));
}

EXPORTED fmi2Status NAMED(fmi2GetEventIndicators)(fmi2Component c, fmi2Real indicators[], size_t count)
{
    (void)indicators;
    return count ? refuse(c, "there are no event indicators") : fmi2OK;
}

EXPORTED fmi2Status NAMED(fmi2GetContinuousStates)(fmi2Component c, fmi2Real states[], size_t count)
{
    instance *const it = c;
    return finish(it, core_get_states(&it->core, states, count));
}

EXPORTED fmi2Status NAMED(fmi2GetNominalsOfContinuousStates)(fmi2Component c, fmi2Real nominals[], size_t count)
{
    (void)c;
    for (size_t i = 0; i < count; ++i) {
        nominals[i] = 1.0;
    }
    return fmi2OK;
}

/* Co-simulation. */

EXPORTED fmi2Status NAMED(fmi2SetRealInputDerivatives)(fmi2Component c, const fmi2ValueReference references[],
                                                       size_t count, const fmi2Integer orders[],
                                                       const fmi2Real values[])
{
    (void)references, (void)count, (void)orders, (void)values;
    return refuse(c, "inputs are constant over a step: this FMU has no input derivatives");
}

EXPORTED fmi2Status NAMED(fmi2GetRealOutputDerivatives)(fmi2Component c, const fmi2ValueReference references[],
                                                        size_t count, const fmi2Integer orders[], fmi2Real values[])
{
    (void)references, (void)count, (void)orders, (void)values;
    return refuse(c, "this FMU has no derivatives of its outputs");
}

EXPORTED fmi2Status NAMED(fmi2DoStep)(fmi2Component c, fmi2Real time, fmi2Real span, fmi2Boolean forward)
{
    instance *const it = c;
    const fmi2Status status = require(it, "fmi2DoStep", RUNNING);
    (void)forward;
    return status == fmi2OK ? finish(it, core_advance(&it->core, time, span)) : status;
}

EXPORTED fmi2Status NAMED(fmi2CancelStep)(fmi2Component c)
{
    return refuse(c, "no step is ever pending, so there is nothing to cancel");
}

EXPORTED fmi2Status NAMED(fmi2GetStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind, (void)value;
    return refuse(c, "no step is ever pending");
}

EXPORTED fmi2Status NAMED(fmi2GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime) {
        return refuse(c, "the only real status value is fmi2LastSuccessfulTime");
    }
    *value = ((instance *)c)->core.data.value[0];
    return fmi2OK;
}

EXPORTED fmi2Status NAMED(fmi2GetIntegerStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)kind, (void)value;
    return refuse(c, "there are no integer status values");
}

EXPORTED fmi2Status NAMED(fmi2GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (kind != fmi2Terminated) {
        return refuse(c, "the only Boolean status value is fmi2Terminated");
    }
    *value = fmi2False;
    return fmi2OK;
}

EXPORTED fmi2Status NAMED(fmi2GetStringStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)kind, (void)value;
    return refuse(c, "no step is ever pending");
}
