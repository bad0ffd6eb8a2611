/* code.h -- pdl_code: one bytecode for blocks, expressions and templates, with a source place for
 * each instruction. Runs share a pdl_code. Its instructions never change, but bodies of functions
 * may be added.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_COMPILE_CODE_H
#define PDL_COMPILE_CODE_H

#include "base/intern.h"
#include "base/vec.h"
#include "lang/program.h"
#include "native/native.h"
#include "value/val.h"

typedef enum {
#define OP(name, pops, pushes, flow, sees, a, c, doc) PDL_OP_##name,
#include "compile/ops.def"
    PDL_OPCODE_COUNT
} pdl_opcode;

typedef struct pdl_ins {
    uint8_t op, a;
    uint32_t c;
} pdl_ins;

/* The source of an instruction. expr is the text that a message quotes after "Error during the
 * evaluation of". */
typedef struct pdl_srcsite {
    const pdl_expr *expr; /* NULL when the instruction is a step of a block */
    const pdl_node *node; /* the scalar that has the text; NULL when it is unknown */
    pdl_loc loc;          /* FILE:LINE, for errors */
} pdl_srcsite;

typedef struct pdl_srcspan {
    uint32_t site;
    uint32_t start, end; /* offsets in the expression's text */
} pdl_srcspan;

enum { PDL_MAX_PATH_KEYS = 32 };

/* The call signature of a call, filter or test. */
typedef struct pdl_callsig {
    uint32_t n_pos; /* number of positional arguments on the stack, without the receiver */
    uint32_t n_kw;
    pdl_str *kw;
    bool star, starstar; /* *list and **dict are on the stack, above the keyword arguments */
    pdl_str name;        /* used by METHOD */
    /* for FILTER and TEST; NULL when the name is unknown: the call then fails with `why` */
    const pdl_native *row;
    pdl_native_writer *writer; /* for OUT_FILTER, where it is never NULL */
    pdl_str why;
    /* for METHOD: the variable to rebind when the method mutates its receiver; 0 when
     * there is none */
    pdl_name root;
    /* slot of that variable in the frame, plus 1; 0 when the variable is in the scope */
    uint32_t local;
    /* for METHOD: number of keys of the path from root, which are on the stack below
     * the receiver; at most PDL_MAX_PATH_KEYS */
    uint32_t n_keys;
} pdl_callsig;

/* The places where the file of an include or import is searched, in this order. IN_PROGRAM: beside
 * the main program. IN_FILE: beside the file that names it. IN_PATH, for imports alone: in the
 * folders of PDL_PATH and of the library.
 */
typedef enum { PDL_IN_PROGRAM, PDL_IN_FILE, PDL_IN_PATH, PDL_FILE_PLACES } pdl_file_place;

/* The ways in which the id of a block continues the id of its parent (spec execution 14.2). */
typedef enum { PDL_SEG_NONE, PDL_SEG_INDEX, PDL_SEG_NAME, PDL_SEG_DEFS, PDL_SEG_ITER } pdl_seg;

/* The facts about a block that the machine needs at ENTER. */
typedef struct pdl_blockinfo {
    const pdl_block *block;
    pdl_seg seg;
    uint32_t index;        /* used by SEG_INDEX */
    const char *name;      /* for SEG_NAME and SEG_DEFS: text of the segment, interned */
    pdl_val role;          /* a text; absent when the role is inherited */
    bool no_result;        /* `contribute` does not name the result */
    bool adds_no_messages; /* `contribute` does not name the context */
    bool no_context;       /* the messages of the block are dropped, or cannot be observed */
    /* the parts of the block do not print; its value is printed at the end */
    bool silent;
    bool has_parser;
    bool is_replaced;  /* `contribute` replaces the result, and only the replacement is printed */
    bool is_refusable; /* after a refused attempt, the next attempt may print something else */
    bool leaf;
    bool has_handler; /* the block has retry, fallback or expectations */
    bool has_retry;
    const char *kind; /* the segment that the kind of the block adds to ids */
} pdl_blockinfo;

/* A macro of a template, or the body of a call block. */
typedef struct pdl_macro_info {
    pdl_str name;
    uint32_t n_params, n_defaults;
    pdl_str *params;
    pdl_name *names;
    uint32_t *defaults; /* entry points of the last n_defaults parameters */
    uint32_t entry;
    bool uses_caller, uses_varargs, uses_kwargs;
} pdl_macro_info;

/* A field of a block whose value is reported to the trace. */
typedef struct pdl_field_info {
    const char *key;
    uint32_t number; /* for match: number of the case + 1; 0 for other fields */
} pdl_field_info;

/* The actions for which PERMIT asks a policy. */
typedef enum { PDL_PERMIT_PDL, PDL_PERMIT_TEMPLATE } pdl_permit_kind;

/* The ways in which MESSAGE uses the result. */
typedef enum {
    PDL_MESSAGE_PLAIN,
    PDL_MESSAGE_STR,      /* the content is str() of the result */
    PDL_MESSAGE_UNPLACED, /* the message does not have the id of the block */
    PDL_MESSAGE_SILENT    /* there is no message: the result is only printed */
} pdl_message_form;

/* The types that operands may point to. */
#define PDL_PTR_TYPES(X)                                                                           \
    X(pdl_callsig)                                                                                 \
    X(pdl_blockinfo)                                                                               \
    X(pdl_macro_info)                                                                              \
    X(pdl_block)                                                                                   \
    X(pdl_contribute)                                                                              \
    X(pdl_field_info)                                                                              \
    X(pdl_fors_info)                                                                               \
    X(pdl_map_info)                                                                                \
    X(pdl_pattern)                                                                                 \
    X(pdl_func_info) X(pdl_b_call) X(pdl_b_model) X(pdl_b_factor) X(pdl_b_code) X(pdl_b_read)
typedef enum {
#define X(type) PDL_PTR_##type,
    PDL_PTR_TYPES(X)
#undef X
        PDL_PTR_TYPE_COUNT
} pdl_ptr_type;

/* The parts of a loop: the lists of its `for`, its bound, and the variable that counts its
 * rounds. */
typedef struct pdl_fors_info {
    uint32_t n;     /* `for` has n names and n lists */
    bool has_for;   /* the block has `for`, which may have no lists */
    bool has_max;   /* the bound is on the stack, above the lists */
    pdl_name index; /* 0 when there is no index */
} pdl_fors_info;

/* A map, whose body is a routine. */
typedef struct pdl_map_info {
    const pdl_b_map *block;
    const pdl_blockinfo *info;
    uint32_t entry;
} pdl_map_info;

typedef struct pdl_func_info {
    const pdl_b_function *block;
    /* name of the function, which is bound in its body; 0 when the function has no name */
    pdl_name name;
    pdl_str name_text;
    uint32_t entry; /* 0 when the body has no code yet (pdl_compile_function) */
    pdl_name *params;
    uint32_t n_params;
} pdl_func_info;

typedef struct pdl_code pdl_code;
struct pdl_code {
    uint32_t refs;
    pdl_program *program; /* kept; NULL for the code of a single expression or template */
    pdl_arena *arena;     /* owned: infos and call signatures */
    pdl_interner *names;  /* kept: the names that the runs of the code use */
    /* The code of a file that is imported as lib/...: errors in it are reported at the call
     * (vm/run/fiber.c). */
    bool library;
    /* the standard library: errors in it are reported at the line of the program */
    bool stdlib;
    pdl_val signatures; /* for a tool server: dict from functions to declarations; else absent */
    /* Labels of the computed text from which the code was made. Each constant of the code has these
     * labels, too. */
    pdl_label label;
    /* For a module that has a policy: its bit among such modules, and the sandbox profile of the
     * policy (absent when the policy has none). The builder of the code sets both. */
    uint64_t modules;
    pdl_val sandbox;
    bool sees_context; /* an instruction reads the messages so far or passes them on */
    /* the code is a template: undefined values are lenient, and errors begin with "Jinja Code
     * error: " */
    bool jinja;
    bool traced; /* the code has instructions that report the values of fields */
    /* in the order in which their FUNC instructions were emitted */
    PDL_VEC(pdl_func_info *) functions;
    PDL_VEC(pdl_ins) ins;
    PDL_VEC(pdl_srcspan) where;
    PDL_VEC(pdl_srcsite) sites;
    PDL_VEC(pdl_val) consts;
    PDL_VEC(const void *) operands;
    PDL_VEC(uint8_t) operand_types; /* a pdl_ptr_type for each operand that is a pointer */
};

pdl_code *pdl_code_keep(pdl_code *c);
void pdl_code_drop(pdl_code *c); /* c may be NULL */

/* Gives the constants the label of the text from which the code was made. Only for code that no run
 * has begun. */
void pdl_code_relabel(pdl_code *c, pdl_label label);

/* Checks that the instructions agree with ops.def: operands have their kinds, jumps lead to
 * instructions, and the value stack has one height at each instruction. Builds with assertions
 * check all code. */
PDL_MUST bool pdl_code_verify(const pdl_code *c, pdl_err *err);
/* Returns how many values the instruction at pc takes from the stack. */
size_t pdl_code_operands_at(const pdl_code *c, size_t pc);
const char *pdl_opcode_name(pdl_opcode op);
bool pdl_opcode_sees_context(pdl_opcode op);
/* Appends a listing for `pdl dump --code`. */
void pdl_code_dump(const pdl_code *c, struct pdl_buf *out);
void pdl_code_dump_at(const pdl_code *c, size_t pc,
                      struct pdl_buf *out); /* appends one line, without its line end */

#endif
