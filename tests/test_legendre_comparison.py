"""Which Legendre solver wins as a chain grows: what the paper claims, and what is measured."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from erugin.robots import Link
from erugin.robots.hamiltonian import LegendreRow, compare_legendre, fewest_multiplications
from erugin.symbolic import ModelError

ROD = Link(0.5, 1.0, 0.25, 1 / 48)
SIZES = (1, 2, 3, 4, 6, 12, 24)
EPSILON = 1e-3


@functools.cache
def rows() -> tuple[LegendreRow, ...]:
    return compare_legendre(SIZES, link=ROD, step=1e-3, steps=15, tolerance=EPSILON, angle=np.pi / 2, limit=4000)


def of(solver: str) -> dict[int, LegendreRow]:
    return {row.n: row for row in rows() if row.solver == solver}


def test_every_solver_has_a_row_for_every_length() -> None:
    solvers = {row.solver for row in rows()}
    assert solvers == {
        "Cholesky",
        "Factored",
        "ConjugateDirections",
        "MinimalResiduals, residual",
        "MinimalResiduals, step",
    }
    assert len(rows()) == 5 * len(SIZES)
    assert all(row.converged == 1.0 and row.seconds > 0.0 for row in rows())


def test_the_residual_condition_keeps_the_error_within_the_tolerance() -> None:
    for solver in ("ConjugateDirections", "MinimalResiduals, residual"):
        assert all(row.accurate for row in of(solver).values())
    for solver in ("Cholesky", "Factored"):
        assert all(row.error < 1e-12 for row in of(solver).values())


def test_the_condition_number_grows_with_the_square_of_the_length() -> None:
    condition = {n: row.condition for n, row in of("Cholesky").items()}
    assert condition[24] / condition[12] == pytest.approx(4.0, rel=0.1)
    assert condition[24] / 24**2 == pytest.approx(4.9, rel=0.05)


def test_minimal_residuals_need_as_many_steps_as_the_condition_number_grows() -> None:
    """So that they lose to conjugate directions at every length above two, by a factor that grows with n."""
    residuals, directions = of("MinimalResiduals, residual"), of("ConjugateDirections")
    assert residuals[24].iterations / residuals[12].iterations > 3.5
    assert directions[24].iterations / directions[12].iterations < 2.1
    ratios = [residuals[n].multiplications / directions[n].multiplications for n in SIZES[2:]]
    assert ratios[0] > 1.0
    assert ratios == sorted(ratios)
    assert ratios[-1] > 20.0


def test_the_claim_holds_only_where_the_last_step_is_taken_for_the_error() -> None:
    """By ‖ξ_{m+1} − ξ_m‖ ≤ ε minimal residuals take fewer multiplications on long chains, and miss by far."""
    by_step, directions = of("MinimalResiduals, step"), of("ConjugateDirections")
    ratios = [by_step[n].multiplications / directions[n].multiplications for n in (6, 12, 24)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] < 1.0
    assert by_step[24].error > 50 * EPSILON


def test_a_direct_method_wins_everywhere() -> None:
    winners = fewest_multiplications(rows())
    assert winners == {n: "Cholesky" if n < 6 else "Factored" for n in SIZES}


def test_elimination_along_the_chain_is_linear_in_its_length() -> None:
    taken = {n: row.multiplications for n, row in of("Factored").items()}
    assert all(taken[n] == 25 * n for n in SIZES)
    whole = {n: row.multiplications for n, row in of("Cholesky").items()}
    assert whole[24] / whole[12] > 5.0


def test_the_printed_formulas_are_given_beside_the_counts() -> None:
    directions, residuals = of("ConjugateDirections")[12], of("MinimalResiduals, residual")[12]
    assert directions.printed == 6 * 12**2 + 13 * 12
    assert residuals.printed == 12 * 12 + 16 * 12 * residuals.iterations
    assert residuals.printed is not None
    # 16 n N is an upper bound of what is counted; 6 n² is less than what conjugate directions take in n steps.
    assert 0.8 * residuals.printed < residuals.multiplications < residuals.printed
    assert directions.multiplications / directions.iterations > 14 * 12
    assert of("Cholesky")[12].printed is None


def test_extrapolation_spares_iterations_but_does_not_change_the_winner() -> None:
    line = compare_legendre([12], link=ROD, step=1e-3, steps=30, tolerance=1e-3, angle=np.pi / 2, start="extrapolated")
    last = of("MinimalResiduals, residual")[12]
    row = next(row for row in line if row.solver == last.solver)
    assert row.accurate
    assert row.iterations < 0.5 * last.iterations
    assert fewest_multiplications(line) == {12: "Factored"}


def test_bad_input_is_named() -> None:
    kwargs = {"link": ROD, "step": 1e-3, "steps": 2, "tolerance": 1e-3, "angle": 0.1}
    for change, message in (
        ({"steps": 0}, "at least one step, got 0"),
        ({"tolerance": 0.0}, "tolerance must be greater than zero"),
        ({"step": -1.0}, "step must be greater than zero"),
        ({"start": "cold"}, "start must be one of 'last', 'extrapolated', got 'cold'"),
        ({"angle": np.nan}, "angle must be finite"),
        ({"link": Link.point_mass(1.0, 1.0)}, "inertia of the link bounds the eigenvalues"),
    ):
        with pytest.raises(ModelError, match=message):
            compare_legendre([2], **{**kwargs, **change})  # type: ignore[arg-type]
