/* label.c -- see label.h. */
#include "value/label.h"

#include "base/banned.h"

static const char *const names[PDL_LABEL_COUNT] = {
#define X(id, doc) #id,
    PDL_LABELS(X)
#undef X
};

void pdl_label_show(pdl_label set, pdl_buf *out) {
    bool first = true;
    for (unsigned i = 0; i < PDL_LABEL_COUNT; i++) {
        if (!(set & (1u << i))) continue;
        if (!first) PDL_PUT(out, ", ");
        first = false;
        pdl_buf_put(out, pdl_str_of(names[i]));
    }
}

pdl_label pdl_label_find(pdl_str name) {
    for (unsigned i = 0; i < PDL_LABEL_COUNT; i++)
        if (pdl_str_is(name, names[i])) return 1u << i;
    return 0;
}
