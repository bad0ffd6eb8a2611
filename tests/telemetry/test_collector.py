# SPDX-License-Identifier: Apache-2.0
"""test_collector.py -- traces of a run as the OpenTelemetry collector understands them, according to its debug exporter.

The collector is `$PDL_OTELCOL`, or else `otelcol` or `otelcol-contrib` on PATH. Without a collector the test is skipped. docs/reliability.md says how
to make one.
"""
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from ..checks import check, skip
from .kit import KEY, PROGRAM, Collector

pytestmark = pytest.mark.tier("all")
SECONDS = 60
CONFIG = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}}}}
exporters: {debug: {verbosity: detailed, use_internal_logger: false}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
"""


def collector():
    named = os.environ.get("PDL_OTELCOL")
    return named if named else shutil.which("otelcol") or shutil.which("otelcol-contrib")


def parse(text):
    """-> attributes of resources, spans: dicts of what is printed, attributes under their names."""
    resource, spans, into = {}, [], None
    for line in text.splitlines():
        fact = re.match(r"\s+-> ([^:]+): \w+\((.*)\)$", line)
        field = re.match(r"    ([A-Z][A-Za-z ]*?)\s*: (.*)$", line)
        if line.startswith("Resource attributes"):
            into = resource
        elif line.startswith("Span #"):
            into = {}
            spans.append(into)
        elif fact and into is not None:
            into[fact.group(1)] = fact.group(2)
        elif field and spans:
            spans[-1][field.group(1)] = field.group(2).strip()
    return resource, spans


class Told:
    def __init__(self, pdl, work, exe):
        self.pdl, self.work, self.exe = pdl, work, exe
        self.service = Collector()  # answers prompts
        (self.work / "p.pdl").write_text(PROGRAM)
        (self.work / "data.txt").write_text("some data\n")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        (self.work / "config.yaml").write_text(CONFIG % self.port)

    def start(self):
        self.out = open(self.work / "out", "w+b")
        self.errors = open(self.work / "err", "w+b")
        self.p = subprocess.Popen([self.exe, "--config", str(self.work / "config.yaml")], stdout=self.out, stderr=self.errors, cwd=self.work)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self.p.poll() is None:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            time.sleep(0.1)
        return False

    def run_program(self, *args, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_") and k not in ("PDL_OTLP", "TRACEPARENT")}
        env.update(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=self.service.base + "/v1", OPENAI_API_BASE=self.service.base + "/v1", PDL_OTLP="1",
                   OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:%d" % self.port, OTEL_SERVICE_NAME="a service", **more)
        p = subprocess.run([self.pdl, *args, "p.pdl"], cwd=self.work, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
        check("the run, without a note", p.returncode == 0 and not p.stderr, (p.returncode, p.stdout, p.stderr))

    def printed(self, names):
        """What the collector has printed, once every name is there."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            text = (self.work / "out").read_text()
            if all(text.count(": %s\n" % n) >= k for n, k in names.items()):
                break
            time.sleep(0.1)
        return text

    def run(self):
        if not self.start():
            check("the collector starts", False, (self.work / "err").read_text())
            return
        trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        self.run_program(TRACEPARENT="00-%s-%s-01" % (trace, parent))
        text = self.printed({"pdl p.pdl": 1})
        resource, spans = parse(text)
        by = {s["Name"]: s for s in spans}
        check("every span has come", sorted(by) == sorted(["pdl p.pdl", "plan", "chat some-model", "shout", "command echo", "read", "a step with a file"]), text)
        check("the resource", resource.get("service.name") == "a service" and resource.get("telemetry.sdk.name") == "libpdl", resource)
        check("the trace of who started the run goes on", {s["Trace ID"] for s in spans} == {trace} and by["pdl p.pdl"]["Parent ID"] == parent, text)
        for name, up in {"plan": "pdl p.pdl", "chat some-model": "plan", "shout": "pdl p.pdl", "command echo": "shout", "read": "a step with a file"}.items():
            check("%s is in %s" % (name, up), by[name]["Parent ID"] == by[up]["ID"], text)
        chat = by["chat some-model"]
        want = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "some-model", "gen_ai.usage.input_tokens": "11",
                "gen_ai.usage.output_tokens": "5", "gen_ai.response.finish_reasons": '["stop"]', "Kind": "Client"}
        check("facts of a model call", {k: chat.get(k) for k in want} == want, chat)
        check("the service was told of its span", self.service.parents == ["00-%s-%s-01" % (trace, chat["ID"])], self.service.parents)
        check("no content", "the answer" not in text and "loud" not in text, text)
        self.run_program("--otlp-content")
        text = self.printed({"pdl p.pdl": 2})
        check("content where it is asked for", "the answer" in text and "the question" in text and KEY not in text, text[-3000:])
        errors = (self.work / "err").read_text()
        check("the collector complains of nothing", "\terror\t" not in errors and "\twarn\t" not in errors, errors)


def test_collector(pdl, folder):
    exe = collector()
    if exe:
        Told(pdl, folder, exe).run()
    else:
        skip("the OpenTelemetry collector", "there is none here (PDL_OTELCOL names one)")
