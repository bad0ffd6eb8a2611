/* test_secret.c -- secrets are found in every form, also in pieces; names and addresses whose
 * values are secret are recognised.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/secret.h"

#include "t.h"
#include "value/json_read.h"
#include "value/json_write.h"

static pdl_secrets *with(const char *const *texts, size_t n) {
    pdl_secrets *s = pdl_secrets_new();
    for (size_t i = 0; i < n; i++) pdl_secrets_add(s, t_str(texts[i]));
    return s;
}
static const char *const known[] = {"s1",    "s12",   "a\"b\\c\nd", "k\xc3\xa9y/\xf0\x9f\x98\x80",
                                    "p%q r", "tail\\"};

static const struct {
    const char *in, *out;
} texts[] = {
    {"", ""},
    {"nothing", "nothing"},
    {"xs1y s12 s13", "x[REDACTED]y [REDACTED] [REDACTED]3"},
    {"a\"b\\c\nd.", "[REDACTED]."},
    {"{\"x\":\"a\\\"b\\\\c\\nd.\"}", "{\"x\":\"[REDACTED].\"}"}, /* JSON */
    {"a\\u0022b\\u005Cc\\u000Ad.", "[REDACTED]."},
    {"\\u0073\\u0031.", "[REDACTED]."},
    {"\"a\\\\\\\"b\\\\\\\\c\\\\nd.\"", "\"[REDACTED].\""}, /* JSON in JSON */
    {"k\\u00e9y\\/\\ud83d\\ude00.", "[REDACTED]."},        /* ASCII only */
    {"k\\xe9y/\xf0\x9f\x98\x80.", "[REDACTED]."},          /* Python */
    {"k%C3%a9y%2f%F0%9f%98%80.", "[REDACTED]."},           /* an address */
    {"p%q r p%25q%20r", "[REDACTED] [REDACTED]"},
    {"tail\\.", "[REDACTED]."},
    {"\"tail\\\\\"", "\"[REDACTED]\""},
    {"s", "s"},
    {"a\"b\\", "a\"b\\"},
    {"a\"b\\.. a\"b...", "a\"b\\.. a\"b..."},
    {"\\", "\\"},
    {"%", "%"},
};

static void test_texts(void **state) {
    (void)state;
    pdl_secrets *s = with(known, T_LEN(known));
    for (size_t i = 0; i < T_LEN(texts); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        pdl_redact_text(s, t_str(texts[i].in), &b);
        t_assert_str(pdl_buf_str(&b), texts[i].out);
        pdl_buf_fini(&b);
    }
    pdl_secrets_free(s);
}

/* The same in pieces of every size: what comes out is the same. */
static void test_pieces(void **state) {
    (void)state;
    pdl_secrets *s = with(known, T_LEN(known));
    for (size_t i = 0; i < T_LEN(texts); i++)
        for (size_t size = 1; size < 6; size++) {
            T_ROW(i);
            pdl_buf b = PDL_BUF;
            pdl_redactor h = PDL_REDACTOR(s);
            pdl_str in = t_str(texts[i].in);
            for (size_t at = 0; at < in.n; at += size)
                pdl_redactor_feed(&h, pdl_str_sub(in, at, at + size < in.n ? at + size : in.n), &b);
            pdl_redactor_end(&h, &b);
            t_assert_str(pdl_buf_str(&b), texts[i].out);
            pdl_buf_fini(&b);
        }
    pdl_secrets_free(s);
}

/* Little is held back, and a text that looks like a secret at every byte takes time in proportion
 * to its length. */
static void test_bounds(void **state) {
    (void)state;
    pdl_buf key = PDL_BUF, text = PDL_BUF, out = PDL_BUF;
    for (size_t i = 0; i < 20000; i++) pdl_buf_putc(&key, i < 19999 ? 'a' : 'b');
    for (size_t i = 0; i < 1000000; i++) pdl_buf_putc(&text, 'a');
    pdl_secrets *s = pdl_secrets_new();
    pdl_secrets_add(s, pdl_buf_str(&key));
    pdl_redactor h = PDL_REDACTOR(s);
    pdl_redactor_feed(&h, pdl_str_sub(pdl_buf_str(&text), 0, 100), &out);
    t_assert(h.held.len == 100 && out.len == 0);
    pdl_redactor_feed(&h, pdl_buf_str(&text), &out);
    t_assert(h.held.len <= 512);
    pdl_redactor_end(&h, &out);
    pdl_buf_clear(&out);
    pdl_redact_text(s, pdl_buf_str(&key), &out);
    t_assert(pdl_str_find(pdl_buf_str(&out), PDL_STR("a"), 0) == PDL_NOT_FOUND &&
             pdl_str_find(pdl_buf_str(&out), PDL_STR("b"), 0) == PDL_NOT_FOUND);
    pdl_buf_clear(&text);
    for (size_t i = 0; i < 200000; i++) pdl_buf_putc(&text, '\\');
    pdl_redact_text(s, pdl_buf_str(&text), &out);
    pdl_secrets_free(s);
    pdl_buf_fini(&out);
    pdl_buf_fini(&text);
    pdl_buf_fini(&key);
}

static pdl_val json(const char *text) {
    pdl_val v;
    pdl_err err = {0};
    t_assert(pdl_json_read(t_str(text), 0, &v, NULL, &err));
    return v;
}

static void test_values(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"[1,\"no\",{\"a\":\"b\"}]", "[1,\"no\",{\"a\":\"b\"}]"},
        {"\"xs1y s12\"", "\"x[REDACTED]y [REDACTED]\""},
        {"{\"api_key\":\"k\",\"Token\":\"t\",\"key\":\"k\"}",
         "{\"api_key\":\"[REDACTED]\",\"Token\":\"[REDACTED]\",\"key\":\"k\"}"},
        {"{\"extra_headers\":{\"X-Any\":\"k\",\"Cookie\":\"k\",\"Accept\":\"a\"}}",
         "{\"extra_headers\":{\"X-Any\":\"[REDACTED]\",\"Cookie\":\"[REDACTED]\",\"Accept\":\"a\"}"
         "}"},
        {"{\"a\":[{\"b\":\"s1\"}],\"s1\":2}", "{\"a\":[{\"b\":\"[REDACTED]\"}],\"[REDACTED]\":2}"},
    };
    pdl_secrets *s = with(known, T_LEN(known));
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_err err = {0};
        pdl_buf b = PDL_BUF;
        pdl_val v = pdl_redact_val(s, json(rows[i].in));
        t_assert(pdl_json_write(v, 0, 0, &b, &err));
        t_assert_str(pdl_buf_str(&b), rows[i].out);
        pdl_buf_fini(&b);
        pdl_drop(v);
    }
    pdl_val v = pdl_redact_val(NULL, json("{\"token\": \"x\", \"a\": \"s1\"}"));
    t_assert_str(pdl_str_get(pdl_dict_getz(v, "token")), "[REDACTED]");
    t_assert_str(pdl_str_get(pdl_dict_getz(v, "a")), "s1");
    pdl_drop(v);
    pdl_secrets_free(s);
}

/* Letters of a secret in the texts of several lines. */
static void test_lines(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"d: {\"c\":\"x0-\"}\nd: {\"c\":\"1y\"}\n",
         "d: {\"c\":\"[REDACTED]\"}\nd: {\"c\":\"y\"}\n"},
        {"d: {\"c\":\"x\",\"n\":\"0\"}\n\nd: {\"c\":\"0\"}\nd: {\"c\":\"-\"}\nd: {\"c\":\"1\"}\n",
         "d: {\"c\":\"[REDACTED]\",\"n\":\"0\"}\n\nd: {\"c\":\"\"}\nd: {\"c\":\"\"}\nd: "
         "{\"c\":\"\"}\n"},
        {"d: {\"a\":\"x0\"}\nd: {\"b\":\"-1\"}\n", "d: {\"a\":\"x0\"}\nd: {\"b\":\"-1\"}\n"},
        {"1: {\"a\":\"x0\"}\n2: {\"a\":\"-1\"}\n", "1: {\"a\":\"x0\"}\n2: {\"a\":\"-1\"}\n"},
        {"plain x0-1 \"open x0-1\n\"open abcd",
         "plain [REDACTED] \"open [REDACTED]\n\"open [REDACTED]"},
        {"{\"x0-1\":1,\"\\u0078\\u0030-1\":[\"x0-1\",\"x\",\"0-1\"]}",
         "{\"[REDACTED]\":1,\"[REDACTED]\":[\"[REDACTED]\",\"[REDACTED]\",\"\"]}"},
    };
    static const char *const secrets[] = {"x0-1", "abcdefgh"};
    pdl_secrets *s = with(secrets, 2);
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf whole = PDL_BUF, fed = PDL_BUF;
        pdl_str in = t_str(rows[i].in);
        pdl_redact_lines(s, in, &whole);
        t_assert_str(pdl_buf_str(&whole), rows[i].out);
        pdl_redactor h = PDL_REDACTOR(s);
        for (size_t at = 0; at < in.n;) {
            size_t nl = pdl_str_find(in, PDL_STR("\n"), at),
                   end = nl == PDL_NOT_FOUND ? in.n : nl + 1;
            pdl_redactor_feed_lines(&h, pdl_str_sub(in, at, end), &fed);
            at = end;
        }
        pdl_redactor_end_lines(&h, &fed);
        t_assert_str(pdl_buf_str(&fed), rows[i].out);
        pdl_buf_fini(&whole);
        pdl_buf_fini(&fed);
    }
    pdl_secrets_free(s);
}

static const struct {
    const char *url, *shown;
} addresses[] = {
    {"http://h/p", "http://h/p"},
    {"http://u:p@h/p", "http://***@h/p"},
    {"http://token@h", "http://***@h"},
    {"http://h/p?api-version=1&key=abc&x", "http://h/p?api-version=1&key=***&***"},
    {"http://h/a@b", "http://h/a@b"},
    {"http://h/p#token", "http://h/p#***"},
    {"http://h/p?alt=sse#token?x", "http://h/p?alt=sse#***"},
    {"h/p?k=v", "h/p?k=***"},
    {"", ""},
};

static void test_addresses(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(addresses); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        pdl_address_put(t_str(addresses[i].url), &b);
        t_assert_str(pdl_buf_str(&b), addresses[i].shown);
        pdl_buf_fini(&b);
    }
}

static void test_notes(void **state) {
    (void)state;
    pdl_secrets *s = pdl_secrets_new();
    pdl_buf b = PDL_BUF;
    pdl_val params = json(
        "{\"api_key\":\"in-param\",\"temperature\":\"not-me\",\"bos_token\":\"not-me\",\"extra_"
        "headers\":{\"X-A\":\"Bearer in-header\",\"Cookie\":\"a=one-cookie; b=two-cookie\"},"
        "\"fallbacks\":[{\"model\":\"m\",\"api_key\":\"in-fallback\"}],\"api_base\":\"http://"
        "me:pass%2Dword@h?k=in-query\"}");
    t_assert(!pdl_secrets_any(s));
    pdl_secrets_note_parameters(s, params);
    pdl_secrets_note_variable(s, PDL_STR("MY_TOKEN"), PDL_STR("in-variable"));
    pdl_secrets_note_variable(s, PDL_STR("HOME"), PDL_STR("not-me"));
    pdl_secrets_note(s, PDL_STR("short"));
    pdl_secrets_note(s, PDL_STR("ollama"));
    t_assert(pdl_secrets_any(s));
    pdl_redact_text(s,
                    PDL_STR("in-param not-me in-header one-cookie two-cookie in-fallback pass-word "
                            "bWU6cGFzcy13b3Jk in-query in-variable short ollama"),
                    &b);
    t_assert_str(pdl_buf_str(&b), "[REDACTED] not-me [REDACTED] [REDACTED] [REDACTED] [REDACTED] "
                                  "[REDACTED] [REDACTED] [REDACTED] [REDACTED] short ollama");
    pdl_buf_fini(&b);
    pdl_drop(params);
    pdl_secrets_free(s);
    pdl_secrets_note_parameters(NULL, pdl_absent());
    pdl_secrets_note(NULL, PDL_STR("nobody"));
}

/* Characters of a key as their numbers, also a backslash, and as entities of HTML. */
static void test_numbers_and_entities(void **state) {
    (void)state;
    static const struct {
        const char *key, *text, *shown;
    } rows[] = {
        {"secret\\123", "a secret\\123 b", "a [REDACTED] b"},
        {"secret\\123", "a secret\\\\123 b", "a [REDACTED] b"},
        {"secret\\123", "a secret\\u005c123 b", "a [REDACTED] b"},
        {"secret\\123", "a secret\\x5c123 b", "a [REDACTED] b"},
        {"secret\\123", "a secret\\\\u005C123 b", "a [REDACTED] b"},
        {"secret\\123", "a \\u0073ecret\\u005c123 b", "a [REDACTED] b"},
        {"secret\\123", "a secret\\u005d123 b", "a secret\\u005d123 b"},
        {"secret\\123", "a secret&#92;123 b", "a [REDACTED] b"},
        {"secret\\\\12", "a secret\\u005c\\u005c12 b", "a [REDACTED] b"},
        {"secret\\u005c1", "a secret\\u005c1 secret\\\\u005c1 b", "a [REDACTED] [REDACTED] b"},
        {"secret123\\", "a secret123\\u005c", "a [REDACTED]"},
        {"secret123\\", "a secret123\\\\ b", "a [REDACTED] b"},
        {"secret123\\", "a secret123\\", "a [REDACTED]"},
        {"secret123\\", "a secret123\\u00", "a [REDACTED]u00"},
        {"a&b<c>d\"e'f", "x a&amp;b&lt;c&gt;d&quot;e&#39;f y", "x [REDACTED] y"},
        {"a&b<c>d\"e'f", "x a&#38;b&#60;c&#62;d&#34;e&apos;f y", "x [REDACTED] y"},
        {"a&b<c>d\"e'f", "x a&#x26;b&#x3c;c&#X3E;d&#x00022;e&#x27;f y", "x [REDACTED] y"},
        {"a&b<c>d\"e'f", "x a&amp;amp;b&amp;lt;c&amp;gt;d&amp;#34;e&amp;amp;#39;f y",
         "x [REDACTED] y"},
        {"a&b<c>d\"e'f", "x a\\u0026amp;b\\u0026lt;c\\u003ed\\\"e\\u0026#39;f y", "x [REDACTED] y"},
        {"a&b<c>d\"e'f", "x a&b&lt;c>d\\\"e'f y", "x [REDACTED] y"},
        {"&lt;abc&amp;", "x &lt;abc&amp; y", "x [REDACTED] y"},
        {"&lt;abc&amp;", "x &amp;lt;abc&amp;amp; y", "x [REDACTED] y"},
        {"abc\u00e9\u20ac12", "x abc&#xe9;&#8364;12 y", "x [REDACTED] y"},
        {"abcd&12", "&#97;bcd&amp;12 &#97;bcd&amp;13", "[REDACTED] &#97;bcd&amp;13"},
        {"abcd&12", "abcd& abcd&a abcd&am abcd&amp", "abcd& abcd&a abcd&am abcd&amp"},
        {"abcd&12", "abcd&# abcd&#; abcd&#x; abcd&#x", "abcd&# abcd&#; abcd&#x; abcd&#x"},
        {"abcd&12", "abcd&#99999999999;12 abcd&#x110000;12 abcd&#xd800;12",
         "abcd&#99999999999;12 abcd&#x110000;12 abcd&#xd800;12"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_secrets *s = pdl_secrets_new();
        pdl_buf b = PDL_BUF, pieces = PDL_BUF;
        pdl_redactor h = PDL_REDACTOR(s);
        pdl_secrets_add(s, t_str(rows[i].key));
        pdl_redact_text(s, t_str(rows[i].text), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].shown);
        for (const char *p = rows[i].text; *p; p++) pdl_redactor_feed(&h, (pdl_str){p, 1}, &pieces);
        pdl_redactor_end(&h, &pieces);
        t_assert_str(pdl_buf_str(&pieces), rows[i].shown);
        pdl_buf_fini(&b);
        pdl_buf_fini(&pieces);
        pdl_secrets_free(s);
    }
}

/* An excerpt of a long line begins anywhere. */
static void test_left_ends(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"    1 | ...ret-123 b", "    1 | ...[REDACTED] b"},
        {"    1 | ...cret-123", "    1 | ...[REDACTED]"},
        {"| ...123 b", "| ...123 b"}, /* three letters are nothing */
        {"| ...t-123\n", "| ...[REDACTED]\n"},
        {"| ...t-12 b", "| ...t-12 b"},
        {"| ...ecret-123secret-123", "| ...[REDACTED][REDACTED]"},
        {"...ecret-123", "...ecret-123"},
        {"| ...", "| ..."},
        {"| ...\\u0074-123\"", "| ...[REDACTED]\""},
    };
    pdl_secrets *s = pdl_secrets_new();
    pdl_secrets_add(s, PDL_STR("secret-123"));
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        pdl_redact_cut(s, t_str(rows[i].text), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].shown);
        pdl_buf_fini(&b);
    }
    pdl_buf many = PDL_BUF, b = PDL_BUF;
    for (int i = 0; i < 102; i++) PDL_PUT(&many, "| ...zt-123\n");
    pdl_redact_cut(s, pdl_buf_str(&many), &b);
    assert_true(pdl_str_ends(pdl_buf_str(&b), PDL_STR("| ...[REDACTED]\n")));
    pdl_buf_fini(&b);
    pdl_buf_fini(&many);
    pdl_secrets_free(s);
}

/* Someone writes a key where the name belongs; names of models are not taken for keys. */
static void test_models(void **state) {
    (void)state;
    static const struct {
        const char *name, *shown;
    } rows[] = {
        {"openai/sk-proj-AbCdEf1234567890", "openai/[REDACTED]"},
        {"sk-ant-api03-AbCdEf12345", "[REDACTED]"},
        {"gemini/AIzaSyA1234567890bcdefg:x", "gemini/[REDACTED]:x"},
        {"openai/gpt-4o?key=gsk_AbCdEf12345678901", "openai/gpt-4o?key=[REDACTED]"},
        {"openai/sk-tooshortforakey", "openai/sk-tooshortforakey"},
        {"openai/sk-justtwentylettersx", "openai/[REDACTED]"},
        {"perplexity/pplx-70b-online", "perplexity/pplx-70b-online"},
        {"ft:gpt-4o-mini-2024-07-18:org::AbC12345", "ft:gpt-4o-mini-2024-07-18:org::AbC12345"},
        {"", ""},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_secrets *s = pdl_secrets_new();
        pdl_buf b = PDL_BUF;
        pdl_secrets_note_model(s, t_str(rows[i].name));
        pdl_redact_text(s, t_str(rows[i].name), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].shown);
        pdl_buf_fini(&b);
        pdl_secrets_free(s);
    }
    pdl_secrets_note_model(NULL, PDL_STR("sk-proj-AbCdEf1234567890"));
}

/* A value may contain semicolons, which some servers take for the end of a part. */
static void test_semicolons(void **state) {
    (void)state;
    static const struct {
        const char *url, *says, *shown;
    } rows[] = {
        {"http://h/?token=Zx9;Qp4;77;aa", "bad Zx9;Qp4;77;aa", "bad [REDACTED]"},
        {"http://h/?token=Zx91;Qp42&a=1", "bad Zx91;Qp42", "bad [REDACTED]"},
        {"http://h/?version=1;token=Zx9;Qp4", "bad Zx9;Qp4", "bad [REDACTED]"},
        {"http://h/?a=1;token=Zx91;Qp42;b=2", "bad Zx91;Qp42", "bad [REDACTED]"},
        {"http://h/?token=Zx91%3BQp42", "bad Zx91;Qp42", "bad [REDACTED]"},
        {"http://h/?token=;Qp4242", "bad Qp4242", "bad [REDACTED]"},
        {"http://h/x;token=Zx9;Qp4/v1", "bad Zx9;Qp4", "bad [REDACTED]"},
        {"http://h/x;Zx9=;Qp4/v1", "bad Zx9=;Qp4", "bad [REDACTED]"},
        {"http://h/x;a=1/y;Zx91;Qp42", "bad Zx91;Qp42", "bad [REDACTED]"},
        {"http://h/x;/y;?&;&", "bad x;/y", "bad x;/y"},
        {"http://h/?version=2024-10-01", "of 2024-10-01", "of 2024-10-01"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_secrets *s = pdl_secrets_new();
        pdl_buf b = PDL_BUF;
        pdl_secrets_note_address(s, t_str(rows[i].url));
        pdl_redact_text(s, t_str(rows[i].says), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].shown);
        pdl_buf_fini(&b);
        pdl_secrets_free(s);
    }
}

/* What a program asks the web for is no secret, but a key among it is. */
static void test_pages(void **state) {
    (void)state;
    static const struct {
        const char *url, *says, *shown;
    } rows[] = {
        {"http://h/?q=pdl+language&count=10", "about pdl language", "about pdl language"},
        {"http://h/?q=languages2026", "about languages2026", "about languages2026"},
        {"http://h/?q=the%20languages%202026", "the languages 2026", "the languages 2026"},
        {"http://h/?keyword=climatechange", "climatechange", "climatechange"},
        {"http://h/?apikey=climatechange", "climatechange", "[REDACTED]"},
        {"http://h/?a=b&access_token=climate", "climate", "[REDACTED]"},
        {"http://h/?sig=ab%2Bcdefg", "ab+cdefg", "[REDACTED]"},
        {"http://h/?appid=0a1b2c3d4e5f6071", "0a1b2c3d4e5f6071", "[REDACTED]"},
        {"http://h/?appid=0a1b2c3d4e5f607", "0a1b2c3d4e5f607", "0a1b2c3d4e5f607"},
        {"http://me:climate7@h/?q=a", "climate7", "[REDACTED]"},
        {"http://h/x;jsessionid=climate7?q=a", "climate7", "[REDACTED]"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_secrets *s = pdl_secrets_new();
        pdl_buf b = PDL_BUF;
        pdl_val request = pdl_dict_putz(pdl_dict_new(1), "url", pdl_text(t_str(rows[i].url)));
        pdl_secrets_note_page(s, request);
        pdl_redact_text(s, t_str(rows[i].says), &b);
        t_assert_str(pdl_buf_str(&b), rows[i].shown);
        pdl_drop(request);
        pdl_buf_fini(&b);
        pdl_secrets_free(s);
    }
}

/* A key comes with each request: only the first time there is something to do. */
static void test_first(void **state) {
    (void)state;
    pdl_secrets *s = pdl_secrets_new();
    char text[2000];
    memset(text, 'x', sizeof text);
    assert_true(pdl_secrets_add_first(s, (pdl_str){text, 300})); /* nodes and edges grow */
    assert_false(pdl_secrets_add_first(s, (pdl_str){text, 300}));
    assert_true(pdl_secrets_add_first(s, (pdl_str){text, 299}));
    assert_false(pdl_secrets_add_first(s, (pdl_str){text, 299}));
    assert_false(pdl_secrets_add_first(s, (pdl_str){text, 0}));
    assert_false(pdl_secrets_add_first(NULL, (pdl_str){text, 3}));
    pdl_secrets_add(s, PDL_STR("another"));
    assert_true(pdl_secrets_add_first(s, PDL_STR("another")));
    assert_true(pdl_secrets_add_first(s, (pdl_str){text, sizeof text}));
    assert_true(pdl_secrets_add_first(s, (pdl_str){text, sizeof text}));
    pdl_secrets_free(s);
}

/* Whoever has written texts redacts them again when the size has changed. */
static void test_size(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_new;
    } rows[] = {{"hush-hush", true}, {"hush-hush", false}, {"hush", true},       {"hush", false},
                {"hush-h", true},    {"sh-hush", true},    {"hush-hush!", true}, {"", false}};
    pdl_secrets *s = pdl_secrets_new();
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        size_t before = pdl_secrets_size(s);
        pdl_secrets_add(s, t_str(rows[i].text));
        assert_int_equal(pdl_secrets_size(s) > before, rows[i].is_new);
    }
    pdl_secrets_free(s);
    assert_int_equal(pdl_secrets_size(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),      cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_bounds),     cmocka_unit_test(test_values),
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_pages),      cmocka_unit_test(test_notes),
        cmocka_unit_test(test_models),     cmocka_unit_test(test_left_ends),
        cmocka_unit_test(test_first),      cmocka_unit_test(test_size),
        cmocka_unit_test(test_semicolons), cmocka_unit_test(test_numbers_and_entities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
