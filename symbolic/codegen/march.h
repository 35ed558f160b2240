/* Many systems dx/dt = f(t, x, p, z) side by side, by an explicit Runge-Kutta method of fixed step; z changes at the
   beginning of each step. Defined before: NX, NP, NZ, NW, STAGES, OUTPUTS, SIZE[], and for each function its setup,
   which depends on p alone, and the size of its work area. */

static inline void gather(T *to, const double *from, long long stride, int n, const long long *lane) {
  for (int i = 0; i < n; ++i) {
    double *numbers = (double *)(to + i);
    for (int l = 0; l < LANES; ++l) numbers[l] = from[lane[l] * stride + i];
  }
}

static inline void scatter(const T *from, double *to, long long stride, int n, const long long *lane, int filled) {
  for (int l = 0; l < filled; ++l) {
    double *row = to + lane[l] * stride;
    for (int i = 0; i < n; ++i) row[i] = ((const double *)(from + i))[l];
  }
}

/* Advance systems by steps. lanes: numbers of the systems, count of them; first: index of the first step; x: states, a
   row of NX for each system, changed in place; p: parameters, rows p_stride apart, which may be 0; z: rows of NZ,
   changed in place; w: numbers drawn for the steps, rows of NW, the first for step 0. Before each step z is updated,
   and then output j of system n is written to out[j] + n * lane_stride[j] + step * step_stride[j]; output 0 is x
   itself. Returns 0, or 1 if there is no memory. */
int march(const long long *lanes, long long count, long long first, long long steps, double t0, double h, double *x,
          const double *p, long long p_stride, double *z, const double *w_rows, double *const *out,
          const long long *lane_stride, const long long *step_stride) {
  const size_t fixed = OBSERVE_FIXED + RATE_FIXED + CORRECT_FIXED + SAMPLE_FIXED;
  const size_t work = WORK > 0 ? WORK : 1;
  size_t recorded = 0;
  for (int j = 0; j < OUTPUTS; ++j) recorded += SIZE[j];
  const size_t need = (size_t)NX * (STAGES + 2) + NP + 2 * (size_t)NZ + NW + fixed + recorded + work + 1;
  T *const memory = aligned_alloc(64, (need * sizeof(T) + 63) / 64 * 64);
  if (!memory) return 1;
  T *const state = memory, *const stage = state + NX, *const k = stage + NX, *const numbers = k + STAGES * NX;
  T *const held = numbers + NP, *const updated = held + NZ, *const drawn = updated + NZ;
  T *const observe_fixed = drawn + NW, *const rate_fixed = observe_fixed + OBSERVE_FIXED;
  T *const correct_fixed = rate_fixed + RATE_FIXED, *const sample_fixed = correct_fixed + CORRECT_FIXED;
  T *const observed = sample_fixed + SAMPLE_FIXED, *const w = observed + recorded, *const time = w + work;
  T *outputs[OUTPUTS + 1];
  size_t at = 0;
  for (int j = 0; j < OUTPUTS; ++j) { outputs[j] = observed + at; at += SIZE[j]; }
  for (long long group = 0; group < count; group += LANES) {
    const int filled = count - group < LANES ? (int)(count - group) : LANES;
    long long lane[LANES];
    for (int l = 0; l < LANES; ++l) lane[l] = lanes[group + (l < filled ? l : 0)];
    gather(state, x, NX, NX, lane);
    gather(numbers, p, p_stride, NP, lane);
    gather(held, z, NZ, NZ, lane);
    {
      const T *const in[5] = {time, state, numbers, held, drawn};
      T *a[1] = {observe_fixed}, *b[1] = {rate_fixed}, *c[1] = {correct_fixed}, *d[1] = {sample_fixed};
      observe_setup(in, a, w);
      rate_setup(in, b, w);
      correct_setup(in, c, w);
      sample_setup(in, d, w);
      (void)a; (void)b; (void)c; (void)d;
    }
    for (long long step = 0; step < steps; ++step) {
      const double t = t0 + (double)(first + step) * h;
      *time = K(0.) + t;
#if NZ
      {
        for (int i = 0; i < NW; ++i) drawn[i] = K(0.) + w_rows[(first + step) * NW + i];
        const T *const in[6] = {time, state, numbers, held, drawn, sample_fixed};
        T *after[1] = {updated};
        sample(in, after, w);
        for (int i = 0; i < NZ; ++i) held[i] = updated[i];
      }
#endif
      {
        const T *const in[6] = {time, state, numbers, held, drawn, observe_fixed};
        outputs[OUTPUTS] = k;
        observe(in, outputs, w);
      }
      scatter(state, out[0] + step * step_stride[0], lane_stride[0], NX, lane, filled);
      for (int j = 0; j < OUTPUTS; ++j)
        if (SIZE[j] && out[j + 1])
          scatter(outputs[j], out[j + 1] + step * step_stride[j + 1], lane_stride[j + 1], SIZE[j], lane, filled);
      for (int s = 1; s < STAGES; ++s) {
        for (int i = 0; i < NX; ++i) {
          T sum = k[i] * A[s][0];
          for (int r = 1; r < s; ++r)
            if (A[s][r] != 0.) sum = sum + k[r * NX + i] * A[s][r];
          stage[i] = state[i] + sum * h;
        }
        *time = K(0.) + (t + C[s] * h);
        const T *const in[6] = {time, stage, numbers, held, drawn, rate_fixed};
        T *slope[1] = {k + s * NX};
        rate(in, slope, w);
      }
      for (int i = 0; i < NX; ++i) {
        T sum = k[i] * WEIGHT[0];
        for (int s = 1; s < STAGES; ++s)
          if (WEIGHT[s] != 0.) sum = sum + k[s * NX + i] * WEIGHT[s];
        state[i] = state[i] + sum * h;
      }
#if CORRECTED
      *time = K(0.) + (t0 + (double)(first + step + 1) * h);
      for (int i = 0; i < NX; ++i) stage[i] = state[i];
      const T *const in[6] = {time, stage, numbers, held, drawn, correct_fixed};
      T *corrected[1] = {state};
      correct(in, corrected, w);
#endif
    }
    scatter(state, x, NX, NX, lane, filled);
    scatter(held, z, NZ, NZ, lane, filled);
  }
  (void)w_rows;
  free(memory);
  return 0;
}
