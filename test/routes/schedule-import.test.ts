import t from "tap";
import { fileForm, follow, urlOf } from "../files.js";
import { bearer, keyOf, rules, serve, tokenOf, worldOf } from "../helper.js";
import { event, pretalx, pretalxXml } from "../program/documents.js";

const world = worldOf("demo", {
  permission_config: rules({ "program.update": ["editor"] }),
});

/** The token of a person, as uploads ask for one. */
const tokenFor = (trait: string) =>
  `Bearer ${tokenOf(keyOf("demo"), { uid: "ann", traits: [trait] })}`;

void t.test("a form imports and stores a document", async (t) => {
  const { call, store, ...server } = await serve(t, [world]);
  const sessions = async () =>
    (await store.program.get("demo")).sessions.map(({ value }) => value);
  const send = (
    name: string,
    body: string | Uint8Array,
    as = tokenFor("editor"),
  ) => {
    const form = fileForm(name, body);
    return call({
      ...{ method: "POST", url: "/storage/schedule_import/", as },
      ...{ headers: form.headers, body: form.body },
    });
  };
  const files = async () =>
    (await store.files.list("demo", { page: 1, pageSize: 9 })).count;
  const json = JSON.stringify(pretalx());
  const stored = {
    "program.json": [json, "application/json"],
    "p.XML": [pretalxXml, "application/xml"],
    "p.ics": [
      event("DTSTART:20270301T090000Z\nDTEND:20270301T100000Z"),
      "text/calendar; charset=utf-8",
    ],
    "p.csv": ["title\nWalk\n", "text/csv; charset=utf-8"],
  } as const;
  for (const [name, [body, type]] of Object.entries(stored)) {
    const made = await send(name, body);
    t.equal(made.status, 201, name);
    const served = await follow(server, urlOf(made));
    t.equal(served.status, 200);
    t.equal(served.headers["content-type"], type);
    t.match(served.headers["content-security-policy"], /sandbox/);
    t.equal(served.bytes.toString(), body);
  }
  const large = await call({
    ...{ method: "PUT", url: "/api/v1/worlds/demo/program/" },
    as: bearer("demo", "admin", "api", "editor"),
    body: " ".repeat(10 * 2 ** 20 + 1),
  });
  t.equal(large.status, 413, "nor do programs as a body");
  const before = await sessions();
  t.equal(before.length, 3, "two documents have the same session");
  const refused: [string, string | Uint8Array, number, object][] = [
    ["p.pdf", "x", 400, { error: "file.type" }],
    ["p.json", "", 400, { error: "file.size" }],
    ["p.json", new Uint8Array(10 * 2 ** 20 + 1), 400, { error: "file.size" }],
    ["p.json", "{", 400, { non_field_errors: [/^Line 1/] }],
    ["p.ics", "BEGIN:VCALENDAR\nx", 400, { non_field_errors: [/^Line \d/] }],
    ["p.csv", "start\n1\n", 400, {}],
  ];
  for (const [name, body, status, problem] of refused) {
    t.match(await send(name, body), { status, body: problem }, name);
  }
  t.equal((await send("p.json", json, tokenFor("x"))).status, 403);
  t.equal((await send("p.json", json, "Client guest")).status, 403);
  t.strictSame(await sessions(), before, "what is refused changes nothing");
  t.equal(await files(), Object.keys(stored).length);
});
