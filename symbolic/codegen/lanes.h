/* Numbers and lanes of numbers. T is what one value is: a double, or WIDTH doubles side by side, one of each system.
   V is always the widest, and serves sines and cosines of several angles at once when T is a double. No operation on
   one lane depends on another, and the compiler contracts none, so that a lane has the same bits whatever T and WIDTH
   are. */

#include <math.h>
#include <string.h>

typedef double V __attribute__((vector_size(8 * WIDTH)));
typedef long long B __attribute__((vector_size(8 * WIDTH)));
typedef double VU __attribute__((vector_size(8 * WIDTH), aligned(8)));

#if WIDTH == 8
#define SPLAT(c) {c, c, c, c, c, c, c, c}
#elif WIDTH == 4
#define SPLAT(c) {c, c, c, c}
#elif WIDTH == 2
#define SPLAT(c) {c, c}
#else
#define SPLAT(c) {c}
#endif
#define KV(c) ((V)SPLAT(c))
#define KB(c) ((B)SPLAT(c))

#if LANES > 1
typedef V T;
#define K(c) KV(c)
#define TRUTH(mask) ((V)((B)(mask) & (B)KV(1.)))
#define WHERE(mask, x) ((V)((B)(mask) & (B)(x)))
#define FABS(x) ((V)((B)(x) & KB(0x7fffffffffffffffLL)))
#define CHOOSE(mask, x, y) ((V)(((B)(mask) & (B)(x)) | (~(B)(mask) & (B)(y))))
#define COPYSIGN(x, y) ((V)(((B)(x) & KB(0x7fffffffffffffffLL)) | ((B)(y) & ~KB(0x7fffffffffffffffLL))))
#define CALL1(f) \
  static __attribute__((noinline, unused)) T lanes_##f(T a) { \
    for (int i = 0; i < WIDTH; ++i) a[i] = f(a[i]); \
    return a; \
  }
#define CALL2(f) \
  static __attribute__((noinline, unused)) T lanes_##f(T a, T b) { \
    for (int i = 0; i < WIDTH; ++i) a[i] = f(a[i], b[i]); \
    return a; \
  }
#else
typedef double T;
#define K(c) (c)
#define TRUTH(mask) ((double)(mask))
#define WHERE(mask, x) ((mask) ? (x) : 0.)
#define FABS(x) __builtin_fabs(x)
#define CHOOSE(mask, x, y) ((mask) ? (x) : (y))
#define COPYSIGN(x, y) __builtin_copysign(x, y)
#define CALL1(f) \
  static inline __attribute__((unused)) T lanes_##f(T a) { return f(a); }
#define CALL2(f) \
  static inline __attribute__((unused)) T lanes_##f(T a, T b) { return f(a, b); }
#endif

/* As in the C library: a number beats NaN. */
#define FMIN(x, y) CHOOSE(((x) <= (y)) | ((y) != (y)), x, y)
#define FMAX(x, y) CHOOSE(((x) >= (y)) | ((y) != (y)), x, y)
#define SIGN(x) CHOOSE((x) < K(0.), K(-1.), CHOOSE((x) > K(0.), K(1.), x))

#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

static inline __attribute__((unused)) T lanes_sqrt(T a) {
#if LANES == 1
  return __builtin_sqrt(a);
#elif __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(a);
#elif defined(__AVX512F__) && WIDTH == 8 && defined(__clang__)
  return (V)__builtin_ia32_sqrtpd512(a, 4);
#elif defined(__AVX512F__) && WIDTH == 8
  return (V)__builtin_ia32_sqrtpd512_mask(a, a, -1, 4);
#elif defined(__AVX__) && WIDTH == 4
  return (V)__builtin_ia32_sqrtpd256(a);
#elif defined(__SSE2__) && WIDTH == 2
  return (V)__builtin_ia32_sqrtpd(a);
#else
  for (int i = 0; i < WIDTH; ++i) a[i] = __builtin_sqrt(a[i]);
  return a;
#endif
}

/* Sines and cosines of angles, WIDTH at once. The angle is reduced by multiples of pi/2 known to 151 bits (Cody and
   Waite), and the remainder goes through the minimax polynomials of fdlibm; beyond 2^19 pi/2, and for NaN and infinity,
   the C library is called. Products with the first three parts of pi/2 are exact; the fourth is below 2^-84, and counts
   where less than 2^-31 is left of the angle. The largest error found among 5e7 angles is 0.80 ulp. */
static __attribute__((noinline, unused)) void lanes_sincos(V a, double *s, double *c) {
  const V shifted = a * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  const V k = shifted - 0x1.8p52;
  const B quarter = (B)shifted;
  const V far = a - k * 0x1.921fb544p+0;
  const V middle = k * 0x1.0b4611a6p-34;
  const V near = far - middle;
  const V tail = k * 0x1.3198a2ep-69 - ((far - near) - middle);
  const V y = near - tail;
  const V rest = ((near - y) - tail) - k * 0x1.b839a252049c1p-104;
  const V z = y * y;
  const V ps = KV(8.33333333332248946124e-03) + z * (KV(-1.98412698298579493134e-04) + z * (
      KV(2.75573137070700676789e-06) + z * (KV(-2.50507602534068634195e-08) + z * 1.58969099521155010221e-10)));
  const V cube = z * y;
  const V sine = y - ((z * (rest * 0.5 - cube * ps) - rest) - cube * -1.66666666666666324348e-01);
  const V pc = z * (KV(4.16666666666666019037e-02) + z * (KV(-1.38888888888741095749e-03) + z * (
      KV(2.48015872894767294178e-05) + z * (KV(-2.75573143513906633035e-07) + z * (
      KV(2.08757232129817482790e-09) + z * -1.13596475577881948265e-11)))));
  const V half = z * 0.5;
  const V one = KV(1.) - half;
  const V cosine = one + (((KV(1.) - one) - half) + (z * pc - y * rest));
  const B odd = -(quarter & KB(1));
  const V sv = (V)(((B)cosine & odd) | ((B)sine & ~odd));
  const V cv = (V)(((B)sine & odd) | ((B)cosine & ~odd));
  *(VU *)s = (V)((B)sv ^ ((quarter & KB(2)) << 62));
  *(VU *)c = (V)((B)cv ^ (((quarter + 1) & KB(2)) << 62));
  const B large = ~(((V)((B)a & KB(0x7fffffffffffffffLL))) <= 823549.);
  long long any = 0;
  for (int i = 0; i < WIDTH; ++i) any |= large[i];
  if (any)
    for (int i = 0; i < WIDTH; ++i)
      if (large[i]) {
        s[i] = sin(a[i]);
        c[i] = cos(a[i]);
      }
#if defined(__AVX__) && LANES == 1
  /* GCC 12 leaves it out where no angle is large, and others' code without AVX then takes half as long again. */
  __builtin_ia32_vzeroupper();
#endif
}
