/* endorse.c -- endorsement by a block: the only way in which a value loses origins.
 *
 * The check is a part of the program: if it fails, the block fails, whether a policy is in force or
 * not. Only a policy defines labels, so the policy is asked what the names in the block mean, and
 * may refuse the endorsement.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/label.h"
#include "value/text.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

static bool add_label(pdl_val *list, pdl_vref name, pdl_loc loc, pdl_err *err) {
    if (!pdl_is_str(name))
        return pdl_err_set(err, PDL_E_type, loc, "labels of endorse should be texts, not %s",
                           pdl_type_name(name));
    *list = pdl_list_push(*list, pdl_keep(name));
    return true;
}

/* Reads one label, or a list of labels. */
static bool labels_of(pdl_vref v, pdl_loc loc, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(2);
    bool ok = true;
    if (pdl_is_list(v))
        for (size_t i = 0; ok && i < pdl_list_len(v); i++)
            ok = add_label(&list, pdl_list_at(v, i), loc, err);
    else
        ok = add_label(&list, v, loc, err);
    if (ok)
        *out = list;
    else
        pdl_drop(list);
    return ok;
}

/* On the stack: result labels check why -> result promise */
pdl_step pdl_op_ENDORSE(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 4, err);
    pdl_loc loc = pdl_fiber_loc(f);
    if (s != PDL_STEP_DONE) return s;
    if (!pdl_val_truth(*under(f, 1))) {
        pdl_err_set(err, PDL_E_policy, loc, "the check of endorse does not hold for the result");
        err->label |= pdl_label_of(*under(f, 3)) | pdl_label_of(*under(f, 1));
        return PDL_STEP_FAIL;
    }
    pdl_val labels;
    if (!labels_of(*under(f, 2), loc, &labels, err)) return PDL_STEP_FAIL;
    pdl_val arguments = pdl_dict_putz(pdl_dict_new(2), "value", pdl_keep(*under(f, 3)));
    arguments = pdl_dict_putz(arguments, "why", pdl_keep(*under(f, 0)));
    pdl_vm_cut_stack(f, f->stack.n - 3);
    if (f->run->opt.guarded) {
        pdl_vm_start_permit(f, "endorse", arguments, labels);
    } else {
        pdl_drop(arguments);
        pdl_drop(labels);
        push(f, pdl_null());
    }
    return PDL_STEP_DONE;
}

/* On the stack: result labels|null -> result */
pdl_step pdl_op_ENDORSED(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 2, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val mask = pop(f);
    if (pdl_is(mask, PDL_V_INT) && pdl_int_of(mask) > 0)
        *top(f) = pdl_without_labels(*top(f), (pdl_label)pdl_int_of(mask));
    pdl_drop(mask);
    return PDL_STEP_DONE;
}
