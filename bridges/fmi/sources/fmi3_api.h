/* The types of FMI 3.0 and the export of its functions, as the standard defines them.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#ifndef FMI3_API_H
#define FMI3_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* As the standard requires, in sources all names start with the model's, so that several FMUs can be linked together.
   FMI3_OVERRIDE_FUNCTION_PREFIX removes this prefix for a shared library; CMake does so by itself (MODEL_LOADED). */
#define FMI3_JOIN(prefix, name) prefix##name
#define FMI3_JOINED(prefix, name) FMI3_JOIN(prefix, name)
#ifndef FMI3_FUNCTION_PREFIX
#define FMI3_FUNCTION_PREFIX MODEL_PREFIX
#endif
#if !defined(FMI3_OVERRIDE_FUNCTION_PREFIX) && !defined(MODEL_LOADED)
#define NAMED(name) FMI3_JOINED(FMI3_FUNCTION_PREFIX, name)
#elif defined(FMI3_ACTUAL_FUNCTION_PREFIX)
#define NAMED(name) FMI3_JOINED(FMI3_ACTUAL_FUNCTION_PREFIX, name)
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

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef char fmi3Char;
typedef const fmi3Char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;

#define fmi3True true
#define fmi3False false

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum {
    fmi3Independent,
    fmi3Constant,
    fmi3Fixed,
    fmi3Tunable,
    fmi3Discrete,
    fmi3Dependent
} fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;

typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

#endif
