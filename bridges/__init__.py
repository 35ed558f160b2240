"""The same robot and the same law in other simulators and formats, a package for each, imported when it is used.

``export``, ``load``, ``drive``, ``simulate`` and ``match`` mean the same in each package that has them.
"""
