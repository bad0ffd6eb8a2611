/* fuzz_program.c -- a whole program in a world that answers nothing. Property: refused with problems, or it runs twice alike. */
#include "machine.h"

#include "lang/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16) return 0;
    pdl_buf text = fuzz_text(data, size), a = PDL_BUF, b = PDL_BUF;
    pdl_interner *names = pdl_interner_new();
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, PDL_STR(""), pdl_buf_str(&text), &ok);
    if (ok) {
        pdl_code *code = pdl_compile_program(p, names, false);
        fuzz_run(code, names, pdl_absent(), &a);
        pdl_code_drop(code);
    }
    pdl_program_drop(p);
    pdl_interner_free(names);
    pdl_buf_fini(&a);
    pdl_buf_fini(&b);
    pdl_buf_fini(&text);
    return 0;
}
