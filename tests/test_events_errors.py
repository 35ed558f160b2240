"""What is no event, no mode or no jump is refused, with its name."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import pytest

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Contact, Robot, lagrangian_system, with_contacts
from erugin.simulation import Event, Jump, Mode, Rebound, StateMap, Strike, simulate_hybrid
from erugin.symbolic import ModelError, ParameterError, Parameters

from .phased import clock
from .wrapped import rail

X = clock().q[0]
FOOT = Contact("tip", (0.0, 1.0))


@functools.cache
def tipped() -> Robot:
    """A rail whose mass is a point of the plane."""
    return dataclasses.replace(rail(), points={"tip": ca.vertcat(rail().q, rail().q)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Event(clock().q[0] * ca.SX.ones(2), None), "'event' needs a scalar expression"),
        (lambda: Event(3.0, None), r"scalar expression that passes through zero, got 3\.0"),  # type: ignore[arg-type]
        (lambda: Event(X, None, "up"), "must be one of 'rising', 'falling', got 'up'"),  # type: ignore[arg-type]
        (lambda: Event(X, "on", jump=0.8), "needs a Jump, such as Rebound"),  # type: ignore[arg-type]
        (lambda: Event(X, None, jump=StateMap(q=X)), "so it can have neither jump nor zeno"),
        (lambda: Event(X, "", name="end"), "to of event 'end' must be the name of a mode"),
        (lambda: Mode(events=(3,)), "what ends a mode must be an Event, got 3"),  # type: ignore[arg-type]
        (lambda: Mode(events=None), "an Event or a list of them, got None"),  # type: ignore[arg-type]
        (lambda: Mode(contacts=3), "contacts must be a list of Contact, got 3"),  # type: ignore[arg-type]
        (lambda: Mode(velocities="consistent"), "program of a ProgramController only"),
        (lambda: Rebound(X, 1.5), "between 0 and 1, got 1.5"),
        (lambda: Rebound(X, "a"), "restitution of 'rebound' must be a number"),  # type: ignore[arg-type]
        (lambda: Rebound(X, ca.vertcat(X, X)), "restitution of 'rebound' must be a number or a scalar"),
        (lambda: Rebound(3.0), r"gap of 'rebound' must be a scalar expression, got 3\.0"),  # type: ignore[arg-type]
        (lambda: Rebound(X, name=""), "name of a Rebound must be text"),
        (lambda: StateMap(), "maps nothing: give q=, v= or both"),
        (lambda: Strike(3, []), "needs a Robot with its contacts on"),  # type: ignore[arg-type]
        (lambda: Strike(tipped(), []), "needs at least one contact"),
        (lambda: Strike(tipped(), [FOOT]), "'tip' is not on"),
        (
            lambda: Strike(with_contacts(tipped(), [FOOT]), [FOOT], 2.0),
            "restitution of a Strike must be a number between",
        ),
        (lambda: run({}), "needs modes by name"),
        (lambda: run({"on": 3}), "made of modes by name, got 'on': 3"),
        (lambda: run({"on": Mode(events=(Event(X, "of"),))}), "leads to no mode there is: unknown mode 'of'"),
        (lambda: run({"on": Mode(events=(Event(X, "on", zeno="of"),))}), "settles in no mode there is"),
        (lambda: run({"off": Mode()}), "unknown mode to start in 'on'"),
        (lambda: run({"on": Mode(events=(Event(ca.SX.sym("w"), None, name="e"),))}), "mode 'on': event 'e' uses w"),
        (lambda: run({"on": Mode(events=(Event(rail().q[0], None),))}), "mode 'on': event 'event' uses x"),
        (lambda: run(of_another_model()), "mode 'on': event 'heavy' uses m"),
        (
            lambda: run({"on": Mode(events=(Event(clock().coordinates.a, None),))}),
            "not inputs or accelerations",
        ),
        (lambda: run({"on": Mode(robot=rail())}), "must have the coordinates of clock"),
    ],
)
def test_bad_modes_and_events_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def of_another_model() -> dict[str, Mode]:
    """The plant has a mass as well; that of the law's model is not the one to look at."""
    mass, x, v = Parameters.declare({"m": 2.0}), ca.SX.sym("x"), ca.SX.sym("v")
    model = lagrangian_system(q=x, v=v, p=mass, T=mass["m"] * v**2 / 2, name="model")
    law = ProgramController(Program(model, holonomic(x, name="hold")))
    plant = dataclasses.replace(clock(), parameters=Parameters.declare({"m": 2.0}))
    return {"on": Mode(law, (Event(model.p[0] - X, None, name="heavy"),), robot=plant)}


def run(modes: Any) -> object:  # noqa: ANN401 - some of them are none
    return simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="on", step=0.1)


@pytest.mark.parametrize(
    ("jump", "message"),
    [
        (lambda: Rebound(clock().t, 0.5), "the gap of 'rebound' must be an expression in coordinates"),
        (lambda: Rebound(X, X), "restitution of 'rebound' must be a number or an expression in parameters"),
        (lambda: Rebound(X, ca.SX.sym("w")), "restitution of 'rebound' uses w"),
        (lambda: Strike(with_contacts(tipped(), [FOOT]), [FOOT]), "a Strike needs clock with contacts on"),
        (lambda: StateMap(q=ca.vertcat(X, X)), r"needs q of shape \(1,\) as SX"),
        (lambda: StateMap(v=[2.0]), r"needs v of shape \(1,\) as SX, got \[2\.0\]"),  # type: ignore[arg-type]
        (lambda: StateMap(v=ca.SX.sym("w")), "v of a StateMap uses w"),
        (lambda: StateMap(v=clock().coordinates.a), "may use time, coordinates, velocities and parameters"),
    ],
)
def test_a_jump_that_does_not_fit_is_refused_before_anything_moves(jump: Callable[[], Jump], message: str) -> None:
    with pytest.raises(ModelError, match="mode 'on': event 'e': .*" + message):
        run({"on": Mode(events=(Event(clock().t - 9.0, "on", jump=jump(), name="e"),))})


def test_numbers_and_names_are_looked_at_before_anything_moves() -> None:
    given: dict[str, Any] = {"start": "on", "step": 0.1}
    wrongs: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"p": {"m": 1.0}}, ParameterError, "^unknown parameter 'm'"),
        ({"step": "a"}, ModelError, "step must be a number, got 'a'"),
        ({"start": None}, ModelError, "start must be the name of a mode, got None"),
        ({"switches": 0}, ModelError, "switches must be a whole number of at least 1"),
        ({"shortest": -1.0}, ModelError, "shortest must be greater than zero"),
    ]
    for wrong, error, message in wrongs:
        with pytest.raises(error, match=message):
            simulate_hybrid(clock(), {"on": Mode()}, [0.0], [0.0], 1.0, **(given | wrong))
