import t from "tap";
import { admin, serve, worldOf } from "../helper.js";

const url = "/api/v1/worlds/demo/";

void t.test("a world is read and changed", async (t) => {
  const { call } = await serve(t);
  const asked = { url, as: admin("demo") };

  const read = await call(asked);
  t.equal(read.status, 200);
  t.same(read.body, worldOf("demo"));

  const changed = await call({
    ...asked,
    method: "PATCH",
    body: { title: "New" },
  });
  t.equal(changed.status, 200);
  t.same(changed.body, worldOf("demo", { title: "New" }));
  t.same((await call(asked)).body, changed.body);
  t.not(changed.headers.etag, read.headers.etag);
});

void t.test("what a PATCH answers", async (t) => {
  const { call } = await serve(t, [worldOf("demo"), worldOf("other")]);
  const cases: [name: string, body: unknown, status: number, answer: object][] =
    [
      ["nothing", {}, 200, { title: "The demo" }],
      ["its own id", { id: "demo" }, 200, { id: "demo" }],
      ["another id", { id: "x" }, 400, { id: ["May not be changed."] }],
      [
        "all faults at once",
        { id: "x", title: "", domain: "No", extra: 1 },
        400,
        {
          id: ["May not be changed."],
          title: ["May not be empty."],
          domain: [
            "Must be a host name in lower case, with an optional :port.",
          ],
          extra: ["Unknown field."],
        },
      ],
      ["a config of a wrong type", { config: [] }, 400, { config: [/^Must/] }],
      [
        "keys of a wrong type",
        { config: { JWT_secrets: [1] } },
        400,
        { "config.JWT_secrets.0": [/^Must/] },
      ],
      ["no domain", { domain: null }, 400, { domain: [/^Must/] }],
      [
        "a domain that is taken",
        { domain: "other.example.org" },
        400,
        { domain: ["Another world has it already."] },
      ],
    ];
  for (const [name, body, status, answer] of cases) {
    const got = await call({ method: "PATCH", url, as: admin("demo"), body });
    t.equal(got.status, status, name);
    t.match(got.body, answer, name);
  }
});
