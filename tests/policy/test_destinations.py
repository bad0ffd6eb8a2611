"""The destination of a request matters as much as its content. The built-in policies examine the name of the model, headers, and paths of files
outside of the program's folder, whichever part of the program chose them.
SPDX-License-Identifier: Apache-2.0
"""
import pytest

from ..checks import check
from .tries import run

DEFS = {"w": {"read": "mail"}}


def model(name="openai/m", **parameters):
    return {"model": name, "input": "q", "parameters": {"mock_response": "RAN", "num_retries": 0, **parameters}}


ASKED = {
    "the name of a model": (model("openai/${ w }"), "name of sink model"), "a whole name": (model("${ 'openai/' ~ w }"), "name of sink model"),
    "a fallback": (model(fallbacks=["openai/${ w }"]), "name of sink model"), "a fallback, an object": (model(fallbacks=[{"model": "openai/${ w }"}]), "name of sink model"),
    "the service": (model("m", custom_llm_provider="${ w }"), "name of sink model"), "a header": (model(extra_headers={"x": "${ w }"}), "headers of sink model"),
    "the name of a header": (model(extra_headers={"${ w }": "a"}), "headers of sink model"), "headers": (model(headers={"x": "${ w }"}), "headers of sink model"),
    "a longer model": (model(context_window_fallback_dict={"openai/m": "openai/${ w }"}), "name of sink model"),
    "a name in the body": (model(extra_body={"model": "${ w }"}), "name of sink model"), "a name in the body of a fallback": (
        model(fallbacks=[{"model": "openai/n", "extra_body": {"model": "${ w }"}}]), "name of sink model"),
    **{"in the body, " + key: (model(extra_body={key: value}), "name of sink model") for key, value in (
        ("models", ["openai/a", "openai/${ w }"]), ("provider", {"order": ["${ w }"]}), ("provider", {"data_collection": "${ w }"}), ("providers", ["${ w }"]), ("route", "${ w }"),
        ("preset", "${ w }"), ("plugins", [{"id": "${ w }"}]), ("providerOptions", {"gateway": {"only": ["${ w }"]}}), ("deployment_id", "${ w }"), ("model_id", "${ w }"),
        ("version", "${ w }"), ("fallbacks", ["${ w }"]), ("custom_llm_provider", "${ w }"))},
    **{"a parameter that the service gets, " + key: (model(**{key: value}), "name of sink model") for key, value in (
        ("models", ["openai/${ w }"]), ("provider", {"order": ["${ w }"]}), ("route", "${ w }"))},
    "what chooses, as a whole": (model(extra_body="${ {'provider': {'order': [w]}} }"), "name of sink model"),
    "an untrusted name of a member that chooses": (model(extra_body="${ {w | replace('hosts', 'models'): ['openai/n']} }"), "name of sink model"),
    "what chooses, of a fallback": (model(fallbacks=[{"model": "openai/n", "extra_body": {"models": ["${ w }"]}}]), "name of sink model"),
    "what chooses, of embeddings": ({"data": "${ stdlib.embed('openai/m', ['a'], parameters={'extra_body': {'provider': {'order': [w]}}}) }"}, "name of sink embed"),
    "the account in the body": (model(extra_body={"project_id": "${ w }"}), "headers of sink model"),
    "headers of a fallback": (model(fallbacks=[{"model": "openai/n", "extra_headers": {"x": "${ w }"}}]), "headers of sink model"),
    "a model of embeddings": ({"data": "${ stdlib.embed('openai/' ~ w, ['a']) }"}, "name of sink embed"),
    "headers of embeddings": ({"data": "${ stdlib.embed('openai/m', ['a'], parameters={'extra_headers': {'x': w}}) }"}, "headers of sink embed"),
    **{"the account, " + key: (model(**{key: "${ w }"}), "headers of sink model") for key in (
        "organization", "api_key", "token", "project_id", "space_id", "aws_region_name", "aws_access_key_id", "vertex_project", "vertex_location", "vertex_credentials")},
    "the account of a fallback": (model(fallbacks=[{"model": "openai/n", "api_key": "${ w }"}]), "headers of sink model"),
    "the account of embeddings": ({"data": "${ stdlib.embed('openai/m', ['a'], parameters={'organization': w}) }"}, "headers of sink embed"),
    **{"an address that the service calls, %d" % i: (model(**given), "address of sink url") for i, given in enumerate((
        {"tools": [{"type": "mcp", "server_label": "x", "server_url": "https://${ w }"}]}, {"extra_body": {"tools": [{"type": "mcp", "server_url": "https://${ w }/mcp"}]}},
        {"extra_body": {"mcp_servers": [{"type": "url", "url": "https://${ w }"}]}}, {"extra_body": {"data_sources": [{"type": "azure_search", "parameters": {"endpoint": "https://${ w }"}}]}},
        {"extra_body": {"webhook": "https://${ w }"}}, {"extra_body": {"callbackUrl": "https://${ w }"}}, {"extra_body": "${ {'callback_url': 'https://' ~ w} }"},
        {"fallbacks": [{"model": "openai/n", "extra_body": {"webhook_uri": "https://${ w }"}}]}))},
    "a file outside": ({"read": "../${ w }"}, "path of sink read"), "an absolute path": ({"read": "/etc/${ w }"}, "path of sink read"), "a link that leads out": ({"read": "out/${ w }"}, "path of sink read"),
    "a path that is up and down": ({"read": "./${ '../' * 9 }etc/${ w }"}, "path of sink read"), "a whole path": ({"read": "${ '/etc/' ~ w }"}, "path of sink read"),
}
FREE = {
    "a name by the author": model(), "a name by the user": model("openai/${ u }"), "a header of the user": model(extra_headers={"x": "${ u }"}), "the text of a message": {**model(), "input": "${ w }"},
    "a bounded name": {"defs": {"k": {"data": "${ w }", "spec": {"enum": ["hosts", "b"]}}}, **model("${ {'hosts': 'openai/m'}[k] }")},
    "a file beside": {"text": ["RAN ", {"read": "./${ w }"}]}, "a file below": {"text": ["RAN ", {"read": "sub/${ w }"}]}, "a file outside by the user": {"text": ["RAN ", {"read": "../${ u }"}]},
    "a file outside by the author": {"text": ["RAN ", {"read": "../hosts"}]}, "a parameter": model(temperature="${ w | length }"), "the account by the user": model(organization="${ u }", api_key="${ u }"), "the body": model(extra_body={"note": "${ w }"}),
    "an address that the service calls, by the author": model(tools=[{"type": "mcp", "server_label": "${ w }", "server_url": "https://a.example"}]),
    "an address that the service calls, by the user": model(extra_body={"webhook": "https://${ u }"}), "no address": model(metadata={"source_url": "${ w }"}),
    "the body chooses, by the author": model(extra_body={"models": ["openai/n"], "provider": {"order": ["a"]}, "note": "${ w }"}),
    "the body chooses, by the user": model(extra_body={"models": ["${ u }"], "provider": {"order": ["${ u }"]}}), "a member of that name deeper": model(extra_body={"metadata": {"route": "${ w }"}}),
    "the body chooses, bounded": {"defs": {"k": {"data": "${ w }", "spec": {"enum": ["hosts", "b"]}}}, **model(extra_body={"models": ["${ k }"]})},
}


def lay_out(folder):
    own = folder / "own"
    (own / "sub").mkdir(parents=True)
    for path in (folder / "hosts", own / "hosts", own / "sub/hosts", folder / "m"):
        path.write_text("hosts")
    (own / "out").symlink_to("..")
    return own


@pytest.mark.parametrize("policy", ("careful", "strict"))
def test_untrusted_text(pdl, folder, policy):
    own = lay_out(folder)
    for name, (block, want) in ASKED.items():
        out, err = run(pdl, own, {"defs": DEFS, "text": [block]}, policy=policy, files={"mail": "hosts"})
        check(f"{name}: {policy}", want in err and "RAN" not in out, out, err)


@pytest.mark.parametrize("policy", ("careful", "strict"))
def test_what_may_go_on(pdl, folder, policy):
    own = lay_out(folder)
    for name, block in FREE.items():
        out, err = run(pdl, own, {"defs": DEFS, "text": [block]}, "-d", "u=hosts", policy=policy, files={"mail": "hosts"})
        check(f"{name}: {policy}", "RAN" in out and "refuses" not in err, out, err)


TOKENS = '{"type": "authorized_user", "token_uri": "http://127.0.0.1:7/t", "client_id": "a", "client_secret": "b", "refresh_token": "c"}'
CREDENTIALS = {"an address in the text": (TOKENS, "address of sink url 127.0.0.1:7"), "the usual address": (TOKENS.replace("http://127.0.0.1:7/t", "https://oauth2.googleapis.com/token"), None),
               "a file": ("../hosts", "path of sink read")}


def test_credentials(pdl, folder):
    """Credentials of Google say where they are sent, and may be in a file: rules for addresses and files judge both."""
    rules = {"rules": [{"sink": "url", "allow": []}, {"sink": "read", "argument": "path", "allow": []}], "otherwise": "allow"}
    own = lay_out(folder)
    for name, (text, want) in CREDENTIALS.items():
        block = {"model": "vertex_ai/gemini-x", "input": "q", "parameters": {"mock_response": "RAN", "num_retries": 0, "vertex_project": "p", "vertex_credentials": "${ w }"}}
        out, err = run(pdl, own, {"defs": DEFS, "text": [block]}, policy=rules, files={"mail": text})
        check(name, (want in err and "RAN" not in out) if want else "RAN" in out, out, err)


ODD = ("http:/127.0.0.1:7/?://x.example.org", "HTTP:/127.0.0.1:7/://x.example.org", "127.0.0.1:7/://x.example.org", "127.0.0.1:7?://x.example.org", "http://127.0.0.1:7\\@x.example.org/")


def test_hosts_with_two_readings(pdl, folder):
    """A rule for hosts judges the host to which the request goes: an address in which others read another host is no address."""
    hosts = {"rules": [{"sink": "url", "argument": "host", "matches": "*.example.org"}, {"sink": "url", "allow": []}], "otherwise": "allow"}
    for address in ODD:
        block = {"model": "openai/m", "input": "q", "parameters": {"api_base": "${ w }", "num_retries": 0, "api_key": "k"}}
        out, err = run(pdl, folder, {"defs": DEFS, "text": [block]}, policy=hosts, files={"mail": address})
        check(address, "refuses" in err or "illegal format" in err, out, err)
