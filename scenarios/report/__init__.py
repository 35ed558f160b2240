"""Pages about studies that can be read without a network."""

from .report import report, write_report

__all__ = ["report", "write_report"]
