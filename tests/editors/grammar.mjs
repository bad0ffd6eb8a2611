// grammar.mjs TASK: colours texts by the grammar of the extension, as VS Code does. TASK is JSON: modules, grammar, texts (each {name, text, keys,
// blocks, values}: places that PyYAML found), probes. Prints JSON: what is coloured as something else, and the scopes of each probe.
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const task = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(join(task.modules, "x.js"));
const textmate = require("vscode-textmate"), oniguruma = require("vscode-oniguruma");
await oniguruma.loadWASM(readFileSync(join(task.modules, "vscode-oniguruma/release/onig.wasm")).buffer);
const other = (scopeName) => textmate.parseRawGrammar(JSON.stringify({ scopeName, patterns: [{ match: "\\S+", name: "word.other" }] }), "other.json");
const registry = new textmate.Registry({
  onigLib: Promise.resolve({ createOnigScanner: (p) => new oniguruma.OnigScanner(p), createOnigString: (s) => new oniguruma.OnigString(s) }),
  loadGrammar: async (scope) => (scope === "source.pdl" ? textmate.parseRawGrammar(readFileSync(task.grammar, "utf8"), task.grammar) : other(scope)),
});
const grammar = await registry.loadGrammar("source.pdl");

function colours(text) {
  let state = textmate.INITIAL;
  return text.split(/\r\n|\n|\r/).map((line) => {
    const r = grammar.tokenizeLine(line, state);
    state = r.ruleStack;
    return { line, tokens: r.tokens };
  });
}

// The column of PyYAML counts code points.
function scopesAt(rows, line, column) {
  const row = rows[line] || { line: "", tokens: [] };
  const at = Array.from(row.line).slice(0, column).join("").length;
  const token = row.tokens.find((t) => t.startIndex <= at && at < t.endIndex);
  return token ? token.scopes.slice(1).join(" ") : "";
}

const wrong = [];
let seen = 0;
for (const one of task.texts) {
  const rows = colours(one.text);
  const expect = (what, line, column, is) => {
    const scopes = scopesAt(rows, line, column);
    seen++;
    if (rows[line] && !is(scopes)) wrong.push(`${one.name}:${line + 1}: ${what} is «${scopes}»: ${rows[line].line.slice(0, 80)}`);
  };
  for (const [line, column, quoted] of one.keys) expect("a key", line, column, (s) => (quoted ? /string\.quoted/ : /keyword\.control|entity\.name\.tag|meta\.embedded/).test(s));
  for (const [line, column] of one.blocks) expect("text of a block scalar", line, column, (s) => /string\.unquoted\.block|meta\.embedded/.test(s));
  for (const [line, column, quoted] of one.values)
    expect("the end of a value", line, column, (s) => (quoted ? /string\.quoted/.test(s) : !/string\.quoted|comment|entity\.name/.test(s) || /embedded/.test(s)));
}
const probes = Object.fromEntries(Object.entries(task.probes).map(([name, [text, line, column]]) => [name, scopesAt(colours(text), line, column)]));
console.log(JSON.stringify({ seen, wrong, probes }));
