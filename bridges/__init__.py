"""Interfaces to other simulators and formats, one package each, imported when it is used.

``export``, ``load``, ``drive``, ``simulate`` and ``match`` mean the same in each package that has them.
``common`` contains the code that several of them share; ``cross_check`` runs the same closed loop in all of them.
"""
