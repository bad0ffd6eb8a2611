/* cases.h -- groups of kinds of nodes (pdl_xkind), for switches that treat a whole group alike. A
 * switch names every kind, so that the compiler reports every switch that lacks a new kind. A new
 * kind is added to a group, or to each switch. PDL_X_TEXT, PDL_X_OUTPUT and PDL_X_SEQ are in no
 * group.
 *
 * A group replaces `case KIND`: PDL_X_STATEMENTS: return NULL;
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EXPR_CASES_H
#define PDL_EXPR_CASES_H

#include "expr/expr.h"

/* clang-format off */
/* The kinds that have a value: literals, names, operators, calls, filters and tests. */
#define PDL_X_EXPRESSIONS                                                                          \
    case PDL_X_CONST: case PDL_X_NAME: case PDL_X_ATTR: case PDL_X_ITEM: case PDL_X_SLICE:         \
    case PDL_X_CALL: case PDL_X_FILTER: case PDL_X_TEST: case PDL_X_UNARY: case PDL_X_BINARY:      \
    case PDL_X_AND: case PDL_X_OR: case PDL_X_COMPARE: case PDL_X_CONCAT: case PDL_X_COND:         \
    case PDL_X_LIST: case PDL_X_TUPLE: case PDL_X_DICT
/* The statements of templates, and the kinds that only occur inside them or instead of them: the
 * target in a namespace, the statement that fails, and the count of kinds. */
#define PDL_X_STATEMENTS                                                                           \
    case PDL_X_IF: case PDL_X_FOR: case PDL_X_SET: case PDL_X_SETBLOCK: case PDL_X_NSREF:          \
    case PDL_X_MACRO: case PDL_X_CALLBLOCK: case PDL_X_FILTERBLOCK: case PDL_X_WITH:               \
    case PDL_X_BLOCK: case PDL_X_AUTOESCAPE: case PDL_X_RAISE: case PDL_X_COUNT
/* clang-format on */

#endif
