# SPDX-License-Identifier: Apache-2.0
"""test_unstable.py -- the rule prefix-unstable: values that change before text of a prompt that does not, and none where nothing is lost."""
import subprocess

import pytest

from ..checks import check

CODE = "- {lang: python, def: v, contribute: [], code: \"%s\"}\n"
MAKERS = ("import datetime\\nresult = str(datetime.datetime.now())", "import datetime\\nresult = str(datetime.date.today())", "import time\\nresult = time.time()",
          "import uuid\\nresult = str(uuid.uuid4())", "import random\\nresult = random.random()", "import secrets\\nresult = secrets.token_hex()",
          "import os\\nresult = os.getpid()", "result = ', '.join(x for x in set('abc'))", "import datetime\\nresult = str(datetime.datetime.utcnow())")
PROMPTS = ("- {model: openai/m, input: \"%s\"}\n", "- {text: \"%s\", role: system}\n- {model: openai/m}\n",
           "- {model: openai/m, input: {array: [{role: system, content: \"%s\"}, {role: user, content: hi}]}}\n")
WRONG = [CODE % m + PROMPTS[i % 3] % "It is ${ v }. Be kind." for i, m in enumerate(MAKERS)]
WRONG += [p % "${ [1, 2] | random } is the number." for p in PROMPTS] + [PROMPTS[0] % "${ lipsum() } Sum it up."]
RIGHT = [CODE % m + PROMPTS[i % 3] % "Be kind. It is ${ v }." for i, m in enumerate(MAKERS)]
RIGHT += [CODE % "result = 3" + PROMPTS[0] % "${ v } words.", CODE % MAKERS[0] + "- \"${ v } and text that no model gets\"\n",
          CODE % MAKERS[0] + PROMPTS[0] % "${ v }", CODE.replace("def: v", "def: w") % MAKERS[0] + PROMPTS[1] % "${ [1, 2] | first } is the number."]


def found(pdl, folder, text):
    (folder / "p.pdl").write_text("text:\n" + text)
    p = subprocess.run([pdl, "check", "p.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return (p.stdout + p.stderr).count("[prefix-unstable]")


@pytest.mark.parametrize("number", range(4))
def test_rule(pdl, tmp_path, number):
    for text in WRONG[number::4]:
        check("it is found once", found(pdl, tmp_path, text) == 1, text)
    for text in RIGHT[number::4]:
        check("nothing is found", found(pdl, tmp_path, text) == 0, text)
