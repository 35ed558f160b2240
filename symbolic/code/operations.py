"""Operations of expressions as C text, for numbers and for lanes of numbers alike."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

WRITTEN: Mapping[int, str] = {
    ca.OP_ADD: "{0}+{1}",
    ca.OP_SUB: "{0}-{1}",
    ca.OP_MUL: "{0}*{1}",
    ca.OP_DIV: "{0}/{1}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0}*{0}",
    ca.OP_TWICE: "{0}+{0}",
    ca.OP_INV: "K(1.)/{0}",
    ca.OP_SQRT: "lanes_sqrt({0})",
    ca.OP_FABS: "FABS({0})",
    ca.OP_SIGN: "SIGN({0})",
    ca.OP_COPYSIGN: "COPYSIGN({0},{1})",
    ca.OP_FMIN: "FMIN({0},{1})",
    ca.OP_FMAX: "FMAX({0},{1})",
    ca.OP_LT: "TRUTH({0}<{1})",
    ca.OP_LE: "TRUTH({0}<={1})",
    ca.OP_EQ: "TRUTH({0}=={1})",
    ca.OP_NE: "TRUTH({0}!={1})",
    ca.OP_NOT: "TRUTH({0}==K(0.))",
    ca.OP_AND: "TRUTH(({0}!=K(0.))&({1}!=K(0.)))",
    ca.OP_OR: "TRUTH(({0}!=K(0.))|({1}!=K(0.)))",
    ca.OP_IF_ELSE_ZERO: "WHERE({0}!=K(0.),{1})",
}
"""Operations that are written out."""

CALLED: Mapping[int, tuple[str, int]] = {
    ca.OP_EXP: ("exp", 1),
    ca.OP_LOG: ("log", 1),
    ca.OP_POW: ("pow", 2),
    ca.OP_CONSTPOW: ("pow", 2),
    ca.OP_TAN: ("tan", 1),
    ca.OP_ASIN: ("asin", 1),
    ca.OP_ACOS: ("acos", 1),
    ca.OP_ATAN: ("atan", 1),
    ca.OP_FLOOR: ("floor", 1),
    ca.OP_CEIL: ("ceil", 1),
    ca.OP_FMOD: ("fmod", 2),
    ca.OP_REMAINDER: ("remainder", 2),
    ca.OP_ERF: ("erf", 1),
    ca.OP_SINH: ("sinh", 1),
    ca.OP_COSH: ("cosh", 1),
    ca.OP_TANH: ("tanh", 1),
    ca.OP_ASINH: ("asinh", 1),
    ca.OP_ACOSH: ("acosh", 1),
    ca.OP_ATANH: ("atanh", 1),
    ca.OP_ATAN2: ("atan2", 2),
    ca.OP_LOG1P: ("log1p", 1),
    ca.OP_EXPM1: ("expm1", 1),
    ca.OP_HYPOT: ("hypot", 2),
}
"""Operations that the C library computes, number by number, and how many operands each has."""
