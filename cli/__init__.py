"""The command line, ``erugin``."""

__all__: list[str] = []
