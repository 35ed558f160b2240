class Unit:
    name: str
    baseUnit: BaseUnit | None

class BaseUnit:
    kg: int
    m: int
    s: int
    A: int
    rad: int
    factor: float

class LogCategory:
    name: str

class SimpleType:
    unit: str | None

class ScalarVariable:
    name: str
    valueReference: int
    causality: str
    variability: str
    initial: str | None
    unit: str | None
    declaredType: SimpleType | None
    start: str | None
    min: str | None
    max: str | None
    description: str | None
    derivative: ScalarVariable | None

class Unknown:
    variable: ScalarVariable
    dependencies: list[ScalarVariable] | None

class ModelDescription:
    logCategories: list[LogCategory]
    guid: str
    fmiVersion: str
    modelName: str
    modelVariables: list[ScalarVariable]
    unitDefinitions: list[Unit]
    outputs: list[Unknown]
    derivatives: list[Unknown]
    coSimulation: object | None
    modelExchange: object | None
