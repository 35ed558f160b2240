"""Elements of MJCF, with numbers written so that they are read back as they were."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..names import xml_text

Value = str | float | NDArray[np.float64] | tuple[float, ...]


class Element:
    """An element with attributes and children.

    Attributes:
        node: as it is written.
    """

    def __init__(self, tag: str, **attributes: Value) -> None:
        """Make one.

        Args:
            tag: its name.
            attributes: words or numbers.
        """
        self.node = ET.Element(tag, {key: _written(value) for key, value in attributes.items()})

    def add(self, tag: str, **attributes: Value) -> Element:
        """A new child.

        Args:
            tag: its name.
            attributes: words or numbers.
        """
        child = Element(tag, **attributes)
        self.node.append(child.node)
        return child

    def extend(self, children: Iterable[Element]) -> None:
        """Put elements in.

        Args:
            children: the elements.
        """
        self.node.extend(child.node for child in children)


def to_text(root: Element) -> str:
    """The document.

    Args:
        root: its root element.
    """
    return xml_text(root.node) + "\n"


def quaternion(R: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternion (w, x, y, z) of a rotation, shape (4,).

    Args:
        R: shape (3, 3).
    """
    # The largest of the four squares is taken, so that nothing cancels.
    trace = float(np.trace(R))
    squares = np.array([trace, *(2.0 * np.diag(R) - trace)])
    k = int(np.argmax(squares))
    if k == 0:
        e = np.array([1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = k - 1, k % 3, (k + 1) % 3
        e = np.zeros(4)
        e[0] = R[m, j] - R[j, m]
        e[1 + i] = 1.0 + squares[k]
        e[1 + j] = R[j, i] + R[i, j]
        e[1 + m] = R[m, i] + R[i, m]
    return np.asarray(e / np.linalg.norm(e))


def turn_of(R: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Attributes of a frame that is turned; none if it is not.

    Args:
        R: rotation, shape (3, 3).
    """
    return {} if np.array_equal(R, np.eye(3)) else {"quat": quaternion(R)}


def _written(value: Value) -> str:
    if isinstance(value, str):
        return value
    return " ".join(_number(float(x)) for x in np.ravel(np.asarray(value)))


def _number(x: float) -> str:
    return repr(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)
