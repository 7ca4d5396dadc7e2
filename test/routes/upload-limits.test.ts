import t from "tap";
import { keyOf, serve, tokenOf, worldOf } from "../helper.js";
import {
  fileForm,
  finished,
  GUEST,
  PDF,
  unfinished,
  upload,
  uploads,
} from "../files.js";

const size = { error: "file.size" };

void t.test("too many from one caller", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")], {
    config: uploads({ UPLOADS_PER_MINUTE: "2" }),
  });
  const form = fileForm("a.pdf", PDF);
  const ada = (claims = {}) =>
    `Bearer ${tokenOf(keyOf("demo"), { uid: "guest-1", ...claims })}`;
  const demo = { host: "demo.example.org" };
  const other = { host: "other.example.org" };
  const cases: [name: string, as: string, headers: typeof demo, status: number][] = [
    ["one", GUEST, demo, 201],
    ["two", GUEST, demo, 201],
    ["three", GUEST, demo, 429],
    ["four", GUEST, demo, 429],
    ["another guest", "Client guest-2", demo, 201],
    ["a user of the same name", ada(), demo, 201],
    ["with another token of it", ada({ traits: ["x"] }), demo, 201],
    ["and a third", ada({ traits: ["y"] }), demo, 429],
    ["in another world", GUEST, other, 201],
  ]; // prettier-ignore
  for (const [name, as, headers, status] of cases) {
    const got = await upload(server, form, { as, headers });
    t.equal(got.status, status, name);
    if (status !== 429) {
      t.notOk(got.headers["retry-after"], name);
      continue;
    }
    const seconds = Number(got.headers["retry-after"]);
    t.ok(seconds >= 1 && seconds <= 60, `${name}: in ${seconds} seconds`);
    t.match(got.body, { detail: /Too many/ }, name);
  }
});

void t.test("too much in one world", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")], {
    config: uploads({ UPLOAD_WORLD_MAX_BYTES: "1000" }),
  });
  const sized = (bytes: number) => fileForm("a.pdf", PDF.padEnd(bytes, " "));
  const demo = { headers: { host: "demo.example.org" } };
  const other = { headers: { host: "other.example.org" } };
  const cases: [name: string, bytes: number, where: typeof demo, answer?: object][] = [
    ["some", 600, demo],
    ["one byte too many", 401, demo, size],
    ["as much as there is room for", 400, demo],
    ["one that would not have fitted anyway", 100, demo, size],
    ["another world has room of its own", 1000, other],
  ]; // prettier-ignore
  for (const [name, bytes, where, answer] of cases) {
    const got = await upload(server, sized(bytes), where);
    t.equal(got.status, answer ? 400 : 201, name);
    if (answer) t.strictSame(got.body, answer, name);
  }
  t.equal(await server.store.files.size("demo"), 1000);
  t.equal((await finished(server.dataDir)).length, 3);

  await t.test("at once", async (t) => {
    const rush = await serve(t, undefined, {
      config: uploads({ UPLOAD_WORLD_MAX_BYTES: "1000" }),
    });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => upload(rush, sized(300))),
    );
    const taken = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 400);
    t.strictSame([taken.length, refused.length], [3, 7]);
    t.equal((await finished(rush.dataDir)).length, 3);
    t.strictSame(await unfinished(rush.dataDir), []);
  });
});
