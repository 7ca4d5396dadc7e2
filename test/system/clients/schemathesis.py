"""What schemathesis has to know of a server that it tries: which things a call may use up, and
which refusals no schema can express. docs/api.md lists the latter, too."""

import base64
import hashlib
import hmac
import itertools
import json
import os
import re
import time
import urllib.request
import uuid

import schemathesis
from schemathesis.checks import CHECKS

BASE, TOKEN, ADMIN = (os.environ[name] for name in ("BASE_URL", "TOKEN", "ADMIN_TOKEN"))
WORLD = "/api/v1/worlds/sample/"
ITEM = ["valid URL", "has no such", "Another"]
SESSION = [*ITEM, "later than", "31 days", "listed twice", "given with"]
ADDRESS = ["address", "https", "user name", "host name"]

# Valid by the schema, and refused: by operation, and by the sentences of the answer. With `*`,
# any operation.
REFUSED = {
    "*": [
        # Values beyond doubles, names that JSON loses, and texts that cannot be stored.
        "fits in 64 bits",
        "free of (NUL|unpaired)",
        "modifies prototypes",
        "may occur only once",
        "nested at most",
        "not valid JSON",
        "at most .* KiB of JSON",
        "may hold at most .* values",
        # Days that are on no calendar.
        "valid time",
        # Cursors that are used with a page, or were made for no such list.
        "May not be used with page",
        "Must be empty, or the cursor of",
    ],
    "listMessages": ["May not be used with"],
    "getResults": ["Only activity can be filtered", "cannot be filtered by room", "too much for one table"],
    "listChanges": ["cursor", "after the newest"],
    "redeliverWebhook": ["cursor", "after the newest"],
    "createSession": SESSION,
    "updateSession": SESSION,
    "createSpeaker": [*ITEM, "upload in this world"],
    "updateSpeaker": [*ITEM, "upload in this world"],
    "createWebhook": ADDRESS,
    "updateWebhook": ADDRESS,
    "moderateUser": ["to yourself"],
    "createAnnouncement": ["time"],
    "updateAnnouncement": ["time", "state"],
    "sendMessage": ["replaces", "deleted", "does not accept content", "empty"],
    "updateWorld": [*ADDRESS, "Another", "later than", "given with", "public key"],
    "createWorld": ["Another"],
    "setUp": ["Another"],
    # Documents of other formats.
    "importProgram": [""],
    "uploadFile": ["file"],
    "uploadProgram": ["file", ""],
}


def is_known(operation: str, text: str) -> bool:
    sentences = REFUSED["*"] + REFUSED.get(operation, [])
    return any(re.search(sentence, text) for sentence in sentences)


accepts = next(check for check in CHECKS.get_all() if check.__name__ == "positive_data_acceptance")

@schemathesis.check
def known_refusals(ctx, response, case):
    """A refusal of data that its schema allows is one of those that are documented."""
    try:
        accepts(ctx, response, case)
    except AssertionError:
        operation = case.operation.definition.raw["operationId"]
        # An If-Match of no state that was ever there.
        if response.status_code != 412 and not is_known(operation, response.text):
            raise


def ask(method: str, path: str, body=None, token=TOKEN):
    request = urllib.request.Request(
        BASE + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or "null")


def signed(world: str, secret: str) -> str:
    """An administrator's token of a world."""
    code = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
    claims = {
        **{"iss": "foyer", "aud": world, "uid": "tester", "traits": ["admin", "api"]},
        "exp": int(time.time()) + 3600,
    }
    text = b".".join(code(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims))
    return (text + b"." + code(hmac.new(secret.encode(), text, hashlib.sha256).digest())).decode()


MODULES = [{"type": "chat.native"}, {"type": "question"}, {"type": "poll"}]
number = itertools.count()
IDS = json.load(open("ids.json")) if os.path.exists("ids.json") else {}


def fresh(kind: str) -> str:
    """Makes a thing that a call may change beyond use, and returns its id."""
    name = f"fresh {next(number)}"
    if kind == "webhooks":
        # A world may have 20.
        for hook in ask("GET", f"{WORLD}webhooks/")["results"]:
            if hook["id"] != IDS["webhook_id"]:
                ask("DELETE", f"{WORLD}webhooks/{hook['id']}/")
    bodies = {
        "rooms": {"name": name, "module_config": MODULES},
        "sessions": {"title": name},
        "speakers": {"name": name},
        "announcements": {"text": name},
        "webhooks": {"url": "https://1.1.1.1/", "enabled": False},
    }
    made = ask("POST", f"{WORLD}{kind}/", bodies[kind])
    return made["id"]


# The configuration names one of each wherever a path asks for such an id.
PLACES = {
    "room_id": "rooms",
    "session_id": "sessions",
    "speaker_id": "speakers",
    "announcement_id": "announcements",
    "webhook_id": "webhooks",
}


def write_configuration():
    """Makes one thing of each kind, and names them in `ids.json` and `schemathesis.toml`."""
    ids = {name: fresh(kind) for name, kind in PLACES.items() if kind != "webhooks"}
    body = {"url": "https://1.1.1.1/", "enabled": False}
    ids["webhook_id"] = ask("POST", f"{WORLD}webhooks/", body)["id"]
    message = {"content": {"type": "text", "body": "Hello"}}
    ask("POST", f"{WORLD}rooms/{ids['room_id']}/messages/", message)
    users = ask("GET", f"{WORLD}users/")["results"]
    ids["user_id"] = next(user["id"] for user in users if user["token_id"] != "tester")
    with open("ids.json", "w") as file:
        json.dump(ids, file)
    parameters = {"world_id": "sample", "event_id": "1", **ids}
    with open("schemathesis.toml", "w") as file:
        # A condition is checked before the data of a record that changed is.
        statuses = '[400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 429, "5xx"]'
        file.write(f'base-url = "{BASE}"\n[checks.negative_data_rejection]\n')
        file.write(f"expected-statuses = {statuses}\n[parameters]\n")
        file.writelines(f'"path.{name}" = "{id}"\n' for name, id in parameters.items())


@schemathesis.hook
def filter_query(ctx, query):
    """Node.js itself answers 431 to addresses and headers beyond 16 KiB, whatever the operation."""
    return len(str(query)) < 4000


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """A call that changes a thing gets one of its own, so that the others are still there."""
    path = case.path_parameters or {}
    if case.method.upper() not in ("PATCH", "DELETE") or path.get("world_id") != "sample":
        return
    if len(path) == 1:
        world = f"w-{uuid.uuid4().hex}"
        body = {"id": world, "title": world, "domain": f"{world}.example.org"}
        secret = ask("POST", "/api/v1/worlds/", body, ADMIN)["key"]["secret"]
        path["world_id"] = world
        headers = kwargs.get("headers") or {}
        for name, value in headers.items():
            if name.lower() == "authorization" and value == f"Bearer {TOKEN}":
                headers[name] = f"Bearer {signed(world, secret)}"
        return
    [name] = [name for name in path if name != "world_id"][-1:]
    if name in PLACES and path[name] == IDS[name]:
        path[name] = fresh(PLACES[name])
