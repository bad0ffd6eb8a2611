/* language_server.c -- answers the question `lsp`: the language server, whose client is the host of
 * the module; see wasm.h. An instance of the module has one server, which begins with the first
 * message and ends with the notification `exit`.
 *
 * The files of the programs are those that the client has opened, because the module has no others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/models.h"
#include "api/session.h"
#include "lsp/lsp.h"
#include "model/prices.h"
#include "wasm/wasm.h"

#include "base/banned.h"

static pdl_lsp *server; /* NULL before the first message and after `exit` */
static pdl_check_models models;
static pdl_buf table;       /* the text of the host's table of prices; empty when it gave none */
static pdl_str price_table; /* the content of `table`, which the server borrows */

/* Takes the table of prices in a question, if there is one. A table that cannot be read is refused,
 * and the one before it stays. */
static bool take_prices(pdl_vref question, pdl_err *err) {
    pdl_vref given = pdl_dict_getz(question, "prices");
    pdl_prices *read = NULL;
    if (!pdl_is_str(given)) return true;
    pdl_str text = pdl_str_get(given);
    if (pdl_str_trim(text).n && !pdl_prices_read(text, "in \"prices\"", &read, err)) return false;
    pdl_prices_free(read);
    pdl_buf_fini(&table);
    table = PDL_BUF;
    pdl_buf_put(&table, pdl_str_trim(text));
    price_table = pdl_buf_str(&table);
    return true;
}

/* Appends a message of the server to the list of the answer; user is the answer. */
static void send(void *user, pdl_str message) {
    pdl_buf *out = user;
    if (out->p[out->len - 1] != '[') pdl_buf_putc(out, ',');
    pdl_buf_put(out, message);
}

static void begin(pdl_buf *out) {
    const pdl_model_env none = {0};
    models = pdl_models_for(&none, false);
    server = pdl_lsp_new(&(pdl_lsp_options){.send = send,
                                            .user = out,
                                            .models = &models,
                                            .price_table = &price_table,
                                            .library = pdl_session_library_text()});
}

static void end_when_over(void) {
    int code;
    if (!pdl_lsp_is_over(server, &code)) return;
    pdl_lsp_free(server);
    server = NULL;
}

bool pdl_wasm_lsp(pdl_vref question, pdl_buf *out, pdl_err *err) {
    pdl_vref message = pdl_dict_getz(question, "message");
    bool is_more = false;
    if (!pdl_is_absent(message) && !pdl_is_str(message))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "message should be a text");
    if (!take_prices(question, err)) return false;
    pdl_json_put_key(out, "messages");
    pdl_buf_putc(out, '[');
    if (!server && pdl_is_str(message)) begin(out);
    if (pdl_is_str(message)) {
        pdl_lsp_receive(server, pdl_str_get(message));
        while (pdl_lsp_step(server)) {}
        is_more = true;
        end_when_over();
    } else if (server) {
        is_more = pdl_lsp_work(server);
    }
    pdl_buf_putc(out, ']');
    pdl_json_put_bool(out, "more", is_more);
    return true;
}
