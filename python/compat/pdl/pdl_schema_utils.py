# SPDX-License-Identifier: Apache-2.0
"""Types of PDL as JSON Schema."""
from __future__ import annotations

import sys
import warnings
from typing import Any, Optional

from .pdl_ast import EnumPdlType, JsonSchemaTypePdlType, ObjectPdlType, OptionalPdlType

json_types_convert = {"null": None, "string": str, "boolean": bool, "integer": int, "number": float, "array": list, "object": dict,
                      "str": str, "bool": bool, "int": int, "float": float, "list": list, "obj": dict}
OLD_PDLTYPE_TO_JSONSCHEMA_NAME = {"bool": "boolean", "str": "string", "float": "number", "int": "integer", "list": "array", "obj": "object"}


def convert_to_json_type(a_type: Any) -> Optional[str]:
    return next((name for name, python in json_types_convert.items() if python == a_type), None)


def pdltype_to_jsonschema(pdl_type: Any, additional_properties: bool) -> dict[str, Any]:
    if pdl_type is None:
        return {}
    if isinstance(pdl_type, str) and pdl_type in json_types_convert:
        if (name := OLD_PDLTYPE_TO_JSONSCHEMA_NAME.get(pdl_type, pdl_type)) != pdl_type:
            print("Deprecated type syntax: use %s instead of %s." % (name, pdl_type), file=sys.stderr)
        return {"type": name}
    if isinstance(pdl_type, list) and len(pdl_type) == 1:
        return {"type": "array", "items": pdltype_to_jsonschema(pdl_type[0], additional_properties)}
    if isinstance(pdl_type, EnumPdlType):
        return {"enum": pdl_type.enum, **(pdl_type.model_extra or {})}
    if isinstance(pdl_type, JsonSchemaTypePdlType):
        return {"type": pdl_type.type, **(pdl_type.model_extra or {})}
    if isinstance(pdl_type, OptionalPdlType):
        return {"anyOf": [pdltype_to_jsonschema(pdl_type.optional, additional_properties), {"type": "null"}]}
    if isinstance(pdl_type, ObjectPdlType):
        return get_json_schema_object(pdl_type.object, additional_properties)
    if isinstance(pdl_type, dict):
        return get_json_schema_object(pdl_type, additional_properties)
    raise ValueError("invalid PDL type %s" % (pdl_type,))


def get_json_schema_object(pdl_props: dict[str, Any], additional_properties: bool) -> dict[str, Any]:
    inner = {name: t.optional if isinstance(t, OptionalPdlType) else t for name, t in pdl_props.items()}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: pdltype_to_jsonschema(t, additional_properties) for name, t in inner.items()},
        "required": [name for name, t in pdl_props.items() if not isinstance(t, OptionalPdlType)]}
    return schema if additional_properties else {**schema, "additionalProperties": False}


def get_json_schema(params: dict[str, Any], additional_properties: bool) -> Optional[dict[str, Any]]:
    try:
        return pdltype_to_jsonschema(ObjectPdlType(object=params), additional_properties)
    except ValueError as e:
        warnings.warn(str(e), stacklevel=2)
        return None
