/* Lexicographic least squares under limits, the decision of one tick of realization="bounded":

     low <= u <= high and least <= rows u <= most; then least |gain u - right|^2, group by group; then least u' effort u,

   each level among the minimizers of those before it. If no input satisfies all limits, they are relaxed, level by level
   too, by the least squares of the excess of their rows, before the first group.

   Each level is solved by a primal active-set method in an orthonormal basis Z of the directions that the levels before
   it have left free. Z and the triangle R of the working set are updated by reflections and rotations; a step is the
   shortest one, by a complete orthogonal decomposition. Nothing is allocated, and nothing outlives a call.

   Defined before: LEX_N inputs; LEX_L rows of limits in LEX_LIMITS levels, which end before the rows LEX_LIMIT_END[], and
   the first of which can always be satisfied; LEX_M rows of the program in LEX_GROUPS groups: LEX_ROW[], the rows in the
   order of their groups, and LEX_END[], the ends of the groups in it; and LEX_SPHERES spheres, within which the vector
   must lie whose products with normals are the rows from LEX_SPHERE_ROW[] on: their number LEX_SPHERE_ROWS[], the
   dimension LEX_SPHERE_AXES[], the radius LEX_SPHERE_RADIUS[], and, one sphere after the other, LEX_SPHERE_INVERSE[],
   the pseudo-inverses of the normals by rows. */

#include <math.h>

#define LEX_C (LEX_N + LEX_L)
#define LEX_A_ (LEX_M > LEX_L ? LEX_M : LEX_L)
#define LEX_A (LEX_A_ > LEX_N ? LEX_A_ : LEX_N)
#define LEX_LEVELS (LEX_LIMITS + LEX_GROUPS + 1)
/* Steps of one level: as many as the working set has changes. In the second half of them the first candidate is chosen
   instead of the best one, against cycles at degenerate vertices. */
#ifdef LEXICOGRAPHIC_STEPS
#define LEX_STEPS LEXICOGRAPHIC_STEPS
#else
#define LEX_STEPS (20 + 10 * LEX_C)
#endif

/* Numbers as in controllers/bounded/optimal_face.py and lexicographic.py, where they are explained. */
static const double LEX_SILENT = 1e-8, LEX_PUSHING = 1e-8, LEX_ROUNDING = 1e-11, LEX_REACHED = 1e-10;
static const double LEX_GIVEN_UP = 1e-9, LEX_EXACT = 1e-9, LEX_MISSED = 1e-7, LEX_FLOOR = 1e-8, LEX_ACCURATE = 1e-6;
static const double LEX_REMAINDER = 1e-11, LEX_ACCURACY = 1e-7;
/* Multipliers of the wrong sign up to LEX_SIGN of all of them are rounding. A direction is parallel to a limit up to
   LEX_PARALLEL. Limits within LEX_TIE of the nearest one tie. Rows of limits depend on each other up to LEX_DEPENDENT. */
static const double LEX_SIGN = 1e-11, LEX_PARALLEL = 1e-11, LEX_TIE = 1e-12, LEX_DEPENDENT = 1e-12;
static const double LEX_ROUNDED = 1e-15;

enum { LEX_OK = 0, LEX_NOT_FINITE = 2, LEX_NOT_CONVERGED = 4, LEX_LIMITED = 6, LEX_HELD = 7 };

typedef struct {
  double x[LEX_N], value[LEX_C + 1];      /* the point, and the values of the limits there: inputs, then rows */
  double low[LEX_C + 1], high[LEX_C + 1]; /* infinite where an earlier level has decided */
  double rows[LEX_L + 1][LEX_N], norm[LEX_C];
  double z[LEX_N][LEX_N];                 /* z[j]: direction j of d; the first k span the normals of the working set */
  double r[LEX_N][LEX_N];                 /* r[c]: normal c of the working set in the first c + 1 directions */
  int set[LEX_N], side[LEX_C];            /* the working set; 1 at the upper bound, -1 at the lower one, 0 not in it */
  int d, k, steps;
} LexFace;

/* What a level leaves behind: the point and the directions that it found, the multipliers of the limits, and which rows
   it minimized, for the check at the end. */
typedef struct {
  int d, first, count;
  double x[LEX_N], z[LEX_N][LEX_N], multiplier[LEX_C];
} LexLevel;

/* Rows of all levels, |a x - target|^2, and for limits that are given up the side on which they are exceeded. */
typedef struct {
  int count, side[LEX_L + LEX_M];
  const double *a[LEX_L + LEX_M];
  double target[LEX_L + LEX_M];
} LexRows;

/* Triangle of rows in free directions by reflections with pivoting, from which least steps follow. */
typedef struct {
  int rank, order[LEX_A];
  double t[LEX_A][LEX_N], v[LEX_N][LEX_N], scale[LEX_N];
} LexTriangle;

/* fmin and fmax are calls, for the sake of NaN. */
static double lex_min(double a, double b) { return a < b ? a : b; }
static double lex_max(double a, double b) { return a > b ? a : b; }

static double lex_dot(const double *a, const double *b, int n) {
  double sum = 0.;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

static double lex_along(const LexFace *f, int i, const double *p) {
  return i < LEX_N ? p[i] : lex_dot(f->rows[i - LEX_N], p, LEX_N);
}

static void lex_evaluate(LexFace *f) {
  for (int i = 0; i < LEX_C; ++i) f->value[i] = lex_along(f, i, f->x);
}

/* Multiply a matrix, given by its columns, by 1 - scale v v' from the right. */
static void lex_reflect(double (*z)[LEX_N], const double *v, int count, double scale) {
  double sum[LEX_N] = {0.};
  for (int j = 0; j < count && j < LEX_N; ++j)
    for (int i = 0; i < LEX_N; ++i) sum[i] += v[j] * z[j][i];
  for (int j = 0; j < count && j < LEX_N; ++j)
    for (int i = 0; i < LEX_N; ++i) z[j][i] -= scale * v[j] * sum[i];
}

/* Make v, of this norm, the vector of the reflection that leaves only v[0]; return its new value, and the scale. */
static double lex_householder(double *v, double norm, double *scale) {
  const double left = v[0] > 0. ? -norm : norm;
  v[0] -= left;
  *scale = norm > 0. ? -1. / (left * v[0]) : 0.;
  return left;
}

static int lex_add(LexFace *f, int i, int side) {
  double v[LEX_N] = {0.}, square = 0., scale;
  if (f->k == f->d) return 0;
  double *const column = f->r[f->k];
  for (int j = 0; j < f->k; ++j) column[j] = lex_along(f, i, f->z[j]);
  for (int j = f->k; j < f->d; ++j) {
    v[j - f->k] = lex_along(f, i, f->z[j]);
    square += v[j - f->k] * v[j - f->k];
  }
  if (!(sqrt(square) > LEX_PARALLEL * f->norm[i])) return 0;
  column[f->k] = lex_householder(v, sqrt(square), &scale);
  lex_reflect(f->z + f->k, v, f->d - f->k, scale);
  f->set[f->k++] = i;
  f->side[i] = side;
  return 1;
}

static void lex_remove(LexFace *f, int at) {
  f->side[f->set[at]] = 0;
  for (int c = at; c + 1 < f->k; ++c) {
    f->set[c] = f->set[c + 1];
    for (int i = 0; i <= c + 1; ++i) f->r[c][i] = f->r[c + 1][i];
  }
  f->k -= 1;
  for (int j = at; j < f->k; ++j) {
    const double a = f->r[j][j], b = f->r[j][j + 1], h = sqrt(a * a + b * b);
    const double cosine = h > 0. ? a / h : 1., sine = h > 0. ? b / h : 0.;
    for (int c = j; c < f->k; ++c) {
      const double one = f->r[c][j], other = f->r[c][j + 1];
      f->r[c][j] = cosine * one + sine * other;
      f->r[c][j + 1] = cosine * other - sine * one;
    }
    for (int i = 0; i < LEX_N; ++i) {
      const double one = f->z[j][i], other = f->z[j + 1][i];
      f->z[j][i] = cosine * one + sine * other;
      f->z[j + 1][i] = cosine * other - sine * one;
    }
  }
}

/* Decompose m rows, as they act in the free directions. */
static void lex_decompose(LexTriangle *q, const LexFace *f, const double *const *a, int m, double least) {
  const int e = f->d - f->k;
  for (int s = 0; s < m; ++s) {
    q->order[s] = s;
    for (int j = 0; j < e; ++j) q->t[s][j] = lex_dot(a[s], f->z[f->k + j], LEX_N);
  }
  for (q->rank = 0; q->rank < m && q->rank < e; ++q->rank) {
    const int at = q->rank;
    int best = at;
    double largest = 0.;
    for (int s = at; s < m; ++s) {
      const double square = lex_dot(q->t[s] + at, q->t[s] + at, e - at);
      if (square > largest) {
        largest = square;
        best = s;
      }
    }
    const double norm = sqrt(largest);
    if (!(norm > least)) break;
    const int order = q->order[best];
    q->order[best] = q->order[at];
    q->order[at] = order;
    for (int j = 0; j < e; ++j) {
      const double number = q->t[best][j];
      q->t[best][j] = q->t[at][j];
      q->t[at][j] = number;
    }
    double *const v = q->v[at], scale;
    for (int j = at; j < e; ++j) v[j - at] = q->t[at][j];
    q->t[at][at] = lex_householder(v, norm, &scale);
    q->scale[at] = scale;
    for (int s = at + 1; s < m; ++s) {
      const double part = scale * lex_dot(v, q->t[s] + at, e - at);
      for (int j = at; j < e; ++j) q->t[s][j] -= part * v[j - at];
    }
  }
}

/* The least step p in the free directions among those that minimize |A p - rest|. */
static void lex_step(const LexTriangle *q, const LexFace *f, const double *rest, int m, double *p) {
  const int e = f->d - f->k, rank = q->rank;
  double y[LEX_N] = {0.}, right[LEX_A];
  for (int s = 0; s < m; ++s) right[s] = rest[q->order[s]];
  if (rank == m) {
    for (int s = 0; s < rank; ++s) y[s] = (right[s] - lex_dot(q->t[s], y, s)) / q->t[s][s];
  } else {
    /* More rows than rank: their least squares, by reflections of the columns. */
    double c[LEX_N][LEX_A];
    for (int j = 0; j < rank; ++j)
      for (int s = 0; s < m; ++s) c[j][s] = s < j ? 0. : q->t[s][j];
    for (int j = 0; j < rank; ++j) {
      double v[LEX_A] = {0.}, scale;
      for (int s = j; s < m; ++s) v[s - j] = c[j][s];
      c[j][j] = lex_householder(v, sqrt(lex_dot(v, v, m - j)), &scale);
      for (int i = j + 1; i < rank; ++i) {
        const double part = scale * lex_dot(v, c[i] + j, m - j);
        for (int s = j; s < m; ++s) c[i][s] -= part * v[s - j];
      }
      const double part = scale * lex_dot(v, right + j, m - j);
      for (int s = j; s < m; ++s) right[s] -= part * v[s - j];
    }
    for (int j = rank - 1; j >= 0; --j) {
      double sum = right[j];
      for (int i = j + 1; i < rank; ++i) sum -= c[i][j] * y[i];
      y[j] = sum / c[j][j];
    }
  }
  for (int at = rank - 1; at >= 0; --at) {
    const double part = q->scale[at] * lex_dot(q->v[at], y + at, e - at);
    for (int j = at; j < e; ++j) y[j] -= part * q->v[at][j - at];
  }
  for (int i = 0; i < LEX_N; ++i) p[i] = 0.;
  for (int j = 0; j < e; ++j)
    for (int i = 0; i < LEX_N; ++i) p[i] += y[j] * f->z[f->k + j][i];
}

/* Move the point back to the bounds of the working set, against rounding. */
static void lex_restore(LexFace *f) {
  double y[LEX_N] = {0.};
  int near = 1;
  for (int c = 0; c < f->k; ++c) {
    const int i = f->set[c];
    const double bound = f->side[i] > 0 ? f->high[i] : f->low[i], gap = bound - f->value[i];
    near = near && fabs(gap) <= LEX_ROUNDED * (f->norm[i] + fabs(bound));
    y[c] = (gap - lex_dot(f->r[c], y, c)) / f->r[c][c];
  }
  if (near) return;
  for (int c = 0; c < f->k; ++c)
    for (int i = 0; i < LEX_N; ++i) f->x[i] += y[c] * f->z[c][i];
  lex_evaluate(f);
}

/* Longest step along p, up to `longest`, within the first `count` limits; *at: the limit that it reaches, or -1. */
static double lex_ratio(const LexFace *f, int count, const double *p, const double *rate, double longest, int first,
                        int *at) {
  const double length = sqrt(lex_dot(p, p, LEX_N)), room = LEX_TIE * (1. + sqrt(lex_dot(f->x, f->x, LEX_N)));
  double least = longest, best = 0., step = longest, reach[LEX_C];
  *at = -1;
  for (int i = 0; i < count; ++i) {
    const double slope = fabs(rate[i]), slack = rate[i] > 0. ? f->high[i] - f->value[i] : f->value[i] - f->low[i];
    reach[i] = INFINITY;
    if (f->side[i] || !(slope > LEX_PARALLEL * f->norm[i] * length) || !(slack < INFINITY)) continue;
    reach[i] = lex_max(slack, 0.) / slope;
    least = lex_min(least, reach[i] + room / slope);
  }
  for (int i = 0; i < count; ++i) {
    if (!(reach[i] <= least && reach[i] < longest && fabs(rate[i]) > best * f->norm[i]) || (first && *at >= 0)) continue;
    best = fabs(rate[i]) / f->norm[i];
    step = reach[i];
    *at = i;
  }
  return step;
}

/* Multipliers of the working set, for a residual of the rows that are minimized; the place of the one that is worst
   by its sign, or -1. */
static int lex_multipliers(const LexFace *f, const double *const *a, const double *rest, int m, double size, int first,
                           double *push, double *rounding) {
  double slope[LEX_N] = {0.}, total = 0., worst;
  int at = -1;
  for (int s = 0; s < m; ++s)
    for (int i = 0; i < LEX_N; ++i) slope[i] += rest[s] * a[s][i];
  for (int c = f->k - 1; c >= 0; --c) {
    double sum = lex_dot(f->z[c], slope, LEX_N);
    for (int i = c + 1; i < f->k; ++i) sum -= f->r[i][c] * push[i];
    push[c] = sum / f->r[c][c];
    total += push[c] * push[c];
  }
  total = sqrt(total);
  const double noise = LEX_ROUNDING * size * sqrt(lex_dot(rest, rest, m));
  *rounding = LEX_PUSHING * total + noise;
  worst = -(LEX_SIGN * total + noise);
  for (int c = 0; c < f->k; ++c) {
    const int i = f->set[c];
    const double signed_push = f->side[i] * push[c];
    if (f->low[i] < f->high[i] && signed_push < worst && !(first && at >= 0 && f->set[at] < i)) {
      if (!first) worst = signed_push;
      at = c;
    }
  }
  return at;
}

/* Fix what a level has decided: the limits that press, and A x. */
static void lex_fix(LexFace *f, const double *const *a, int m, double least, const double *multiplier) {
  LexTriangle q;
  int kept[LEX_N] = {0}, side[LEX_N] = {0}, count = 0;
  for (int c = f->k - 1; c >= 0; --c) {
    const int i = f->set[c];
    if (multiplier[i] != 0. || !(f->low[i] < f->high[i])) {
      f->low[i] = -INFINITY;
      f->high[i] = INFINITY;
    } else {
      kept[count] = i;
      side[count++] = f->side[i];
      lex_remove(f, c);
    }
  }
  lex_decompose(&q, f, a, m, least);
  for (int at = 0; at < q.rank; ++at)
    lex_reflect(f->z + f->k + at, q.v[at], f->d - f->k - at, q.scale[at]);
  const int gone = f->k + q.rank;
  for (int c = 0; c < f->k; ++c) f->side[f->set[c]] = 0;
  f->d -= gone;
  f->k = 0;
  for (int j = 0; j < f->d; ++j)
    for (int i = 0; i < LEX_N; ++i) f->z[j][i] = f->z[j + gone][i];
  /* The next level starts with the others. */
  while (count--) lex_add(f, kept[count], side[count]);
}

static double lex_size(const double *const *a, int m) {
  double sum = 0.;
  for (int s = 0; s < m; ++s) sum += lex_dot(a[s], a[s], LEX_N);
  return sqrt(sum);
}

/* Move to the least |A x - right|^2 of the face. Returns 0 if that failed, 1 if it was found, 2 if it is zero. */
static int lex_minimize(LexFace *f, const double *const *a, const double *right, int m, double size, double least,
                        double *multiplier) {
  LexTriangle q;
  double p[LEX_N], rate[LEX_C], rest[LEX_A], push[LEX_N] = {0.}, rounding;
  for (int step = 0; step < LEX_STEPS; ++step) {
    const int first = step > LEX_STEPS / 2;
    f->steps += 1;
    lex_restore(f);
    for (int s = 0; s < m; ++s) rest[s] = right[s] - lex_dot(a[s], f->x, LEX_N);
    if (f->k < f->d) {
      int at;
      lex_decompose(&q, f, a, m, least);
      lex_step(&q, f, rest, m, p);
      for (int i = 0; i < LEX_C; ++i) rate[i] = lex_along(f, i, p);
      const double length = lex_ratio(f, LEX_C, p, rate, 1., first, &at);
      for (int i = 0; i < LEX_N; ++i) f->x[i] += length * p[i];
      if (at >= 0) {
        for (int i = 0; i < LEX_C; ++i) f->value[i] += length * rate[i];
        lex_add(f, at, rate[at] > 0. ? 1 : -1);
        continue;
      }
      lex_evaluate(f);
      for (int s = 0; s < m; ++s) rest[s] = right[s] - lex_dot(a[s], f->x, LEX_N);
    }
    if (lex_dot(rest, rest, m) <= LEX_REACHED * LEX_REACHED * (1. + lex_dot(right, right, m))) return 2;
    const int at = lex_multipliers(f, a, rest, m, size, first, push, &rounding);
    if (at >= 0) {
      lex_remove(f, at);
      continue;
    }
    for (int c = 0; c < f->k; ++c) multiplier[f->set[c]] = fabs(push[c]) > rounding ? push[c] : 0.;
    return 1;
  }
  return 0;
}

/* Excess of a limit: positive above, negative below. */
static double lex_excess(const LexFace *f, int i) {
  return f->value[i] > f->high[i] ? f->value[i] - f->high[i] : f->value[i] < f->low[i] ? f->value[i] - f->low[i] : 0.;
}

/* Length of the step along p that minimizes the sum of squares of the excesses. */
static double lex_search(const LexFace *f, int from, int to, const double *rate) {
  double here = 0.;
  for (int round = 0; round <= 2 * (to - from); ++round) {
    double next = INFINITY, slope = 0., bend = 0.;
    for (int i = from; i < to; ++i)
      for (int upper = 0; upper < 2; ++upper) {
        const double where = rate[i] != 0. ? ((upper ? f->high[i] : f->low[i]) - f->value[i]) / rate[i] : INFINITY;
        if (where > here) next = lex_min(next, where);
      }
    const double inside = next < INFINITY ? 0.5 * (here + next) : here + 1.;
    for (int i = from; i < to; ++i) {
      const double value = f->value[i] + inside * rate[i], now = f->value[i] + here * rate[i];
      if (value > f->high[i] || value < f->low[i]) {
        slope += rate[i] * (now - (value > f->high[i] ? f->high[i] : f->low[i]));
        bend += rate[i] * rate[i];
      }
    }
    const double root = bend > 0. ? here - slope / bend : slope < 0. ? INFINITY : here;
    if (root <= next) return lex_max(root, here);
    here = next;
  }
  return here;
}

/* Move to the least squares of the excesses of limits from ... to - 1, within those before. */
static int lex_limits(LexFace *f, int from, int to, double *multiplier, int *given_up) {
  LexTriangle q;
  const double *a[LEX_A];
  double p[LEX_N], rate[LEX_C], rest[LEX_A], push[LEX_N] = {0.}, rounding = 0., size = 0.;
  int m = 0, found = 0;
  for (int step = 0; step < LEX_STEPS && !found; ++step) {
    const int first = step > LEX_STEPS / 2;
    int at, before[LEX_A], same = 1, zero = 1;
    f->steps += 1;
    lex_restore(f);
    m = 0;
    for (int i = from; i < to; ++i) {
      const double excess = lex_excess(f, i);
      if (excess == 0.) continue;
      zero = zero && fabs(excess) <= LEX_TIE * (1. + fabs(f->value[i]));
      before[m] = i;
      a[m] = f->rows[i - LEX_N];
      rest[m++] = -excess;
    }
    if (zero) return 2;
    size = lex_size(a, m);
    double length = 1.;
    at = -1;
    if (f->k < f->d) {
      lex_decompose(&q, f, a, m, LEX_DEPENDENT * size);
      lex_step(&q, f, rest, m, p);
      for (int i = 0; i < LEX_C; ++i) rate[i] = lex_along(f, i, p);
      double change = 0.;
      for (int s = 0; s < m; ++s) change += rate[before[s]] * rate[before[s]];
      if (sqrt(change) > LEX_TIE * (1. + sqrt(lex_dot(rest, rest, m)))) {
        const double least = lex_search(f, from, to, rate);
        length = lex_ratio(f, from, p, rate, least, first, &at);
        for (int i = 0; i < LEX_N; ++i) f->x[i] += length * p[i];
        lex_evaluate(f);
        if (at >= 0) {
          lex_add(f, at, rate[at] > 0. ? 1 : -1);
          continue;
        }
      }
    }
    /* Only the whole step to the least squares of the same rows is the minimum for this working set. */
    int count = 0;
    for (int i = from; i < to; ++i) {
      const double excess = lex_excess(f, i);
      if (excess == 0.) continue;
      if (count == m || before[count] != i) same = 0;
      else rest[count] = -excess;
      count += 1;
    }
    if (!same || count != m || fabs(length - 1.) > 1e-9) continue;
    at = lex_multipliers(f, a, rest, m, size, first, push, &rounding);
    if (at >= 0) lex_remove(f, at);
    else found = 1;
  }
  if (!found) return 0;
  for (int c = 0; c < f->k; ++c) multiplier[f->set[c]] = fabs(push[c]) > rounding ? push[c] : 0.;
  m = 0;
  for (int i = from; i < to; ++i) {
    const double excess = lex_excess(f, i);
    if (fabs(excess) <= LEX_GIVEN_UP) continue;
    given_up[i - LEX_N] = excess > 0. ? 1 : -1;
    a[m++] = f->rows[i - LEX_N];
  }
  if (!m) {
    for (int i = 0; i < LEX_C; ++i) multiplier[i] = 0.;
    return 2;
  }
  lex_fix(f, a, m, LEX_DEPENDENT * size, multiplier);
  return 1;
}

/* Inputs, in the order of BoundedProblemData, matrices by columns, and the input to hold, NaN if there is none. */
enum {
  LEX_INPUT, LEX_FIT, LEX_LOW, LEX_HIGH, LEX_SCALE, LEX_EFFORT, LEX_ROWS, LEX_LEAST, LEX_MOST, LEX_ROW_SCALE, LEX_GAIN,
  LEX_RIGHT, LEX_GAIN_SCALE, LEX_SHORT, LEX_TOTAL, LEX_HOLD, LEX_INPUTS
};
/* Outputs: u, the residual of the program and the excess of the limits, both in their units and 0 for rounding; 1 or -1
   for each limit that had to be relaxed above or below; 1 for each row of limits that prevents a better solution; and
   the numbers below. */
enum { LEX_U, LEX_MISS, LEX_BEYOND, LEX_RELAXED, LEX_PRESSING, LEX_INFO, LEX_OUTPUTS };
/* Status; steps of all levels; greatest residual of the conditions of optimality, recomputed, infinite if a level ran
   out of steps; the level that failed, or -1; 1 if the programme was needed. */
enum { LEX_STATUS, LEX_ITERATIONS, LEX_RESIDUAL, LEX_FAILED, LEX_USED, LEX_INFOS };

/* Residual of the conditions of optimality of one level at the last point, as a share of their terms; `slope`: gradient
   of what the level minimizes, `size`: the size of its terms. */
static double lex_residual(const LexFace *f, const LexLevel *levels, int at, const LexRows *rows, const double *low,
                           const double *high, double *slope, double size) {
  const LexLevel *const level = levels + at;
  const double room = 1. + sqrt(lex_dot(f->x, f->x, LEX_N));
  double left = 0., broken = 0.;
  for (int s = level->first; s < level->first + level->count; ++s)
    broken = lex_max(broken, rows->side[s] * (rows->target[s] - lex_dot(rows->a[s], f->x, LEX_N)) / room);
  for (int i = 0; i < LEX_C; ++i) {
    const double push = level->multiplier[i];
    if (push == 0.) continue;
    for (int j = 0; j < LEX_N; ++j) slope[j] += push * (i < LEX_N ? (double)(i == j) : f->rows[i - LEX_N][j]);
    size += push * push;
    broken = lex_max(broken, fabs(f->value[i] - (push > 0. ? high[i] : low[i])) / (room * lex_max(f->norm[i], 1.)));
  }
  for (int j = 0; j < level->d; ++j) {
    const double *const z = level->z[j], part = lex_dot(z, slope, LEX_N);
    left += part * part;
    /* Along these directions no earlier level may change. */
    for (int before = 0; before < at; ++before) {
      const LexLevel *const fixed = levels + before;
      double square = 0., change = 0.;
      for (int s = fixed->first; s < fixed->first + fixed->count; ++s) {
        const double rate = lex_dot(rows->a[s], z, LEX_N);
        square += lex_dot(rows->a[s], rows->a[s], LEX_N);
        change += rate * rate;
      }
      if (square > 0.) broken = lex_max(broken, sqrt(change / square));
      for (int i = 0; i < LEX_C; ++i)
        if (fixed->multiplier[i] != 0.) broken = lex_max(broken, fabs(lex_along(f, i, z)) / f->norm[i]);
    }
  }
  left = sqrt(left / (1. + size));
  /* NaN is no number that is small enough. */
  return left <= broken ? broken : left;
}

/* Check all levels at the last point; return the first that is not optimal, or -1. */
static int lex_check(const LexFace *f, const LexLevel *levels, int done, const LexRows *rows, const double *low,
                     const double *high, const int *given_up, const double *effort, double *worst) {
  const double room = 1. + sqrt(lex_dot(f->x, f->x, LEX_N));
  for (int level = 0; level < done; ++level) {
    double slope[LEX_N] = {0.}, square = 0., error = 0., broken = 0.;
    for (int s = levels[level].first; s < levels[level].first + levels[level].count; ++s) {
      const double rest = lex_dot(rows->a[s], f->x, LEX_N) - rows->target[s];
      error += rest * rest + rows->target[s] * rows->target[s];
      square += lex_dot(rows->a[s], rows->a[s], LEX_N);
      for (int i = 0; i < LEX_N; ++i) slope[i] += rest * rows->a[s][i];
    }
    double size = square * error;
    if (level == LEX_LEVELS - 1) {
      for (int i = 0; i < LEX_N; ++i)
        for (int j = 0; j < LEX_N; ++j) slope[i] += effort[j * LEX_N + i] * f->x[j];
      size = lex_dot(slope, slope, LEX_N);
    }
    for (int i = 0; i < LEX_C && level == 0; ++i) {
      const int up = i < LEX_N ? 0 : given_up[i - LEX_N];
      const double excess = lex_max(f->value[i] - high[i], low[i] - f->value[i]);
      if (!up) broken = lex_max(broken, excess / (room * lex_max(f->norm[i], 1.)));
    }
    const double left = lex_residual(f, levels, level, rows, low, high, slope, size);
    const double residual = left <= broken ? broken : left;
    if (!(residual <= *worst)) *worst = residual;
    if (!(residual <= LEX_ACCURACY)) return level;
  }
  return -1;
}

/* Residuals of the program under u, in their units; 0 for rounding. */
static void lex_missed(const double *const *in, const double *x, double *missed) {
  double basis[LEX_M][LEX_N], along[LEX_M];
  for (int r = 0; r < LEX_M; ++r) {
    double row[LEX_N], rest = -in[LEX_RIGHT][r], size = fabs(in[LEX_RIGHT][r]);
    const double unit = in[LEX_GAIN_SCALE][r];
    for (int i = 0; i < LEX_N; ++i) {
      row[i] = in[LEX_GAIN][i * LEX_M + r];
      rest += row[i] * x[i];
      size += fabs(row[i]) * fabs(x[i]);
    }
    const int large = fabs(rest) > LEX_MISSED * size + LEX_FLOOR * unit;
    /* The remainder of a row beside satisfied ones must be satisfied to a share of itself, or the motion differs. */
    const double length = sqrt(lex_dot(row, row, LEX_N));
    double beside = rest, share = 0.;
    for (int pass = 0; pass < 2; ++pass) {
      double part[LEX_M];
      for (int s = 0; s < r; ++s) part[s] = lex_dot(basis[s], row, LEX_N);
      for (int s = 0; s < r; ++s) {
        beside -= part[s] * along[s];
        for (int i = 0; i < LEX_N; ++i) row[i] -= part[s] * basis[s][i];
      }
    }
    const double left = sqrt(lex_dot(row, row, LEX_N));
    const int independent = !large && left > LEX_REMAINDER * length;
    for (int i = 0; i < LEX_N; ++i) basis[r][i] = independent ? row[i] / left : 0.;
    along[r] = independent ? beside / left : 0.;
    if (independent) share = left / length;
    const int near = fabs(beside) > share * (LEX_ACCURATE * size + LEX_FLOOR * unit) && share > LEX_REMAINDER;
    missed[r] = large || near ? rest / unit : 0.;
  }
}

/* Excess of the rows of limits under u, in their units; 0 for rounding. That of a sphere is at its row of the largest
   excess. */
static void lex_beyond(const double *const *in, const double *x, double *beyond) {
  double along[LEX_L + 1], terms[LEX_L + 1];
  const double *inverse = LEX_SPHERE_INVERSE;
  for (int r = 0; r < LEX_L; ++r) {
    double value = 0., size = 0.;
    for (int i = 0; i < LEX_N; ++i) {
      const double number = in[LEX_ROWS][i * LEX_L + r];
      value += number * x[i];
      size += fabs(number) * fabs(x[i]);
    }
    const double unit = in[LEX_ROW_SCALE][r];
    const double over = lex_max(lex_max(in[LEX_LEAST][r] - value, value - in[LEX_MOST][r]), 0.) / unit;
    beyond[r] = over > LEX_MISSED * (size / unit) + LEX_FLOOR ? over : 0.;
    along[r] = (value - 0.5 * (in[LEX_LEAST][r] + in[LEX_MOST][r])) / unit;
    terms[r] = size / unit;
  }
  for (int s = 0; s < LEX_SPHERES; ++s) {
    const int first = LEX_SPHERE_ROW[s], count = LEX_SPHERE_ROWS[s];
    double square = 0., largest = 0., size = 0.;
    int worst = first;
    for (int axis = 0; axis < LEX_SPHERE_AXES[s]; ++axis, inverse += count) {
      const double part = lex_dot(inverse, along + first, count);
      square += part * part;
    }
    for (int r = first; r < first + count; ++r) {
      size = lex_max(size, terms[r]);
      if (beyond[r] > largest) {
        largest = beyond[r];
        worst = r;
      }
      beyond[r] = 0.;
    }
    const double over = sqrt(square) - LEX_SPHERE_RADIUS[s];
    beyond[worst] = largest > 0. && over > LEX_MISSED * size + LEX_FLOOR ? over : 0.;
  }
}

/* The programme. Returns 1 if the whole program is satisfied; info gets the level that failed, and x is then the point
   before that level. */
static int lex_programme(const double *const *in, double *x, int *given_up, double *pressing, double *info) {
  LexFace f;
  LexLevel levels[LEX_LEVELS];
  LexRows rows;
  double low[LEX_C + 1], high[LEX_C + 1], gain[LEX_M][LEX_N], root[LEX_N][LEX_N];
  const double *const effort = in[LEX_EFFORT], zero[LEX_N] = {0.};
  int failed = -1, done = 0, reached = 1;
  for (int i = 0; i < LEX_N; ++i) {
    const double start = in[LEX_INPUT][i];
    low[i] = in[LEX_LOW][i] / in[LEX_SCALE][i];
    high[i] = in[LEX_HIGH][i] / in[LEX_SCALE][i];
    f.x[i] = lex_min(lex_max(fabs(start) < INFINITY ? start / in[LEX_SCALE][i] : 0., low[i]), high[i]);
    f.norm[i] = 1.;
    for (int j = 0; j < LEX_N; ++j) f.z[i][j] = i == j;
  }
  for (int r = 0; r < LEX_L; ++r) {
    low[LEX_N + r] = in[LEX_LEAST][r];
    high[LEX_N + r] = in[LEX_MOST][r];
    for (int i = 0; i < LEX_N; ++i) f.rows[r][i] = in[LEX_ROWS][i * LEX_L + r];
    f.norm[LEX_N + r] = sqrt(lex_dot(f.rows[r], f.rows[r], LEX_N));
    given_up[r] = 0;
    pressing[r] = 0.;
  }
  f.d = LEX_N;
  f.k = f.steps = rows.count = 0;
  for (int i = 0; i < LEX_C; ++i) {
    f.side[i] = 0;
    f.low[i] = low[i];
    f.high[i] = high[i];
  }
  for (int i = 0; i < LEX_N; ++i)
    if (low[i] == high[i]) lex_add(&f, i, 1);
  lex_evaluate(&f);
  for (int level = 0; level < LEX_LEVELS && failed < 0; ++level) {
    LexLevel *const now = levels + level;
    int found = 2;
    now->d = f.d;
    now->first = rows.count;
    for (int i = 0; i < LEX_N; ++i) now->x[i] = f.x[i];
    for (int j = 0; j < f.d; ++j)
      for (int i = 0; i < LEX_N; ++i) now->z[j][i] = f.z[j][i];
    for (int i = 0; i < LEX_C; ++i) now->multiplier[i] = 0.;
    if (level < LEX_LIMITS) {
      const int from = LEX_N + (level ? LEX_LIMIT_END[level - 1] : 0), to = LEX_N + LEX_LIMIT_END[level];
      if (from < to) found = lex_limits(&f, from, to, now->multiplier, given_up);
      for (int i = from; i < to; ++i) {
        const int up = given_up[i - LEX_N];
        /* What is exceeded by rounding is loosened, so that the point is feasible. */
        f.low[i] = up ? -INFINITY : lex_min(f.low[i], f.value[i]);
        f.high[i] = up ? INFINITY : lex_max(f.high[i], f.value[i]);
        if (!up) continue;
        rows.side[rows.count] = up;
        rows.a[rows.count] = f.rows[i - LEX_N];
        rows.target[rows.count++] = in[up > 0 ? LEX_MOST : LEX_LEAST][i - LEX_N];
      }
    } else if (level < LEX_LIMITS + LEX_GROUPS) {
      const int group = level - LEX_LIMITS, start = group ? LEX_END[group - 1] : 0, count = LEX_END[group] - start;
      const double *const *const a = rows.a + now->first, *const right = rows.target + now->first;
      for (int s = start; s < start + count; ++s) {
        for (int i = 0; i < LEX_N; ++i) gain[s][i] = in[LEX_GAIN][i * LEX_M + LEX_ROW[s]];
        rows.side[rows.count] = 0;
        rows.a[rows.count] = gain[s];
        rows.target[rows.count++] = in[LEX_RIGHT][LEX_ROW[s]];
      }
      const double size = lex_size(a, count);
      if (f.d > 0 && size > 0.) {
        found = lex_minimize(&f, a, right, count, size, LEX_SILENT * size, now->multiplier);
        if (found) lex_fix(&f, a, count, LEX_SILENT * size, now->multiplier);
      } else {
        for (int s = 0; s < count; ++s)
          if (!(fabs(right[s] - lex_dot(a[s], f.x, LEX_N)) <= LEX_REACHED * (1. + fabs(right[s])))) found = 1;
      }
      reached = reached && found == 2;
    } else if (f.d > 0) {
      /* The effort is |L' x|^2 with H = L L'. */
      const double *columns[LEX_N];
      for (int j = 0; j < LEX_N; ++j) {
        for (int i = 0; i < LEX_N; ++i) {
          double sum = effort[j * LEX_N + i];
          for (int s = 0; s < j; ++s) sum -= root[s][i] * root[s][j];
          root[j][i] = i < j ? 0. : i > j ? sum / root[j][j] : sqrt(lex_max(sum, 0.1 * LEX_DEPENDENT));
        }
        columns[j] = root[j];
      }
      const double size = lex_size(columns, LEX_N);
      found = lex_minimize(&f, columns, zero, LEX_N, size, 0.01 * LEX_DEPENDENT * size, now->multiplier);
    }
    now->count = rows.count - now->first;
    for (int r = 0; r < LEX_L && level < LEX_LEVELS - 1; ++r)
      if (now->multiplier[LEX_N + r] != 0.) pressing[r] = 1.;
    if (found) done = level + 1;
    else failed = level;
  }
  lex_evaluate(&f);
  info[LEX_ITERATIONS] = f.steps;
  const int wrong = lex_check(&f, levels, done, &rows, low, high, given_up, effort, info + LEX_RESIDUAL);
  if (failed >= 0) info[LEX_RESIDUAL] = INFINITY;
  if (wrong >= 0) failed = wrong;
  for (int i = 0; i < LEX_N; ++i) x[i] = failed < 0 ? f.x[i] : levels[failed].x[i];
  info[LEX_FAILED] = failed;
  return reached && failed < 0;
}

/* 1 if all numbers are finite, those of bounds at least numbers. */
static int lex_finite(const double *const *in) {
  static const int size[] = {LEX_N * LEX_N, LEX_L * LEX_N, LEX_L, LEX_L, LEX_L, LEX_M * LEX_N, LEX_M, LEX_M};
  double sum = 0. * in[LEX_TOTAL][0];
  for (int i = 0; i < LEX_N; ++i) {
    sum += 0. * in[LEX_SCALE][i];
    if (!(in[LEX_LOW][i] <= in[LEX_HIGH][i])) return 0;
  }
  for (int k = LEX_EFFORT; k <= LEX_GAIN_SCALE; ++k)
    for (int i = 0; i < size[k - LEX_EFFORT]; ++i) {
      if (k == LEX_LEAST || k == LEX_MOST ? in[k][i] != in[k][i] : !(0. * in[k][i] == 0.)) return 0;
    }
  return sum == 0.;
}

/* The decision of one tick. Arrays of no numbers may be null. */
static void lexicographic(const double *const *in, double *const *out) {
  double *const u = out[LEX_U], *const missed = out[LEX_MISS], *const beyond = out[LEX_BEYOND];
  double *const info = out[LEX_INFO], x[LEX_N], finite = 0.;
  const double *const fit = in[LEX_FIT];
  int given_up[LEX_L + 1], status = LEX_OK, limited = 0;
  for (int r = 0; r < LEX_M; ++r) missed[r] = 0.;
  for (int r = 0; r < LEX_L; ++r) beyond[r] = out[LEX_RELAXED][r] = out[LEX_PRESSING][r] = 0.;
  info[LEX_ITERATIONS] = info[LEX_RESIDUAL] = info[LEX_USED] = 0.;
  info[LEX_FAILED] = -1.;
  info[LEX_STATUS] = LEX_OK;
  for (int i = 0; i < LEX_N; ++i) {
    u[i] = in[LEX_INPUT][i];
    finite += 0. * u[i];
  }
  if (fit[0] <= 0. && fit[1] <= LEX_EXACT && fit[2] <= LEX_EXACT && fit[3] <= 0. && finite == 0.) return;
  info[LEX_USED] = 1.;
  if (!lex_finite(in)) {
    info[LEX_STATUS] = LEX_NOT_FINITE;
    return;
  }
  const int reached = lex_programme(in, x, given_up, out[LEX_PRESSING], info);
  const int failed = (int)info[LEX_FAILED];
  const int held = failed >= 0 && failed <= LEX_LIMITS;
  for (int i = 0; i < LEX_N; ++i) {
    const double found = held ? in[LEX_HOLD][i] : in[LEX_SCALE][i] * x[i];
    if (held && !(fabs(found) < INFINITY)) status = LEX_NOT_CONVERGED;
    u[i] = lex_min(lex_max(found, in[LEX_LOW][i]), in[LEX_HIGH][i]);
    x[i] = u[i] / in[LEX_SCALE][i];
  }
  for (int r = 0; r < LEX_L; ++r) {
    out[LEX_RELAXED][r] = held ? 0. : given_up[r];
    limited = limited || given_up[r];
  }
  /* Rows that nearly depend on others are satisfied by many inputs, up to rounding. */
  if (held || !reached || !(fit[2] < INFINITY)) lex_missed(in, x, missed);
  if (held || limited) lex_beyond(in, x, beyond);
  limited = failed >= 0 || !(fit[3] <= 0.);
  for (int r = 0; r < LEX_M; ++r) limited = limited || missed[r] != 0.;
  for (int r = 0; r < LEX_L; ++r) limited = limited || beyond[r] != 0.;
  if (status == LEX_OK) status = held ? LEX_HELD : limited ? LEX_LIMITED : LEX_OK;
  info[LEX_STATUS] = status;
}
