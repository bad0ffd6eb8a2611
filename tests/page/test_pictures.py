# SPDX-License-Identifier: Apache-2.0
"""First screens, light, dark and on a phone, differ in at most 1 % of their pixels from the stored pictures. Browsers and fonts of two machines draw
differently. So a picture is compared only on a machine like the one that made it: `pictures/made-with.txt` names its browser and fonts. Any other
machine keeps the pictures of its first run in the build directory, and compares later runs with these. PDL_UPDATE=1 stores the pictures of this run;
examine them first."""
import base64
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from .. import browser_of
from .browse import BUILD, check, picture
from .test_document import html_of
from .test_looks import KEPT

pytestmark = [pytest.mark.builds, pytest.mark.roomy]
OURS = pathlib.Path(__file__).resolve().parent / "pictures"
LOOKS = {"light": {"viewport": {"width": 1280, "height": 800}}, "dark": {"viewport": {"width": 1280, "height": 800}, "colorScheme": "dark"},
         "phone": {"viewport": {"width": 390, "height": 844}}}
MAX_PERCENT = 1
PARTS = 2  # each has a browser
# The percentage of pixels that differ, so that it can be seen; 100 when the sizes do.
DIFFERING = """(async () => {
  const [a, b] = await Promise.all(%s.map(async (url) => { const image = new Image(); image.src = url; await image.decode(); return image; }));
  if (a.width !== b.width || a.height !== b.height) return 100;
  const [x, y] = [a, b].map((image) => { const c = new OffscreenCanvas(a.width, a.height).getContext("2d"); c.drawImage(image, 0, 0); return c.getImageData(0, 0, a.width, a.height).data; });
  let n = 0;
  for (let i = 0; i < x.length; i += 4) n += Math.max(Math.abs(x[i] - y[i]), Math.abs(x[i + 1] - y[i + 1]), Math.abs(x[i + 2] - y[i + 2])) > 40;
  return (100 * n) / (x.length / 4);
})()"""


def machine():
    """What draws the pictures: the browser, and a sum of the names of all fonts."""
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout if shutil.which(command[0]) else ""
    fonts = "\n".join(sorted(line.split(":")[0] for line in said("fc-list").splitlines()))
    program = browser_of.browser()[0]  # two programs of one version draw differently, and say the same
    version = " ".join(said(program, "--version").split()[:2])  # without the name of the distribution, which not all programs say
    return "%s, %s\nfonts %s\n" % (os.path.basename(program), version, hashlib.sha256(fonts.encode()).hexdigest())


def kept_in():
    """The folder of the pictures that this machine is compared with."""
    made = OURS / "made-with.txt"
    if os.environ.get("PDL_UPDATE"):
        OURS.mkdir(exist_ok=True)
        made.write_text(machine())
    if made.exists() and made.read_text() == machine():
        return OURS
    other = BUILD / "pictures" / ("kept-" + hashlib.sha256(machine().encode()).hexdigest()[:12])
    other.mkdir(parents=True, exist_ok=True)
    return other


def as_url(path):
    return "data:image/jpeg;base64," + base64.b64encode(path.read_bytes()).decode()


@pytest.mark.parametrize("part", range(PARTS))
def test_first_screens(b, folder, part):
    kept, made = kept_in(), {}
    for name in KEPT[part::PARTS]:
        url = html_of(folder, name)
        for look, options in LOOKS.items():
            made[name, look] = pathlib.Path(picture("seen-%s-%s" % (name.replace("/", "-"), look)).replace(".png", ".jpg"))
            b.read(url, options)
            b.shot(str(made[name, look]), 62)
    b.run()
    pairs = []
    b.visit(url)
    for (name, look), path in made.items():
        old = kept / path.name
        if os.environ.get("PDL_UPDATE") or not old.exists():
            shutil.copyfile(path, old)
        b.evaluate(DIFFERING % json.dumps([as_url(old), as_url(path)]))
        pairs.append((name, look, old, path))
    for (name, look, old, path), percent in zip(pairs, b.run()[1:]):
        check("%s, %s: at most %d %% of its pixels differ" % (name, look, MAX_PERCENT), percent <= MAX_PERCENT, "%.2f %%: %s is kept, %s is now" % (percent, old, path))
