/* schema.c -- see schema.h. Blocks come from blocks.def, common.def and records.def. The contents
 * of fields come from tables of schemas in a short form: ' means ", and @Name refers to a
 * definition.
 *
 * The schema is made and not stored, because a schema file beside the tables would be one more
 * place to change. The definitions have the names of the reference's schema, since editors and
 * tools refer to them by name. The text is read as JSON once it is complete, so that a wrong short
 * form fails at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/schema.h"

#include "lang/fields.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "yaml/profile.h"

#include "base/banned.h"

/* Definitions that are not blocks. */
static const struct {
    const char *name, *schema;
} helpers[] = {
    {"ExpressionBlock",
     "{'anyOf': [{'type': 'boolean'}, {'type': 'integer'}, {'type': 'number'}, {'type': "
     "'string'}, {'type': 'null'}]}"},
    {"RecordedExpression", "{'type': 'object', 'properties': {'pdl__expr': {}, 'pdl__result': {}, "
                           "'pdl__location': @OptionalPdlLocationType},"
                           " 'required': ['pdl__expr'], 'additionalProperties': false}"},
    {"ExpressionBool", "{'anyOf': [@RecordedExpression, {'type': 'boolean'}, {'type': 'string'}]}"},
    {"ExpressionInt", "{'anyOf': [@RecordedExpression, {'type': 'integer'}, {'type': 'string'}]}"},
    {"ExpressionFloat", "{'anyOf': [@RecordedExpression, {'type': 'number'}, {'type': 'string'}]}"},
    {"ExpressionStr", "{'anyOf': [@RecordedExpression, {'type': 'string'}]}"},
    {"ExpressionList", "{'anyOf': [@RecordedExpression, {'type': 'array'}, {'type': 'string'}]}"},
    {"ExpressionDictStr",
     "{'anyOf': [@RecordedExpression, {'type': 'object'}, {'type': 'string'}]}"},
    {"OptionalExpressionBool", "{'anyOf': [@ExpressionBool, {'type': 'null'}]}"},
    {"OptionalExpressionInt", "{'anyOf': [@ExpressionInt, {'type': 'null'}]}"},
    {"OptionalExpressionFloat", "{'anyOf': [@ExpressionFloat, {'type': 'null'}]}"},
    {"OptionalExpressionStr", "{'anyOf': [@ExpressionStr, {'type': 'null'}]}"},
    {"OptionalExpressionList", "{'anyOf': [@ExpressionList, {'type': 'null'}]}"},
    {"OptionalExpressionDictStr", "{'anyOf': [@ExpressionDictStr, {'type': 'null'}]}"},
    {"OptionalStr", "{'anyOf': [{'type': 'string'}, {'type': 'null'}]}"},
    {"OptionalInt", "{'anyOf': [{'type': 'integer'}, {'type': 'null'}]}"},
    {"OptionalBool", "{'anyOf': [{'type': 'boolean'}, {'type': 'null'}]}"},
    {"OptionalBoolOrStr", "{'anyOf': [{'type': 'boolean'}, {'type': 'string'}, {'type': 'null'}]}"},
    {"OptionalBlockType", "{'anyOf': [@BlockType, {'type': 'null'}]}"},
    {"OptionalParserType", "{'anyOf': [@ParserType, {'type': 'null'}]}"},
    {"IndependentEnum", "{'type': 'string', 'enum': ['independent', 'dependent']}"},
    {"ContributeTarget", "{'type': 'string', 'enum': ['result', 'context', 'stdout', 'stderr']}"},
    {"ContributeValue", "{'type': 'object', 'properties': {'value': {}}, 'required': ['value'], "
                        "'additionalProperties': false}"},
    {"ContributeElement", "{'anyOf': [@ContributeTarget, {'type': 'string'}, {'type': 'object', "
                          "'additionalProperties': @ContributeValue}]}"},
    {"ExpectationType",
     "{'type': 'object', 'properties': {'expect': {}, 'feedback': {'anyOf': "
     "[@RecordedExpression, @FunctionBlock, {'type': 'string'},"
     " {'type': 'null'}]}}, 'required': ['expect'], 'additionalProperties': false}"},
    {"ExpectationsType", "{'type': 'array', 'items': @ExpectationType}"},
    {"RegexParser",
     "{'type': 'object', 'properties': {'description': @OptionalStr, 'spec': @PdlTypeType, "
     "'regex': {'type': 'string'}, 'mode': {'type':"
     " 'string', 'enum': ['search', 'match', 'fullmatch', 'split', 'findall'], 'default': "
     "'fullmatch'}}, 'required': ['regex'],"
     " 'additionalProperties': false}"},
    {"CsvParser", "{'type': 'object', 'properties': {'csv': {'const': 'header'}}, 'required': "
                  "['csv'], 'additionalProperties': false}"},
    {"ParserType",
     "{'anyOf': [{'type': 'string', 'enum': ['json', 'jsonl', 'yaml', 'csv']}, @RegexParser, "
     "@CsvParser]}"},
    {"JoinText",
     "{'type': 'object', 'properties': {'as': {'const': 'text', 'default': 'text'}, 'with': "
     "{'type': 'string', 'default': ''}},"
     " 'additionalProperties': false}"},
    {"JoinArray",
     "{'type': 'object', 'properties': {'as': {'const': 'array'}}, 'required': ['as'], "
     "'additionalProperties': false}"},
    {"JoinObject",
     "{'type': 'object', 'properties': {'as': {'const': 'object'}}, 'required': ['as'], "
     "'additionalProperties': false}"},
    {"JoinLastOf",
     "{'type': 'object', 'properties': {'as': {'const': 'lastOf'}}, 'required': ['as'], "
     "'additionalProperties': false}"},
    {"JoinReduce",
     "{'type': 'object', 'properties': {'as': {'const': 'reduce', 'default': 'reduce'}, "
     "'reduce': @ExpressionStr}, 'required': ['reduce'],"
     " 'additionalProperties': false}"},
    {"JoinType", "{'anyOf': [@JoinText, @JoinArray, @JoinObject, @JoinLastOf, @JoinReduce]}"},
    {"OrPattern",
     "{'type': 'object', 'properties': {'def': @OptionalStr, 'anyOf': {'type': 'array', "
     "'items': @PatternType}}, 'required': ['anyOf'],"
     " 'additionalProperties': false}"},
    {"ArrayPattern",
     "{'type': 'object', 'properties': {'def': @OptionalStr, 'array': {'type': 'array', "
     "'items': @PatternType}}, 'required': ['array'],"
     " 'additionalProperties': false}"},
    {"ObjectPattern",
     "{'type': 'object', 'properties': {'def': @OptionalStr, 'object': {'type': 'object', "
     "'additionalProperties': @PatternType}},"
     " 'required': ['object'], 'additionalProperties': false}"},
    {"AnyPattern",
     "{'type': 'object', 'properties': {'def': @OptionalStr, 'any': {'type': 'null'}}, "
     "'required': ['any'], 'additionalProperties': false}"},
    {"PatternType",
     "{'anyOf': [{'type': 'boolean'}, {'type': 'integer'}, {'type': 'number'}, {'type': "
     "'string'}, @OrPattern, @ArrayPattern,"
     " @ObjectPattern, @AnyPattern, {'type': 'null'}]}"},
    {"MatchCase",
     "{'type': 'object', 'properties': {'case': @PatternType, 'if': @OptionalExpressionBool, "
     "'then': @BlockType, 'pdl__case_result':"
     " @OptionalBool, 'pdl__if_result': @OptionalBool, 'pdl__matched': @OptionalBool}, "
     "'required': ['then'], 'additionalProperties': false}"},
    {"EnumPdlType",
     "{'type': 'object', 'properties': {'enum': {'type': 'array'}}, 'required': ['enum'], "
     "'additionalProperties': true}"},
    {"OptionalPdlType", "{'type': 'object', 'properties': {'optional': @PdlTypeType}, 'required': "
                        "['optional'], 'additionalProperties': false}"},
    {"JsonSchemaTypePdlType",
     "{'type': 'object', 'properties': {'type': {'anyOf': [{'type': 'string'}, "
     "{'type': 'array', 'items': {'type': 'string'}}]}},"
     " 'required': ['type'], 'additionalProperties': true}"},
    {"ObjectPdlType", "{'type': 'object', 'properties': {'object': {'type': 'object', "
                      "'additionalProperties': @PdlTypeType}}, 'required': ['object'],"
                      " 'additionalProperties': false}"},
    {"PdlTypeType",
     "{'anyOf': [{'type': 'string', 'enum': ['null', 'boolean', 'string', 'number', "
     "'integer', 'array', 'object', 'bool', 'str', 'float',"
     " 'int', 'list', 'obj']}, @EnumPdlType, {'type': 'array', 'items': @PdlTypeType, "
     "'minItems': 1, 'maxItems': 1}, @OptionalPdlType,"
     " @JsonSchemaTypePdlType, @ObjectPdlType, {'type': 'object', 'additionalProperties': "
     "@PdlTypeType}, {'type': 'null'}]}"},
    {"PdlLocationType",
     "{'type': 'object', 'properties': {'path': {'type': 'array', 'items': {'type': "
     "'string'}}, 'file': {'type': 'string'}, 'table':"
     " {'type': 'object', 'additionalProperties': {'type': 'integer'}}}, 'required': "
     "['path', 'file', 'table'],"
     " 'additionalProperties': false}"},
    {"OptionalPdlLocationType", "{'anyOf': [@PdlLocationType, {'type': 'null'}]}"},
    {"PdlTiming",
     "{'type': 'object', 'properties': {'start_nanos': @OptionalInt, 'end_nanos': @OptionalInt, "
     "'first_use_nanos': @OptionalInt, 'sent_nanos': @OptionalInt, 'first_token_nanos': "
     "@OptionalInt, 'timezone': @OptionalStr}, 'additionalProperties': false}"},
    {"PdlUsage",
     "{'type': 'object', 'properties': {'model_calls': {'type': 'integer'}, 'completion_tokens': "
     "{'type': 'integer'}, 'prompt_tokens': {'type':"
     " 'integer'}, 'cost': {'type': 'number'}}}"},
    {"OptionalModelInput",
     "{'anyOf': [{'type': 'array', 'items': {'type': 'object'}}, {'type': 'object', 'properties': "
     "{'pdl__same': {'type': 'string'}, 'pdl__more': {'type': 'array', 'items': {'type': "
     "'object'}}}, 'required': ['pdl__same', 'pdl__more'], 'additionalProperties': false}, "
     "{'type': 'null'}]}"},
    {"Program", "@BlockType"},
    {"PdlBlock", "@BlockType"},
};

/* The schemas of the content of a field, by its form. plain is for a field that is required or has
 * a default. optional is for a field that may be null; it is NULL when both schemas are the
 * same. */
static const struct {
    const char *plain, *optional;
} by_type[PDL_FT_COUNT] = {
    [PDL_FT_STR] = {"{'type': 'string'}", "@OptionalStr"},
    [PDL_FT_BOOL] = {"{'type': 'boolean'}", "@OptionalBool"},
    [PDL_FT_INT] = {"{'type': 'integer'}", "@OptionalInt"},
    [PDL_FT_EXPR] = {"{}", NULL},
    [PDL_FT_XBOOL] = {"@ExpressionBool", "@OptionalExpressionBool"},
    [PDL_FT_XINT] = {"@ExpressionInt", "@OptionalExpressionInt"},
    [PDL_FT_XNUM] = {"@ExpressionFloat", "@OptionalExpressionFloat"},
    [PDL_FT_XSTR] = {"@ExpressionStr", "@OptionalExpressionStr"},
    [PDL_FT_XDICT] = {"@ExpressionDictStr", "@OptionalExpressionDictStr"},
    [PDL_FT_ANY] = {"{}", NULL},
    [PDL_FT_BLOCK] = {"@BlockType", "@OptionalBlockType"},
    [PDL_FT_BLOCKS] = {"{'type': 'array', 'items': @BlockType}", NULL},
    [PDL_FT_TEXTS] = {"{'anyOf': [@BlockType, {'type': 'array', 'items': @BlockType}]}", NULL},
    [PDL_FT_FIELDS] =
        {"{'anyOf': [{'type': 'object', 'additionalProperties': @BlockType}, {'type': 'array', "
         "'items': @BlockType}]}",
         NULL},
    [PDL_FT_TYPE] = {"@PdlTypeType", NULL},
    [PDL_FT_PARAMS] =
        {"{'anyOf': [{'type': 'object', 'additionalProperties': @PdlTypeType}, {'type': 'null'}]}",
         NULL},
    [PDL_FT_JOIN] = {"@JoinType", NULL},
    [PDL_FT_CASES] = {"{'type': 'array', 'items': @MatchCase}", NULL},
    [PDL_FT_FORS] = {"{'anyOf': [{'type': 'object', 'additionalProperties': @ExpressionList}, "
                     "{'type': 'null'}]}",
                     NULL},
    [PDL_FT_ARGV] = {"{'type': 'array', 'items': @ExpressionStr}", NULL},
    [PDL_FT_AGG] = {"{'anyOf': [{'const': 'context'}, @FileAggregatorConfig]}", NULL},
    [PDL_FT_DEFS] = {"{'type': 'object', 'additionalProperties': @BlockType}", NULL},
    [PDL_FT_CTX] = {"@IndependentEnum", NULL},
    [PDL_FT_FLAG] = {"@OptionalBoolOrStr", NULL},
    [PDL_FT_RETRY] = {"{'anyOf': [{'type': 'integer'}, @RetryConfiguration, {'type': 'null'}]}",
                      NULL},
    [PDL_FT_POLICY] = {"{'anyOf': [{'type': 'string'}, {'type': 'object'}, {'type': 'null'}]}",
                       NULL},
    [PDL_FT_PROFILE] = {"{'anyOf': [{'const': true}, @SandboxProfile, {'type': 'null'}]}", NULL},
    [PDL_FT_BUDGET] = {"{'anyOf': [@BudgetType, {'type': 'null'}]}", NULL},
    [PDL_FT_ENDORSE] = {"{'anyOf': [@EndorseType, {'type': 'null'}]}", NULL},
    [PDL_FT_CONTRIBUTE] = {"{'type': 'array', 'items': @ContributeElement}", NULL},
    [PDL_FT_PARSER] = {"@OptionalParserType", NULL},
    [PDL_FT_EXPECTATIONS] = {"@ExpectationsType", NULL},
};

/* Fields whose schema is more precise than their type. */
static const struct {
    pdl_block_kind kind;
    const char *key, *schema;
} special[] = {
    {PDL_BLOCK_call, "call",
     "{'anyOf': [@RecordedExpression, @FunctionBlock, {'type': 'string'}]}"},
    {PDL_BLOCK_message, "tool_calls", "@OptionalExpressionList"},
};

static const struct {
    const char *key, *schema;
} trace_schemas[] = {
    {"pdl__id", "@OptionalStr"},
    {"pdl__context", "@OptionalModelInput"},
    {"pdl__result", "{}"},
    {"pdl__location", "@OptionalPdlLocationType"},
    {"pdl__timing", "{'anyOf': [@PdlTiming, {'type': 'null'}]}"},
    {"pdl__usage", "{'anyOf': [@PdlUsage, {'type': 'null'}]}"},
    {"pdl__model_input", "@OptionalModelInput"},
    {"pdl__attempts", "{}"},
    {"pdl__structured", "{}"},
    {"pdl__decisions", "{}"},
    {"pdl__labels", "{}"},
    {"pdl__calls", "{'anyOf': [{'type': 'array', 'items': @BlockType}, {'type': 'null'}]}"},
    {"pdl__abandoned", "{'anyOf': [{'type': 'array', 'items': @BlockType}, {'type': 'null'}]}"},
    {"pdl__replayed", "@OptionalBool"},
    {"pdl__tool", "@OptionalStr"},
    {"pdl__parsed", "{}"},
    {"pdl__shown", "@OptionalStr"},
    {"pdl__score", "{'anyOf': [{'type': 'number'}, {'type': 'null'}]}"},
};

/* The schemas of the content of a part of records.def. The first is for a part that is required,
 * and the second is for a part that may be null. */
static const struct {
    const char *plain, *optional;
} by_part[] = {
    [PDL_RT_XINT] = {"@ExpressionInt", "@OptionalExpressionInt"},
    [PDL_RT_XNUM] = {"@ExpressionFloat", "@OptionalExpressionFloat"},
    [PDL_RT_XSTR] = {"@ExpressionStr", "@OptionalExpressionStr"},
    [PDL_RT_XBOOL] = {"@ExpressionBool", "@OptionalExpressionBool"},
    [PDL_RT_WORDS] = {"{'anyOf': [@ExpressionStr, {'type': 'array', 'items': {'type': 'string'}}]}",
                      NULL},
    [PDL_RT_RANGE] = {"{'anyOf': [@ExpressionFloat, {'type': 'array', 'items': @ExpressionFloat, "
                      "'minItems': 2, 'maxItems': 2}]}",
                      NULL},
    [PDL_RT_NOTE] = {"{'type': 'string'}", "@OptionalStr"},
};

static const struct {
    const char *name;
    pdl_record record;
} records[] = {
    {"RetryConfiguration", PDL_RECORD_retry},
    {"BudgetType", PDL_RECORD_budget},
    {"EndorseType", PDL_RECORD_endorse},
    {"FileAggregatorConfig", PDL_RECORD_aggregator},
};

/* --- writing ---------------------------------------------------------------------------------- */

/* Writes a schema in the short form. */
static void put_short(pdl_buf *b, const char *s) {
    while (*s) {
        if (*s == '@') {
            const char *end = ++s;
            while ((*end >= 'A' && *end <= 'Z') || (*end >= 'a' && *end <= 'z')) end++;
            pdl_buf_putf(b, "{\"$ref\":\"#/$defs/%.*s\"}", (int)(end - s), s);
            s = end;
        } else {
            pdl_buf_putc(b, *s == '\'' ? '"' : *s);
            s++;
        }
    }
}

/* Begins a member that is an object or a list. */
static void open_member(pdl_buf *b, const char *name, char bracket) {
    pdl_json_put_key(b, name);
    pdl_json_open(b, bracket);
}

static void put_text(pdl_buf *b, const char *name, const char *text) {
    pdl_json_put_text(b, name, pdl_str_of(text));
}

static const char *field_schema(const pdl_field *f) {
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if ((int)special[i].kind == f->kind && strcmp(special[i].key, f->key) == 0)
            return special[i].schema;
    bool optional = f->need == PDL_NEED_OPT || f->need == PDL_NEED_NUL || f->need == PDL_NEED_OLD;
    return optional && by_type[f->type].optional ? by_type[f->type].optional
                                                 : by_type[f->type].plain;
}

/* Writes a member whose value is the schema, with a description. */
static void put_described(pdl_buf *b, const char *name, const char *schema, const char *doc) {
    open_member(b, name, '{');
    open_member(b, "allOf", '[');
    put_short(b, schema);
    pdl_buf_putc(b, ']');
    put_text(b, "description", doc);
    pdl_buf_putc(b, '}');
}

static void put_field(pdl_buf *b, const pdl_field *f, const pdl_form *v) {
    if (!v->tag || strcmp(v->tag, f->key) != 0) {
        put_described(b, f->key, field_schema(f), f->doc);
        return;
    }
    open_member(b, f->key, '{');
    put_text(b, "const", v->value);
    put_text(b, "description", f->doc);
    pdl_buf_putc(b, '}');
}

static void put_trace(pdl_buf *b, pdl_block_kind kind) {
    size_t n;
    const pdl_trace_row *t = pdl_trace_fields(&n);
    for (size_t i = 0; i < n; i++) {
        if (!(t[i].kinds >> kind & 1)) continue;
        pdl_json_put_key(b, t[i].key);
        if (strcmp(t[i].key, "pdl__is_leaf") == 0) {
            pdl_json_open(b, '{');
            pdl_json_put_bool(b, "const", !pdl_block_is_structured(kind));
            pdl_buf_putc(b, '}');
        } else if (strcmp(t[i].key, "pdl__trace") == 0) {
            bool list = kind == PDL_BLOCK_repeat || kind == PDL_BLOCK_map;
            put_short(b,
                      list ? "{'anyOf': [{'type': 'array', 'items': @BlockType}, {'type': 'null'}]}"
                           : "@OptionalBlockType");
        }
        for (size_t k = 0; k < sizeof trace_schemas / sizeof *trace_schemas; k++)
            if (strcmp(trace_schemas[k].key, t[i].key) == 0) put_short(b, trace_schemas[k].schema);
    }
}

static void put_required(pdl_buf *b, const pdl_form *v) {
    size_t n;
    const pdl_field *f = pdl_fields(&n);
    open_member(b, "required", '[');
    for (size_t i = 0; i < n; i++) {
        if (f[i].kind != (int)v->kind || pdl_form_lists(v->without, f[i].key)) continue;
        if (f[i].need == PDL_NEED_REQ || f[i].need == PDL_NEED_NUL ||
            pdl_form_lists(v->with, f[i].key))
            pdl_json_add_text(b, pdl_str_of(f[i].key));
    }
    pdl_buf_putc(b, ']');
}

static void put_kind(pdl_buf *b, const char *kind) {
    open_member(b, "kind", '{');
    put_text(b, "const", kind);
    put_text(b, "default", kind);
    put_text(b, "title", "Kind");
    put_text(b, "type", "string");
    pdl_buf_putc(b, '}');
}

static void put_definition(pdl_buf *b, const pdl_form *v) {
    size_t n;
    open_member(b, v->name, '{');
    pdl_json_put_bool(b, "additionalProperties", false);
    put_text(b, "description", pdl_block_doc(v->kind));
    open_member(b, "properties", '{');
    const pdl_field *f = pdl_common_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (pdl_field_allowed(v->kind, &f[i])) put_field(b, &f[i], v);
    put_trace(b, v->kind);
    f = pdl_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (f[i].kind == (int)v->kind && !pdl_form_lists(v->without, f[i].key))
            put_field(b, &f[i], v);
    put_kind(b, pdl_block_name(v->kind));
    pdl_buf_putc(b, '}');
    put_required(b, v);
    put_text(b, "title", v->name);
    put_text(b, "type", "object");
    pdl_buf_putc(b, '}');
}

/* Begins the definition of a mapping that is not a block; its properties follow. */
static void open_mapping(pdl_buf *b, const char *name) {
    open_member(b, name, '{');
    put_text(b, "type", "object");
    open_member(b, "properties", '{');
}

static void put_record(pdl_buf *b, const char *name, pdl_record record) {
    size_t n;
    const pdl_record_part *part = pdl_record_parts(record, &n);
    open_mapping(b, name);
    for (size_t i = 0; i < n; i++) {
        bool optional = part[i].need == PDL_NEED_OPT && by_part[part[i].type].optional;
        const char *plain = by_part[part[i].type].plain;
        put_described(b, part[i].key, optional ? by_part[part[i].type].optional : plain,
                      part[i].doc);
    }
    pdl_buf_putc(b, '}');
    open_member(b, "required", '[');
    for (size_t i = 0; i < n; i++)
        if (part[i].need == PDL_NEED_REQ) pdl_json_add_text(b, pdl_str_of(part[i].key));
    pdl_buf_putc(b, ']');
    pdl_json_put_bool(b, "additionalProperties", false);
    pdl_buf_putc(b, '}');
}

static void put_profile(pdl_buf *b) {
    static const char *const forms[] = {
        "'type': 'array', 'items': {'type': 'string'}",
        "'type': 'integer', 'minimum': 1",
        "'type': 'number', 'exclusiveMinimum': 0",
    };
    size_t n;
    const pdl_profile_key *keys = pdl_profile_keys(&n);
    open_mapping(b, "SandboxProfile");
    for (size_t i = 0; i < n; i++) {
        open_member(b, keys[i].key, '{');
        put_short(b, forms[keys[i].form]);
        put_text(b, "description", keys[i].doc);
        pdl_buf_putc(b, '}');
    }
    pdl_buf_putc(b, '}');
    pdl_json_put_bool(b, "additionalProperties", false);
    pdl_buf_putc(b, '}');
}

/* Calls fn for every definition of a block of this kind, or of all kinds. A kind with forms has a
 * definition for each form; any other kind has one definition. */
static void each_definition(pdl_buf *b, pdl_block_kind kind,
                            void (*fn)(pdl_buf *b, const pdl_form *form)) {
    size_t n;
    const pdl_form *forms = pdl_forms(&n);
    for (int k = 0; k < PDL_BLOCK_COUNT; k++) {
        if (kind != PDL_BLOCK_COUNT && (int)kind != k) continue;
        pdl_form whole = {
            (pdl_block_kind)k, pdl_block_schema((pdl_block_kind)k), NULL, NULL, "", ""};
        if (!pdl_block_union((pdl_block_kind)k) && whole.name) fn(b, &whole);
        for (size_t i = 0; i < n; i++)
            if ((int)forms[i].kind == k) fn(b, &forms[i]);
    }
}

static void put_ref(pdl_buf *b, const pdl_form *form) {
    pdl_json_open(b, '{');
    pdl_json_put_key(b, "$ref");
    pdl_buf_putf(b, "\"#/$defs/%s\"}", form->name);
}

/* Writes the union of the definitions of this kind, or of all kinds. */
static void put_union(pdl_buf *b, const char *name, pdl_block_kind kind) {
    open_member(b, name, '{');
    open_member(b, "anyOf", '[');
    each_definition(b, kind, put_ref);
    if (kind == PDL_BLOCK_COUNT) put_ref(b, &(pdl_form){.name = "ExpressionBlock"});
    PDL_PUT(b, "]}");
}

pdl_val pdl_language_schema(void) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    pdl_val out;
    pdl_json_open(&b, '{');
    open_member(&b, "$defs", '{');
    put_union(&b, "BlockType", PDL_BLOCK_COUNT);
    for (int k = 0; k < PDL_BLOCK_COUNT; k++) {
        const char *name = pdl_block_union((pdl_block_kind)k);
        if (name) put_union(&b, name, (pdl_block_kind)k);
    }
    each_definition(&b, PDL_BLOCK_COUNT, put_definition);
    put_profile(&b);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        put_record(&b, records[i].name, records[i].record);
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        pdl_json_put_key(&b, helpers[i].name);
        put_short(&b, helpers[i].schema);
    }
    pdl_buf_putc(&b, '}');
    put_text(&b, "title", "PDL Schemas");
    open_member(&b, "anyOf", '[');
    put_short(&b, "@Program, @PdlBlock]}");
    bool ok = pdl_json_read(pdl_buf_str(&b), 0, &out, NULL, &err);
    pdl_buf_fini(&b);
    if (!ok) PDL_BUG("the schema of the language is not JSON: %s", err.msg);
    return out;
}
