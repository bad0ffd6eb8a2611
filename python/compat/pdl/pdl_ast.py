# SPDX-License-Identifier: Apache-2.0
"""Programs as Python objects. The classes of blocks are made from `pdl dump --table`, which the build leaves in _table.json."""
from __future__ import annotations

import json
import keyword
import pathlib
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Callable, Optional, Union

from ._model import REQUIRED, Field, Model, RootModel, model, wrong
from .pdl_context import PDLContext
from .pdl_lazy import PdlLazy

_TABLE = json.loads((pathlib.Path(__file__).parent / "_table.json").read_text("utf-8"))
_ROWS = {row["kind"]: row for row in _TABLE["blocks"] if row["class"]}


class StrEnum(str, Enum):
    """A text with a name."""

    def __str__(self) -> str:
        return str(self.value)


BlockKind = StrEnum("BlockKind", {kind.upper(): kind for kind in _ROWS})  # type: ignore[misc]
ContributeTarget = StrEnum("ContributeTarget", {w.upper(): w for w in ("result", "context", "stdout", "stderr")})  # type: ignore[misc]
IndependentEnum = StrEnum("IndependentEnum", {w.upper(): w for w in ("independent", "dependent")})  # type: ignore[misc]
ModelPlatform = StrEnum("ModelPlatform", {  # type: ignore[misc]
    form["value"].upper().replace("-", ""): form["value"] for form in _TABLE["forms"] if form["kind"] == "model"})


# --- errors


class PDLException(Exception):
    def __init__(self, message: Any) -> None:
        super().__init__(message)
        self.message = message


class PDLRuntimeError(PDLException):
    def __init__(self, message: str, loc: Optional["PdlLocationType"] = None, trace: Any = None, fallback: Any = None) -> None:
        super().__init__(message)
        self.loc = loc
        self.pdl__trace = trace
        self.fallback = fallback
        self.source_exception: Optional[BaseException] = None


class PDLRuntimeExpressionError(PDLRuntimeError):
    """An expression failed."""


class PDLRuntimeParserError(PDLRuntimeError):
    """Text could not be parsed."""


class PDLRuntimeProcessBlocksError(PDLException):
    def __init__(self, message: str, blocks: list[Any], loc: Any = None, fallback: Any = None) -> None:
        super().__init__(message)
        self.loc, self.blocks, self.fallback = loc, blocks, fallback


# --- content of fields

PdlLocationType = model("PdlLocationType", "path", "file", "table", doc="A place: the fields that lead to it, and the lines of all fields.")
LocalizedExpression = model("LocalizedExpression", "pdl__expr", Field("pdl__result", None), Field("pdl__location", None),
                            doc="An expression with what it gave.")
PdlTiming = model("PdlTiming", Field("start_nanos", 0), Field("end_nanos", 0), Field("first_use_nanos", 0), Field("timezone", ""))
PdlUsage = model("PdlUsage", Field("model_calls", 0), Field("completion_tokens", 0), Field("prompt_tokens", 0))
empty_block_location = PdlLocationType(file="", path=[], table={})

Pattern = model("Pattern", Field("def_", None, "def"))
OrPattern = model("OrPattern", Field("anyOf", make=lambda v: [_pattern(p) for p in v]), base=Pattern)
ArrayPattern = model("ArrayPattern", Field("array", make=lambda v: [_pattern(p) for p in v]), base=Pattern)
ObjectPattern = model("ObjectPattern", Field("object", make=lambda v: {k: _pattern(p) for k, p in v.items()}), base=Pattern)
AnyPattern = model("AnyPattern", "any", base=Pattern)
MatchCase = model("MatchCase", Field("case", None, make=lambda v: _pattern(v)), Field("if_", None, "if", lambda v: _expression(v)),
                  Field("then", make=lambda v: _block(v)), Field("pdl__case_result", None), Field("pdl__if_result", None),
                  Field("pdl__matched", None))

PdlType = model("PdlType")
OptionalPdlType = model("OptionalPdlType", Field("optional", make=lambda v: _type(v)), base=PdlType)
JsonSchemaTypePdlType = model("JsonSchemaTypePdlType", "type", base=PdlType, extra=True)
EnumPdlType = model("EnumPdlType", "enum", base=PdlType, extra=True)
ObjectPdlType = model("ObjectPdlType", Field("object", make=lambda v: _each(_type, v)), base=PdlType)

Parser = model("Parser", Field("description", None), Field("spec", None, make=lambda v: _type(v)))
PdlParser = model("PdlParser", Field("pdl", make=lambda v: _block(v)), base=Parser)
RegexParser = model("RegexParser", "regex", Field("mode", "fullmatch", make=lambda v: _lower(v)), base=Parser)

ContributeValue = model("ContributeValue", Field("value", make=lambda v: _expression(v)))
ExpectationType = model("ExpectationType", Field("expect", make=lambda v: _expression(v)),
                        Field("feedback", None, make=lambda v: _block(v) if _is_block(v) else _expression(v)))

JoinConfig = model("JoinConfig")
JoinText = model("JoinText", Field("as_", "text", "as"), Field("with_", "", "with"), base=JoinConfig)
JoinArray = model("JoinArray", Field("as_", "array", "as"), base=JoinConfig)
JoinObject = model("JoinObject", Field("as_", "object", "as"), base=JoinConfig)
JoinLastOf = model("JoinLastOf", Field("as_", "lastOf", "as"), base=JoinConfig)
JoinReduce = model("JoinReduce", Field("as_", "reduce", "as"), Field("reduce", make=lambda v: _expression(v)), base=JoinConfig)

LitellmParameters = model("LitellmParameters", extra=True, doc="Parameters of a model call; all are passed on.")
GraniteioProcessor = model("GraniteioProcessor", Field("type", None), Field("model", None), "backend")


def _record(name: str, record: str, **defaults: Any) -> Any:
    rows = [row for row in _TABLE["records"] if row["record"] == record]
    return model(name, *(Field(row["key"], REQUIRED if row["need"] == "REQ" else defaults.get(row["key"]), doc=row["doc"]) for row in rows))


RetryConfiguration, BudgetType = _record("RetryConfiguration", "retry"), _record("BudgetType", "budget")
FileAggregatorConfig = _record("FileAggregatorConfig", "aggregator", mode="w", encoding="utf-8", prefix="", suffix="\n", flush=False)
AggregatorConfig = Model


# --- data to the content of fields: a function for each type of field in the table


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _each(make: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: make(v) for k, v in value.items()}
    return [make(v) for v in value] if isinstance(value, (list, tuple)) else value


def _expression(value: Any) -> Any:
    return LocalizedExpression(**value) if isinstance(value, dict) and "pdl__expr" in value else value


def _expressions(value: Any) -> Any:
    return _each(_expression, value) if isinstance(_expression(value), (list, dict)) else _expression(value)


def _is_block(value: Any) -> bool:
    return isinstance(value, Model) or (isinstance(value, dict) and "pdl__expr" not in value)


def _pattern(value: Any) -> Any:
    for cls, key in ((OrPattern, "anyOf"), (ArrayPattern, "array"), (ObjectPattern, "object"), (AnyPattern, "any")):
        if isinstance(value, dict) and key in value:
            return cls(**value)
    return value


def _type(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_type(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "enum" in value and isinstance(value["enum"], list):
        return EnumPdlType(**value)
    if set(value) == {"optional"}:
        return OptionalPdlType(**value)
    if "type" in value and (set(value) != {"type"} or _is_type_name(value["type"])):
        return JsonSchemaTypePdlType(**value)
    if set(value) == {"object"} and isinstance(value["object"], dict):
        return ObjectPdlType(**value)
    return _each(_type, value)


def _is_type_name(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))


class _TypeAdapter:
    """A type adapter, whose validate_python(data) returns the type that the data describe."""

    def validate_python(self, value: Any) -> Any:
        from . import _run
        _, problems = _run.read({"data": None, "raw": True, "spec": value, "fallback": ""})
        if problems:
            raise wrong("PdlTypeType", *problems)
        return _type(value)


pdl_type_adapter = _TypeAdapter()


def _join(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "reduce" in value:
        return JoinReduce(**value)
    return {"array": JoinArray, "object": JoinObject, "lastOf": JoinLastOf}.get(value.get("as", "text"), JoinText)(**value)


def _parser(value: Any) -> Any:
    if not isinstance(value, dict):
        return _lower(value)
    return PdlParser(**value) if "pdl" in value else RegexParser(**value)


def _target(value: Any) -> Any:
    if isinstance(value, dict):
        return {_target(k): ContributeValue.model_validate(v) for k, v in value.items()}
    return ContributeTarget(value) if value in [t.value for t in ContributeTarget] else value


def _block(value: Any) -> Any:
    """Makes a block from data in any of the forms in which a block can be written."""
    if value is None or isinstance(value, (bool, int, float, str, Model)):
        return value
    if not isinstance(value, dict) or not all(isinstance(k, str) for k in value):
        raise wrong("BlockType", "%r should be an object" % (value,))
    return _class_of(value)(**value)


def _class_of(value: dict[str, Any]) -> Any:
    kind, _ = kind_of(value)
    if kind is None:
        if any(key in value for key in ("def", "defs")) or not value:
            kind = "empty"
        else:
            unknown = [key for key in value if key not in Block.by_key]
            raise wrong("BlockType", *("Field not allowed: %s" % key for key in unknown or value))
    forms = [form for form in _TABLE["forms"] if form["kind"] == kind]
    for form in forms:
        tag = _lower(value.get(form["tag"]))
        if not any(key in value for key in form["without"]) and all(key in value for key in form["with"]) and \
                (tag is None or tag == form["value"]):
            return globals()[form["class"]]
    if kind not in _ROWS:
        raise wrong("BlockType", "there is no kind of block %r" % kind)
    return globals()[(forms or [_ROWS[kind]])[0]["class"]]


def _retry(value: Any) -> Any:
    return RetryConfiguration(**value) if isinstance(value, dict) and "pdl__expr" not in value else _expression(value)


def kind_of(value: dict[str, Any]) -> tuple[Optional[str], Optional[dict[str, Any]]]:
    """Returns the kind of a block, and its row of the table. The fields of the block determine the kind. When they determine none, returns None for
    both."""
    kind = value.get("kind") or next((k for key, k in _SELECTING if key in value), None)
    return kind, _ROWS.get(kind)


_SELECTING = [(field["key"], row["kind"]) for row in _TABLE["blocks"] for field in row["fields"] if field.get("selects")]
OWN_KEYS = {field["key"] for row in _TABLE["blocks"] for field in row["fields"]}
# Fields that contain blocks: (kind, or None for all kinds, and key) -> type of the field.
BLOCKS_IN = {(row["kind"], field["key"]): field["type"] for row in _TABLE["blocks"] for field in row["fields"]
             if field["type"] in ("BLOCK", "BLOCKS", "TEXTS", "FIELDS", "CASES")}
BLOCKS_IN.update({(None, field["key"]): field["type"] for field in _TABLE["common"] if field["type"] in ("BLOCK", "DEFS")})
_MAKE: dict[str, Optional[Callable[[Any], Any]]] = {
    "EXPR": _expression, "XBOOL": _expression, "XINT": _expression, "XNUM": _expression, "XSTR": _expression,
    "XDICT": _expression, "ARGV": _expressions, "FORS": _expressions, "FLAG": _expression,
    "BLOCK": _block, "BLOCKS": lambda v: [_block(b) for b in v], "FIELDS": lambda v: _each(_block, v),
    "TEXTS": lambda v: [_block(b) for b in v] if isinstance(v, (list, tuple)) else _block(v),
    "DEFS": lambda v: _each(_block, v), "TYPE": _type, "PARAMS": lambda v: _each(_type, v), "JOIN": _join,
    "CASES": lambda v: [MatchCase.model_validate(c) for c in v], "CTX": lambda v: IndependentEnum(v), "RETRY": _retry,
    "CONTRIBUTE": lambda v: [_target(t) for t in v], "PARSER": _parser,
    "AGG": lambda v: FileAggregatorConfig(**v) if isinstance(v, dict) else v,
    "BUDGET": lambda v: BudgetType(**v) if isinstance(v, dict) else v,
    "EXPECTATIONS": lambda v: [ExpectationType.model_validate(e) for e in v],
}
_COMMON_DEFAULTS = {"DEFS": {}, "EXPECTATIONS": [], "CONTRIBUTE": [ContributeTarget("result"), ContributeTarget("context")],
                    "CTX": IndependentEnum("dependent")}
_PLAIN_DEFAULTS = {"raw": False, "resample": True, "structuredDecoding": True}
_NAMES = {"if": "condition", "match": "match_", "pdl__usage": "pdl__usage"}
_TRACE: dict[str, tuple[Any, Optional[Callable[[Any], Any]]]] = {
    "pdl__id": ("", None), "pdl__context": ([], None), "pdl__trace": (None, lambda v: _each(_block, v) if isinstance(v, list) else _block(v)),
    "pdl__calls": (None, lambda v: v and _each(_block, v)),
    "pdl__usage": (None, lambda v: PdlUsage(**v) if isinstance(v, dict) else v),
    "pdl__timing": (None, lambda v: PdlTiming(**v) if isinstance(v, dict) else v),
    "pdl__location": (None, lambda v: PdlLocationType(**v) if isinstance(v, dict) else v)}


def _field(row: dict[str, Any]) -> Field:
    key, kind, make = row["key"], row["type"], _MAKE.get(row["type"])
    default: Any = REQUIRED
    if row["need"] not in ("REQ", "NUL"):
        default = row.get("default", _COMMON_DEFAULTS.get(kind, _PLAIN_DEFAULTS.get(key)))
        default = make(default) if make is not None and "default" in row else default
    name = _NAMES.get(key, key + "_" if keyword.iskeyword(key) else key)
    return Field(name, default, key, make and (lambda v: v if v is None and kind != "BLOCK" else make(v)), row["doc"])


def _trace_fields(kind: Optional[str]) -> list[Field]:
    return [Field(row["key"], *_TRACE.get(row["key"], (None, None))[:1], make=_TRACE.get(row["key"], (None, None))[1])
            for row in _TABLE["trace"] if row["key"] != "pdl__is_leaf" and ((row["kinds"] is None) if kind is None else kind in (row["kinds"] or ()))]


Block = model("Block", *(_field(row) for row in _TABLE["common"] if row["type"] != "CTX"), *_trace_fields(None),
              doc="The fields of all blocks.")
LeafBlock = model("LeafBlock", Field("pdl__is_leaf", True), base=Block)
StructuredBlock = model("StructuredBlock", Field("pdl__is_leaf", False), *(_field(row) for row in _TABLE["common"] if row["type"] == "CTX"),
                        base=Block)
ModelBlock, BaseCodeBlock = model("ModelBlock", base=LeafBlock), model("BaseCodeBlock", base=LeafBlock)
CodeBlock = model("CodeBlock", base=BaseCodeBlock)


def _make_class(name: str, row: dict[str, Any], form: Optional[dict[str, Any]] = None) -> Any:
    fields = [Field("kind", BlockKind(row["kind"]), make=BlockKind)]
    fields += [_field({**f, "need": "REQ"} if form and f["key"] in form["with"] and f["key"] not in (form["tag"],) else f)
               for f in row["fields"] if f["need"] != "OLD" and not (form and f["key"] in form["without"])]
    base = LeafBlock if row["leaf"] else StructuredBlock
    if form:
        tag: Callable[[Any], Any] = ModelPlatform if form["kind"] == "model" else _lower
        fields = [Field(f.name, tag(form["value"]), f.key, tag, f.doc) if f.key == form["tag"] else f for f in fields]
        base = ModelBlock if form["kind"] == "model" else CodeBlock if form["with"] != ["args"] else BaseCodeBlock
    return model(name, *fields, *_trace_fields(row["kind"]), base=base, doc=row["doc"])


for _kind, _row in _ROWS.items():
    _forms = [form for form in _TABLE["forms"] if form["kind"] == _kind]
    for _form in _forms:
        globals()[_form["class"]] = _make_class(_form["class"], _row, _form)
    if not _forms:
        globals()[_row["class"]] = _make_class(_row["class"], _row)


class Program(RootModel):
    """A whole program. Its block is `root`."""

    FIELDS = (Field("root", make=_block),)
    _source: Any = None  # the text from which the program was read, a _run.Source

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Any:
        from . import _run
        if not isinstance(obj, (cls, Model)):
            obj, problems = _run.read(obj)
            if problems:
                raise wrong(cls.__name__, *problems)
        return super().model_validate(obj, **options)

    @classmethod
    def model_json_schema(cls, **options: Any) -> dict[str, Any]:
        import libpdl
        return libpdl.schema()


class PdlBlock(Program):
    pass


# --- names of types, for annotations

class Alias:
    """A union of types, one of which is selected by a tag. __value__ is like the attribute of `type X = ...` in later Pythons, and uses
    pydantic's classes when pydantic is imported."""

    def __init__(self, tag_of: Callable[[Any], Any], members: dict[Any, Any]) -> None:
        words = sys.modules.get("pydantic")
        tag, discriminator = (words.Tag, words.Discriminator) if words else (str, lambda f: f)
        self.__value__ = Annotated[Union[tuple(Annotated[t, tag(k)] for k, t in members.items())], discriminator(tag_of)]  # type: ignore

    def __call__(self) -> None:  # only a callable may be used in Optional[...]
        raise TypeError("a name of a type makes no values")


def _tag_of(value: Any) -> Any:
    if isinstance(value, Block):
        return value.kind  # type: ignore[attr-defined]
    return BlockKind(kind_of(value)[0] or "empty") if isinstance(value, dict) else "expression"


def __getattr__(name: str) -> Any:
    """Makes BlockType, ModelBlockType and CodeBlockType when they are first used, since pydantic may be imported later
    than this module."""
    kinds = {"ModelBlockType": BlockKind("model"), "CodeBlockType": BlockKind("code")}
    if name in kinds:
        return Alias(lambda v: (type(v) if isinstance(v, Block) else _class_of(v)).__name__,
                     {cls.__name__: cls for cls in _CLASSES if cls.by_key["kind"].default == kinds[name]})
    if name != "BlockType":
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    return Alias(_tag_of, {**{cls.by_key["kind"].default: cls for cls in _CLASSES},
                           **{kind: __getattr__(shared) for shared, kind in kinds.items()}, "expression": ExpressionBlock})


_CLASSES = [cls for cls in list(globals().values()) if isinstance(cls, type) and issubclass(cls, Block) and "kind" in cls.by_key]
ExpressionBlock, AdvancedBlockType = Union[None, bool, int, float, str], Union[tuple(_CLASSES)]
LeafBlockType, StructuredBlockType = (Union[tuple(c for c in _CLASSES if issubclass(c, base))] for base in (LeafBlock, StructuredBlock))
PdlTypeType, PatternType = Union[None, str, PdlType, list, dict], Union[None, bool, int, float, str, Pattern]
ParserType, JoinType = Union[str, PdlParser, RegexParser], Union[JoinText, JoinArray, JoinObject, JoinLastOf, JoinReduce]
ContributeElement, AggregatorType = Union[ContributeTarget, str, dict], Union[str, FileAggregatorConfig]
RoleType, ModelInput, LazyMessage, LazyMessages = Optional[str], Sequence[Mapping[str, Any]], PdlLazy, PDLContext
for _name in ("Str Int Bool BoolOrStr Any BlockType ParserType ModelInput PdlLocationType PdlTiming PdlUsage ExpressionStr ExpressionInt "
              "ExpressionBool ExpressionList ExpressionDictStr").split():
    globals()["Optional" + _name] = Any
for _name in "Type Str Int Bool List DictStr".split():
    globals()["Expression" + _name] = Any
BlockOrBlocksType = ExpectationsType = BasePdlType = Any


def get_default_model_parameters() -> list[dict[str, Any]]:
    """Returns the default parameters of models: [{glob of names: {parameter: value}}]."""
    from . import _run
    defaults: list[dict[str, Any]] = _run.value_of({"data": "${ pdl_model_default_parameters }"})
    return defaults


def get_sampling_defaults() -> list[dict[str, Any]]:
    """Returns the parameters that are added for models that sample."""
    return [{"*": {"temperature": 0.7, "top_k": 50, "top_p": 0.85}}]
