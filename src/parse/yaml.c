/* yaml.c -- one YAML document; the message gains the place. */
#include "parse/room.h"
#include "yaml/yaml.h"

#include "base/banned.h"

bool pdl_parse_yaml(pdl_str text, pdl_val *out, pdl_err *err) {
    uint32_t line = 0, column = 0;
    if (pdl_yaml_read(text, out, &line, &column, err)) return true;
    if (line) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%s (line %u, column %u)", err->msg, line, column);
        pdl_free(err->msg);
        err->msg = pdl_buf_take(&b);
    }
    err->loc = (pdl_loc){0}; /* a place in the text, which is not a place in the program */
    return false;
}
