/* The types of FMI 2.0 and the export of its functions, as the standard defines them.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#ifndef FMI2_API_H
#define FMI2_API_H

#include <stddef.h>

#include "model.h"

/* As the standard requires, in sources all names start with the model's, so that several FMUs can be linked together.
   FMI2_OVERRIDE_FUNCTION_PREFIX removes this prefix for a shared library; CMake does so by itself (MODEL_LOADED). */
#define FMI2_JOIN(prefix, name) prefix##name
#define FMI2_JOINED(prefix, name) FMI2_JOIN(prefix, name)
#ifndef FMI2_FUNCTION_PREFIX
#define FMI2_FUNCTION_PREFIX MODEL_PREFIX
#endif
#if !defined(FMI2_OVERRIDE_FUNCTION_PREFIX) && !defined(MODEL_LOADED)
#define NAMED(name) FMI2_JOINED(FMI2_FUNCTION_PREFIX, name)
#elif defined(FMI2_ACTUAL_FUNCTION_PREFIX)
#define NAMED(name) FMI2_JOINED(FMI2_ACTUAL_FUNCTION_PREFIX, name)
#else
#define NAMED(name) name
#endif

#if defined(_WIN32) || defined(__CYGWIN__)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;

#define fmi2True 1
#define fmi2False 0

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
typedef void *(*fmi2CallbackAllocateMemory)(size_t, size_t);
typedef void (*fmi2CallbackFreeMemory)(void *);
typedef void (*fmi2StepFinished)(fmi2ComponentEnvironment, fmi2Status);

typedef struct {
    fmi2CallbackLogger logger;
    fmi2CallbackAllocateMemory allocateMemory;
    fmi2CallbackFreeMemory freeMemory;
    fmi2StepFinished stepFinished;
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

#endif
