"""Two-wheel robot: error against variation of the torques, for program control and Kanayama's law at several rates.

    python -m docs.studies.two_wheel_rates [--seeds 200]

Draws docs/pictures/comparison_two_wheel_rates.png, and prints its numbers; a quarter of a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from erugin.controllers import Controller
from erugin.controllers.baselines import Kanayama, PlanarMotion
from erugin.robots.examples import turtlebot3_burger
from erugin.scenarios import Comparison, compare
from erugin.views.style import new_figure, save_figure

from .disturbances import Impaired
from .two_wheel import EQUAL_EFFORT, ERRORS, SPEED, at_equal_effort, lemniscate, on_nose, two_wheel_robot

RATES = (1.0, 1.5, 2.0, 3.0, 4.0)
"""ω [1/s]; that of the published comparison is 1.5."""
KANAYAMA = "Kanayama"
LAWS: dict[str, Callable[[PlanarMotion, float], Controller]] = {
    "program control": on_nose,
    EQUAL_EFFORT: at_equal_effort,
    KANAYAMA: lambda motion, rate: Kanayama.critically_damped(motion, rate=rate, speed=SPEED),
}
AXES = {"variation": "median variation of the torques [N m]", "error_rms": "median error of the axle, rms [m]"}
OFFSETS = {"program control": ((9, 8), (70, 8)), EQUAL_EFFORT: ((-8, -9), (10, -80)), KANAYAMA: ((9, 8), (50, 8))}
"""Where the rates stand beside their markers, and the law beside its first one [points]."""
PICTURE = Path(__file__).resolve().parent.parent / "pictures/comparison_two_wheel_rates.png"


def trade_off(rates: Sequence[float] = RATES, seeds: int | Sequence[int] = 200) -> Comparison:
    """Compare the laws at each rate, under the starts, plants, forces and noise of the published comparison.

    Args:
        rates: ω [1/s].
        seeds: number of runs of each law at each rate, or their seeds.
    """
    setup = two_wheel_robot()
    motion = lemniscate(turtlebot3_burger(form="reduced"))

    def make(law: str, rate: float) -> Impaired:
        return Impaired(setup, lambda _: LAWS[law](motion, rate), ERRORS)

    laws = {name(law, rate): make(law, rate) for law in LAWS for rate in rates}
    return compare(setup, laws, seeds=seeds, metrics=["error_rms", "variation", "effort"], ticks=False)


def name(law: str, rate: float) -> str:
    """Name of a law at a rate.

    Args:
        law: name of the law.
        rate: ω [1/s].
    """
    return f"{law}, ω = {rate:g}/s"


def share_less(found: Comparison, metric: str, law: str, rate: float) -> float:
    """Share of the runs in which a law has less of a metric than Kanayama's law at the same rate.

    Args:
        found: the laws at each rate.
        metric: name of the metric.
        law: name of the law.
        rate: ω [1/s].
    """
    return float(np.mean(found.values(metric, name(law, rate)) < found.values(metric, name(KANAYAMA, rate))))


def draw(found: Comparison, rates: Sequence[float] = RATES, path: Path = PICTURE) -> None:
    """Draw a curve for each law, whose markers are its rates.

    Args:
        found: the laws at each rate.
        rates: ω [1/s].
        path: path of the picture.
    """
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots(subplot_kw={"xscale": "log", "yscale": "log"})
    for i, (law, (beside_markers, beside_first)) in enumerate(OFFSETS.items()):
        x, y = ([found.summary(metric, name(law, rate)).median.value for rate in rates] for metric in AXES)
        axes.plot(x, y, "o-", color=f"C{i}", markersize=4)
        texts = [*(f"{rate:g}" for rate in rates), law.replace(" at ", "\nat ")]
        places = [*zip(x, y, strict=True), (x[0], y[0])]
        offsets = [beside_markers] * len(rates) + [beside_first]
        for text, place, offset in zip(texts, places, offsets, strict=True):
            axes.annotate(text, place, offset, textcoords="offset points", ha="center", va="center", color=f"C{i}")
    for axis, label in zip((axes.xaxis, axes.yaxis), AXES.values(), strict=True):
        axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 4.0, 5.0)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
        axis.set_label_text(label)
    axes.set_title("numbers beside markers: rate ω [1/s]", fontsize=9)
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.margins(0.1)
    save_figure(figure, path)


def main() -> None:
    """Run the laws, draw them, and print a row for each law and rate."""
    parser = argparse.ArgumentParser(description="Program control and Kanayama's law at several rates.")
    parser.add_argument("--seeds", type=int, default=200)
    found = trade_off(seeds=parser.parse_args().seeds)
    draw(found)
    print("Medians; in brackets, share of the runs with less than Kanayama's law at the same ω.\n")
    print("| law |", *(f"{quantity.label} |" for quantity in found.quantities.values()))
    print("|---" * (1 + len(found.quantities)) + "|")
    for law in LAWS:
        for rate in RATES:
            cells = [f"{found.summary(metric, name(law, rate)).median.value:.3g}" for metric in found.quantities]
            if law != KANAYAMA:
                shares = (share_less(found, metric, law, rate) for metric in found.quantities)
                cells = [f"{cell} ({share:.1%})" for cell, share in zip(cells, shares, strict=True)]
            print(f"| {name(law, rate)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
