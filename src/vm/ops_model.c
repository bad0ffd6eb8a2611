/* ops_model.c -- model blocks: messages, parameters, the request, and the promise of the reply (spec
 * execution 8, providers 1). */
#include "vm/fiber.h"

#include "base/banned.h"

/* Messages without the ids of their blocks. */
static bool messages_of(pdl_fiber *f, pdl_vref input, pdl_val *out, pdl_err *err) {
    pdl_val ctx;
    if (pdl_messages_are_plain(input)) {
        *out = pdl_keep(input);
        return true;
    }
    if (pdl_is_str(input)) ctx = pdl_context_one(pdl_keep(f->role), pdl_keep(input), pdl_absent(), NULL);
    else if (!pdl_context_from(input, &ctx, err)) return false;
    *out = pdl_context_messages(ctx);
    pdl_drop(ctx);
    return true;
}

static pdl_step model_error(pdl_err *err, pdl_vref model, pdl_loc loc) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "Error during '");
    pdl_val_show(model, false, 200, &b);
    pdl_buf_putf(&b, "' model call: %s(", err->foreign ? err->foreign : "ValueError");
    pdl_str_repr(pdl_str_of(err->msg), &b);
    pdl_buf_putc(&b, ')');
    pdl_free(err->msg);
    err->msg = pdl_buf_take(&b);
    err->kind = PDL_E_bad_request;
    err->loc = loc;
    return PDL_STEP_FAIL;
}

/* Parameters with the defaults for the model filled in; there are none without a model. */
static bool parameters_of(pdl_fiber *f, pdl_vref model, pdl_vref given, pdl_val *out, pdl_err *err) {
    if (!pdl_is_dict(given) && !pdl_is_null(given))
        return pdl_err_host(err, "TypeError", "parameters should be an object, not %s", pdl_type_name(given));
    pdl_val p = pdl_is_null(given) ? pdl_dict_new(0) : pdl_keep(given);
    if (!declare_tools(&p, err)) return false;
    pdl_vref list = pdl_scope_find(f->scope, f->run->names.defaults);
    if (pdl_is_absent(model) || !f->run->opt.defaults || !pdl_is_list(list)) {
        *out = p;
        return true;
    }
    return f->run->opt.defaults(list, pdl_str_get(model), p, out, err);
}

static pdl_val schema_of(const pdl_b_model *b, pdl_vref params) {
    bool structured = !b->structured.given || b->structured.value;
    pdl_vref format = pdl_dict_getz(params, "response_format");
    bool asked = !pdl_is_absent(format) && !pdl_is_null(format);
