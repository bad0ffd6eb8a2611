/* fuzz_settings.c -- configuration files. The first byte, a digit, chooses the reader of the rest.
 * Properties: a file is read, or refused with a message that is not empty. The settings that were
 * read can be queried.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/pdl_toml.h"
#include "fuzz.h"
#include "mcp/server_config.h"
#include "mock/script.h"
#include "model/prices.h"
#include "value/json_read.h"

static void check_error(bool ok, pdl_err *err) {
    FUZZ_MUST(ok == (err->kind == PDL_E_NONE));
    FUZZ_MUST(ok || (err->msg && err->msg[0]));
    pdl_err_fini(err);
}

static void read_rules(pdl_str text, bool is_file) {
    pdl_err err = {0};
    pdl_check_config c = {.arena = pdl_arena_make()};
    bool ok = is_file ? pdl_check_config_read(&c, PDL_STR("pdl.toml"), PDL_STR("/f"), text, &err)
                      : pdl_check_config_rules(&c, text, &err);
    for (size_t i = 0; i < c.import.n; i++) FUZZ_MUST(fuzz_is_text(c.import.p[i]));
    check_error(ok, &err);
    pdl_vec_fini(&c.import);
    pdl_arena_free(c.arena);
}

static void read_prices(pdl_str text) {
    pdl_err err = {0};
    pdl_prices *p = NULL;
    bool ok = pdl_prices_read(text, "prices.json", &p, &err);
    pdl_price price;
    if (ok && pdl_price_find(p, PDL_STR("openai/gpt-4o"), pdl_absent(), &price))
        FUZZ_MUST(price.input >= 0 && price.output >= 0);
    check_error(ok, &err);
    pdl_prices_free(p);
}

static const char *file_of(void *user, const char *name) {
    return strcmp(name, "PDL_MCP_CONFIG") == 0 ? user : NULL;
}

static void read_servers(pdl_str bytes) {
    char path[40];
    pdl_err err = {0};
    int fd = memfd_create("servers", MFD_CLOEXEC);
    if (fd < 0) return;
    FUZZ_MUST(write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    pdl_arena *a = pdl_arena_make();
    pdl_mcp_options opt = {.env = file_of, .user = path, .profiles = pdl_absent()};
    server_config c;
    bool ok = pdl_mcp_config_read(&opt, PDL_STR("s"), a, &c, &err);
    FUZZ_MUST(!ok || !c.argv != !c.url);
    check_error(ok, &err);
    pdl_arena_free(a);
    close(fd);
}

static void read_script(pdl_str text) {
    pdl_err err = {0};
    pdl_val list;
    if (!pdl_json_read(text, 0, &list, NULL, &err)) {
        pdl_err_fini(&err);
        return;
    }
    pdl_mock_script s = {0};
    bool ok = pdl_mock_script_read(list, &s, &err);
    for (int i = 0; ok && i < 3; i++)
        pdl_mock_script_next(&s, PDL_STR("m"), PDL_STR("what is asked"));
    check_error(ok, &err);
    pdl_mock_script_fini(&s);
    pdl_drop(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    pdl_buf text = fuzz_text(data + 1, size - 1);
    switch ((uint8_t)(data[0] - '0') % 5) {
    case 0: read_rules(pdl_buf_str(&text), true); break;
    case 1: read_rules(pdl_buf_str(&text), false); break;
    case 2: read_prices(pdl_buf_str(&text)); break;
    case 3: read_servers((pdl_str){(const char *)data + 1, size - 1}); break;
    default: read_script(pdl_buf_str(&text)); break;
    }
    pdl_buf_fini(&text);
    return 0;
}
