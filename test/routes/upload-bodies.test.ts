import { connect } from "node:net";
import t from "tap";
import { loadConfig } from "../../config.js";
import { createApp } from "../../app.js";
import { dial, listen, rawRequest, serve, until } from "../helper.js";
import { fileForm, GUEST, PDF } from "../files.js";
import { testdir } from "../testdir.js";

// Bodies of uploads that are no form: none is read into memory.

const path = "/storage/upload/";
const MIB = 1024 * 1024;

void t.test("what is no form is refused before its body comes", async (t) => {
  const { app } = await serve(t);
  const port = await listen(app);
  const types: [name: string, type: string | undefined][] = [
    ["JSON", "application/json"],
    ["JSON with a parameter", "application/json; charset=utf-8"],
    ["JSON in capitals", "APPLICATION/JSON"],
    ["text", "text/plain"],
    ["a form in a URL", "application/x-www-form-urlencoded"],
    ["parts of another kind", "multipart/mixed; boundary=x"],
    ["a kind like it", "multipart/form-database; boundary=x"],
    ["no type", undefined],
    ["an empty type", ""],
    ["a type that is none", "json"],
    ["a list of types", "multipart/form-data, application/json"],
    ["JSON with a boundary", "application/json; boundary=multipart/form-data"],
  ];
  for (const [name, type] of types) {
    const ways: Record<string, string>[] = [{}, { Expect: "100-continue" }];
    for (const expect of ways) {
      const wire = dial(t, port);
      wire.send(
        rawRequest(
          `POST ${path}`,
          {
            Authorization: GUEST,
            ...(type !== undefined && { "Content-Type": type }),
            "Content-Length": String(1024 * MIB),
            ...expect,
          },
          "Expect" in expect ? "" : '{"a":',
        ),
      );
      const { status, text } = await wire.answer();
      t.equal(status, 400, name);
      t.strictSame(JSON.parse(text), { error: "file.missing" }, name);
      wire.hangUp();
    }
  }
});

void t.test("what is left of a refused body has an end", async (t) => {
  const { app } = await serve(t, undefined, {
    config: {
      uploads: { ...loadConfig({}).uploads, maxBytes: 1000 },
    },
  });
  const port = await listen(app);
  const forms: [name: string, headers: Record<string, string>, body: string][] =
    [
      ["no form", { "Content-Type": "application/json" }, "{"],
      ["too large", fileForm("a.pdf", "").headers, fileForm("a.pdf", PDF.padEnd(5000)).body.toString().slice(0, 4000)],
      ["not allowed", { Authorization: "" }, ""],
    ]; // prettier-ignore
  for (const [name, headers, body] of forms) {
    const socket = connect(port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.on("error", () => {});
    let received = "";
    socket.on("data", (bytes) => (received += bytes.toString()));
    socket.write(
      rawRequest(
        `POST ${path}`,
        {
          Authorization: GUEST,
          ...headers,
          "Content-Length": String(1024 * MIB),
        },
        body,
      ),
    );
    await until(() => received.includes("\r\n\r\n"));
    t.match(received, /^HTTP\/1.1 40[03] /, `${name}: it is answered at once`);
    const piece = Buffer.alloc(MIB, "x");
    const written = () =>
      new Promise<boolean>((resolve) =>
        socket.write(piece, (error) => resolve(!error)),
      );
    let sent = 0;
    while (sent < 200 && (await written())) sent++;
    t.ok(sent < 200, `${name}: the connection ends`);
    t.ok(sent > 50, `${name}: but not early, after ${sent} MiB`);
  }
});

void t.test("a route that would hold more than the limit", async (t) => {
  const app = () => {
    const made = createApp({ config: { dataDir: testdir(t) } });
    t.teardown(() => made.close());
    return made;
  };
  const bodyLimit = 2 * MIB;
  const handler = async () => ({});
  const refused = app();
  const config = { requires: "public" } as const;
  refused.post("/import", { bodyLimit, config }, handler);
  await t.rejects(
    async () => refused.ready(),
    /POST \/import .*bodyLimit/,
    "the parser of JSON that it inherits",
  );

  const fine = app();
  fine.post("/small", { bodyLimit: 1000, config }, handler);
  fine.post(
    "/meant",
    { bodyLimit, config: { ...config, holdsLargeBody: true } },
    handler,
  );
  fine.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, done) => done(null));
    scope.post("/stream", { bodyLimit, config }, handler);
  });
  await fine.ready();
  t.pass("a smaller limit, one that is meant, and one without a parser");
});
