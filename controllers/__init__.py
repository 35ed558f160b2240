"""Controllers: a robot and a program give a force."""

from .controller import Controller, Law
from .program import Program
from .program_controller import ProgramController, Solution
from .start import start_on
from .status import Status

__all__ = ["Controller", "Law", "Program", "ProgramController", "Solution", "Status", "start_on"]
