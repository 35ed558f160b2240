/* The functions of FMI 3.0 for features that this FMU does not have; part of fmi3.c.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */

#define NO_VARIABLES(access, type, constant)                                                                           \
    EXPORTED fmi3Status NAMED(fmi3##access##type)(fmi3Instance c, const fmi3ValueReference references[],               \
                                                  size_t count, constant fmi3##type values[], size_t value_count)      \
    {                                                                                                                  \
        (void)references, (void)values, (void)value_count;                                                             \
        return count ? refuse(c, "there are no variables of type " #type) : fmi3OK;                                    \
    }

NO_VARIABLES(Get, Float32, )
NO_VARIABLES(Get, Int8, )
NO_VARIABLES(Get, UInt8, )
NO_VARIABLES(Get, Int16, )
NO_VARIABLES(Get, UInt16, )
NO_VARIABLES(Get, Int32, )
NO_VARIABLES(Get, UInt32, )
NO_VARIABLES(Get, Int64, )
NO_VARIABLES(Get, UInt64, )
NO_VARIABLES(Get, Boolean, )
NO_VARIABLES(Get, String, )
NO_VARIABLES(Set, Float32, const)
NO_VARIABLES(Set, Int8, const)
NO_VARIABLES(Set, UInt8, const)
NO_VARIABLES(Set, Int16, const)
NO_VARIABLES(Set, UInt16, const)
NO_VARIABLES(Set, Int32, const)
NO_VARIABLES(Set, UInt32, const)
NO_VARIABLES(Set, Int64, const)
NO_VARIABLES(Set, UInt64, const)
NO_VARIABLES(Set, Boolean, const)
NO_VARIABLES(Set, String, const)

EXPORTED fmi3Status NAMED(fmi3GetBinary)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                         size_t sizes[], fmi3Binary values[], size_t value_count)
{
    (void)references, (void)sizes, (void)values, (void)value_count;
    return count ? refuse(c, "this FMU has no binary variables") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SetBinary)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                         const size_t sizes[], const fmi3Binary values[], size_t value_count)
{
    (void)references, (void)sizes, (void)values, (void)value_count;
    return count ? refuse(c, "this FMU has no binary variables") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetClock)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                        fmi3Clock values[])
{
    (void)references, (void)values;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SetClock)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                        const fmi3Clock values[])
{
    (void)references, (void)values;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetIntervalDecimal)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                                  fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[])
{
    (void)references, (void)intervals, (void)qualifiers;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetIntervalFraction)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                                   fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                                   fmi3IntervalQualifier qualifiers[])
{
    (void)references, (void)counters, (void)resolutions, (void)qualifiers;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetShiftDecimal)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                               fmi3Float64 shifts[])
{
    (void)references, (void)shifts;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetShiftFraction)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                                fmi3UInt64 counters[], fmi3UInt64 resolutions[])
{
    (void)references, (void)counters, (void)resolutions;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SetIntervalDecimal)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                                  const fmi3Float64 intervals[])
{
    (void)references, (void)intervals;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SetIntervalFraction)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                                   const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)references, (void)counters, (void)resolutions;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SetShiftDecimal)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                               const fmi3Float64 shifts[])
{
    (void)references, (void)shifts;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SetShiftFraction)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                                const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)references, (void)counters, (void)resolutions;
    return count ? refuse(c, "this FMU has no clocks") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetOutputDerivatives)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                                    const fmi3Int32 orders[], fmi3Float64 values[], size_t value_count)
{
    (void)references, (void)orders, (void)values, (void)value_count;
    return count ? refuse(c, "this FMU has no derivatives of outputs") : fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetDirectionalDerivative)(fmi3Instance c, const fmi3ValueReference unknowns[], size_t unknown_count,
                                                        const fmi3ValueReference knowns[], size_t known_count,
                                                        const fmi3Float64 seed[], size_t seed_count,
                                                        fmi3Float64 sensitivity[], size_t sensitivity_count)
{
    (void)unknowns, (void)unknown_count, (void)knowns, (void)known_count, (void)seed, (void)seed_count;
    (void)sensitivity, (void)sensitivity_count;
    return refuse(c, "this FMU has no directional derivatives");
}

EXPORTED fmi3Status NAMED(fmi3GetAdjointDerivative)(fmi3Instance c, const fmi3ValueReference unknowns[], size_t unknown_count,
                                                    const fmi3ValueReference knowns[], size_t known_count,
                                                    const fmi3Float64 seed[], size_t seed_count,
                                                    fmi3Float64 sensitivity[], size_t sensitivity_count)
{
    (void)unknowns, (void)unknown_count, (void)knowns, (void)known_count, (void)seed, (void)seed_count;
    (void)sensitivity, (void)sensitivity_count;
    return refuse(c, "this FMU has no adjoint derivatives");
}

/* Functions that depend on the number of a variable's elements, which is always one. */

EXPORTED fmi3Status NAMED(fmi3GetNumberOfVariableDependencies)(fmi3Instance c, fmi3ValueReference reference,
                                                               size_t *count)
{
    (void)reference, (void)count;
    return refuse(c, "this FMU has no dependencies by element: see its model description");
}

EXPORTED fmi3Status NAMED(fmi3GetVariableDependencies)(fmi3Instance c, fmi3ValueReference dependent,
                                                       size_t dependent_elements[],
                                                       fmi3ValueReference independents[],
                                                       size_t independent_elements[], fmi3DependencyKind kinds[],
                                                       size_t count)
{
    (void)dependent, (void)dependent_elements, (void)independents, (void)independent_elements, (void)kinds;
    (void)count;
    return refuse(c, "this FMU has no dependencies by element: see its model description");
}

EXPORTED fmi3Status NAMED(fmi3EnterConfigurationMode)(fmi3Instance c)
{
    return refuse(c, "this FMU has no structural parameters");
}

EXPORTED fmi3Status NAMED(fmi3ExitConfigurationMode)(fmi3Instance c)
{
    return refuse(c, "this FMU has no structural parameters");
}

EXPORTED fmi3Status NAMED(fmi3ActivateModelPartition)(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time)
{
    (void)clock, (void)time;
    return refuse(c, "this FMU is not for scheduled execution");
}
