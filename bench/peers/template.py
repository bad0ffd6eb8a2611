# SPDX-License-Identifier: Apache-2.0
"""template.py ENGINE N: N renderings of the 200-row template, or of one simple expression (ENGINE-expr)."""
import sys
engine, n = sys.argv[1].split("-")[0], int(sys.argv[2])
ROWS = [{"name": "ann", "score": 1.5}, {"name": "bob", "score": 2.25}] * 100
TABLE = "{% for r in rows %}{{ loop.index }}. {{ r.name | upper }}: {{ '%.2f' | format(r.score) }}\n{% endfor %}"
EXPR = "{{ i + 1 }}"
simple = sys.argv[1].endswith("-expr")
if engine == "jinja2":
    import jinja2
    template = jinja2.Environment().from_string(EXPR if simple else TABLE)
    render = template.render
else:
    import minijinja
    env = minijinja.Environment(templates={"t": EXPR if simple else TABLE.replace("'%.2f' | format(r.score)", "r.score | round(2)")})

    def render(**kw):
        return env.render_template("t", **kw)
size = 0
for i in range(n):
    size += len(render(i=i) if simple else render(rows=ROWS))
print(size)
