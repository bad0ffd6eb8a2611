/* embed.c -- turns a file into a C source that holds its bytes: embed IN OUT.c SYMBOL.
 *
 * The source defines `const unsigned char SYMBOL[]`, followed by a NUL that `const size_t
 * SYMBOL_len` does not count. Used at build time only; it has nothing to do with embeddings of texts
 * (model/call/embedding_calls.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

enum { PER_LINE = 16 };

static void write_bytes(FILE *in, FILE *out, size_t *size) {
    *size = 0;
    for (int c; (c = getc(in)) != EOF; ++*size)
        fprintf(out, "0x%02x,%s", (unsigned)c, *size % PER_LINE == PER_LINE - 1 ? "\n" : "");
}

int main(int argc, char **argv) {
    size_t size;
    if (argc != 4) {
        fputs("usage: embed IN OUT.c SYMBOL\n", stderr);
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    FILE *out = in ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "embed: cannot open %s\n", in ? argv[2] : argv[1]);
        return 1;
    }
    const char *base = strrchr(argv[1], '/');
    fprintf(out, "/* Made from %s by tools/embed. */\n#include <stddef.h>\n\n",
            base ? base + 1 : argv[1]);
    fprintf(out,
            "extern const unsigned char %s[];\nextern const size_t %s_len;\n\nconst unsigned char "
            "%s[] = {\n",
            argv[3], argv[3], argv[3]);
    write_bytes(in, out, &size);
    fprintf(out, "0};\nconst size_t %s_len = %zu;\n", argv[3], size);
    int failed = ferror(in) || ferror(out);
    fclose(in);
    if (fclose(out) || failed) {
        fputs("embed: input or output error\n", stderr);
        return 1;
    }
    return 0;
}
