"""The files modelDescription.xml of FMI 2.0 and 3.0, and buildDescription.xml."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ...symbolic.parameters import Range
from ..common.name_matching import INVALID_XML_CHARACTER
from .fmu_model import FmuModel, Variable
from .unit_definitions import Unit

Attributes = Mapping[str, str | float | None]
CATEGORIES = {
    "logStatusError": "a call is not allowed, or a step failed",
    "logStatusDiscard": "the equations have no value at a point that a solver tried",
}
MIN_NORMAL = sys.float_info.min
"""Smallest positive normal number, the lower bound of positive parameters."""
BOUNDS: Mapping[Range, tuple[float | None, float | None]] = {
    Range.ANY: (None, None),
    Range.POSITIVE: (MIN_NORMAL, None),
    Range.NOT_NEGATIVE: (0.0, None),
    Range.SIGN: (-1.0, 1.0),
    Range.SIGN_OR_ZERO: (-1.0, 1.0),
}


def description_2(block: FmuModel, token: str, tool: str, unit: str) -> str:
    """Return modelDescription.xml of FMI 2.0.

    Args:
        block: model of the FMU.
        token: identifier shared by binary and description.
        tool: name of the generating tool.
        unit: name of the C file that is compiled.
    """
    root = Element("fmiModelDescription", _text({"fmiVersion": "2.0", **_about(block, tool), "guid": token}))
    ability = {
        "modelIdentifier": block.name,
        "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
    }
    more = {"CoSimulation": {"canHandleVariableCommunicationStepSize": "true"}}
    if block.exchange:
        more = {"ModelExchange": {"completedIntegratorStepNotNeeded": "true"}, **more}
    for kind, own in more.items():
        SubElement(SubElement(_add(root, kind, {**ability, **own}), "SourceFiles"), "File", {"name": unit})
    _common(root, block)
    variables = SubElement(root, "ModelVariables")
    for reference, variable in enumerate(block.variables):
        attributes = _role(block, reference, variable)
        number = {key: attributes.pop(key, None) for key in ("unit", "start", "min", "max", "derivative")}
        if number["derivative"] is not None:
            number["derivative"] = str(int(number["derivative"]) + 1)
        scalar = _add(variables, "ScalarVariable", attributes)
        _add(scalar, "Real", number)
    structure = SubElement(root, "ModelStructure")
    outputs, initial = _outputs(block), _initial(block)
    for kind, references in (("Outputs", outputs), ("Derivatives", _derivatives(block)), ("InitialUnknowns", initial)):
        if references:
            part = SubElement(structure, kind)
            for reference in references:
                on = None if kind == "InitialUnknowns" else _depends(block, reference, parameters=False)
                indices = None if on is None else " ".join(str(other + 1) for other in on)
                _add(part, "Unknown", {"index": str(reference + 1), "dependencies": indices})
    return _number_text(root)


def description_3(block: FmuModel, token: str, tool: str) -> str:
    """Return modelDescription.xml of FMI 3.0.

    Args:
        block: model of the FMU.
        token: identifier shared by binary and description.
        tool: name of the generating tool.
    """
    about = {"fmiVersion": "3.0", **_about(block, tool), "instantiationToken": token}
    root = Element("fmiModelDescription", _text(about))
    ability = {"modelIdentifier": block.name, "canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
    if block.exchange:
        _add(root, "ModelExchange", ability)
    fixed = {"fixedInternalStepSize": block.step} if block.states else {}
    _add(root, "CoSimulation", {**ability, "canHandleVariableCommunicationStepSize": "true", **fixed})
    _common(root, block)
    variables = SubElement(root, "ModelVariables")
    for reference, variable in enumerate(block.variables):
        _add(variables, "Float64", _role(block, reference, variable))
    structure = SubElement(root, "ModelStructure")
    for kind, references in (("Output", _outputs(block)), ("ContinuousStateDerivative", _derivatives(block))):
        for reference in references:
            on = " ".join(map(str, _depends(block, reference, parameters=True)))
            SubElement(structure, kind, valueReference=str(reference), dependencies=on)
    for reference in _initial(block):
        SubElement(structure, "InitialUnknown", valueReference=str(reference))
    return _number_text(root)


def build_description(block: FmuModel, unit: str, macro: str) -> str:
    """Return sources/buildDescription.xml, of FMI 3.0 and from 2.0.4 on: how to build a shared library of the sources.

    Args:
        block: model of the FMU.
        unit: name of the C file that is compiled.
        macro: macro to be defined for it.
    """
    root = Element("fmiBuildDescription", fmiVersion="3.0")
    build = SubElement(root, "BuildConfiguration", modelIdentifier=block.name)
    sources = SubElement(build, "SourceFileSet", language="C99")
    SubElement(sources, "SourceFile", name=unit)
    SubElement(sources, "PreprocessorDefinition", name=macro)
    SubElement(build, "Library", name="m", external="true", description="mathematical functions of C")
    return _number_text(root)


def _about(block: FmuModel, tool: str) -> dict[str, str | float | None]:
    return {
        "modelName": block.name,
        "description": block.description,
        "generationTool": tool,
        "variableNamingConvention": "structured",
    }


def _common(root: Element, block: FmuModel) -> None:
    """Add units, categories of messages and the default experiment."""
    if block.units:
        units = SubElement(root, "UnitDefinitions")
        for unit in block.units:
            _add_unit(units, unit)
    categories = SubElement(root, "LogCategories")
    for name, description in CATEGORIES.items():
        SubElement(categories, "Category", name=name, description=description)
    _add(root, "DefaultExperiment", {"startTime": 0.0, "stopTime": block.duration, "stepSize": block.step})


def _add_unit(units: Element, unit: Unit) -> None:
    element = _add(units, "Unit", {"name": unit.name})
    if unit.exponents is not None:
        factor = {} if unit.factor == 1.0 else {"factor": unit.factor}
        _add(element, "BaseUnit", {**{base: str(n) for base, n in unit.exponents.items()}, **factor})


def _role(block: FmuModel, reference: int, variable: Variable) -> dict[str, str | float | None]:
    """Attributes of a variable, common to both versions, with value references for other variables."""
    unit = Unit.of(variable.unit)
    identity: dict[str, str | float | None] = {
        "name": variable.name,
        "valueReference": str(reference),
        "description": variable.description,
    }
    after_inputs = 1 + len(block.inputs)
    own: dict[str, str | float | None] = {"causality": "output", "variability": "continuous", "initial": "calculated"}
    if reference == 0:
        own = {"causality": "independent", "variability": "continuous"}
    elif reference < after_inputs:
        own = {"causality": "input", "variability": "continuous"}
    elif reference < block.first_state:
        own = {"causality": "parameter", "variability": "tunable", "initial": "exact"}
    elif reference < block.first_state + len(block.states):
        own["initial"] = "exact"
    elif reference < block.first_output:
        own["causality"] = "local"
        own["derivative"] = str(reference - len(block.states))
    least, most = BOUNDS[variable.allowed]
    return {
        **identity,
        **own,
        "unit": None if unit is None else unit.name,
        "min": least,
        "max": most,
        "start": variable.start,
    }


def _outputs(block: FmuModel) -> list[int]:
    states = range(block.first_state, block.first_state + len(block.states))
    return [*states, *range(block.first_output, len(block.variables))]


def _derivatives(block: FmuModel) -> list[int]:
    return list(range(block.first_state + len(block.states), block.first_output)) if block.exchange else []


def _initial(block: FmuModel) -> list[int]:
    return [*_derivatives(block), *range(block.first_output, len(block.variables))]


def _depends(block: FmuModel, reference: int, *, parameters: bool) -> tuple[int, ...]:
    """Value references of time, inputs and, in model exchange, states on which a variable depends.

    Args:
        block: model of the FMU.
        reference: value reference of the variable.
        parameters: True to include parameters, as FMI 3.0 requires and 2.0 does not allow.
    """
    states = range(block.first_state, block.first_state + len(block.states))
    on = (reference,) if reference in states else block.dependencies[reference]
    known = range(1 + len(block.inputs)), states if block.exchange else (), _parameters(block) if parameters else ()
    return tuple(other for other in on if any(other in group for group in known))


def _parameters(block: FmuModel) -> range:
    return range(1 + len(block.inputs), block.first_state)


def _add(parent: Element, name: str, attributes: Attributes) -> Element:
    return SubElement(parent, name, _text(attributes))


def _text(attributes: Attributes) -> dict[str, str]:
    return {
        key: _xml_safe(value) if isinstance(value, str) else repr(float(value))
        for key, value in attributes.items()
        if value is not None
    }


def _xml_safe(text: str) -> str:
    """Replace characters that XML cannot represent, such as control characters, by their codes."""
    return INVALID_XML_CHARACTER.sub(lambda found: f"U+{ord(found[0]):04X}", text)


def _number_text(root: Element) -> str:
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'
