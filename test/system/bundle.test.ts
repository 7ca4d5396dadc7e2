import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { GUEST, images } from "../files.js";
import { bundled, startFoyer } from "../helper.js";
import { testdir } from "../testdir.js";

// What ships is two bundles. What other tests find in the modules, these find there, as far
// as a bundle could lose it: files of the package, threads, processes, and shared classes.

void t.test("the command finds its files and threads", async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"], {}, bundled);
  const { address, token } = server;
  const headers = { authorization: `Bearer ${token}` };
  for (const [path, type] of [
    ["/console", "text/html"],
    ["/docs/", "text/html"],
    ["/docs/api", "text/html"],
    ["/docs/live", "text/html"],
    ["/api/v1/openapi.json", "application/json"],
    ["/api/v1/asyncapi.json", "application/json"],
    ["/demo/stream.m3u8", "application/vnd.apple.mpegurl"],
    ["/demo/0.m4s", "video/mp4"],
    ["/api/v1/worlds/sample/rooms/?search=hall", "application/json"],
    ["/api/v1/worlds/sample/users/?ordering=-last_seen", "application/json"],
  ] as const) {
    const answer = await fetch(address + path, { headers });
    await answer.arrayBuffer();
    t.equal(answer.status, 200, path);
    t.match(answer.headers.get("content-type"), type, path);
  }

  const form = new FormData();
  const png = (await images.png()) as unknown as BlobPart;
  form.append("file", new Blob([png]), "a.png");
  const sent = await fetch(`${address}/storage/upload/`, {
    method: "POST",
    headers: { authorization: GUEST },
    body: form,
  });
  t.equal(sent.status, 201, "an image is decoded in a process of its own");
  server.signal("SIGTERM");
  t.equal((await server.finished).code, 0);
});

void t.test("several processes serve", async (t) => {
  const env = { WORKERS: "2", METRICS_TOKEN: "only-for-this-test" };
  const server = await startFoyer(t, testdir(t), [], env, bundled);
  const answer = await fetch(`${server.address}/metrics`, {
    headers: { authorization: "Bearer only-for-this-test" },
  });
  t.match(await answer.text(), /^foyer_worlds 0$/m);
  server.signal("SIGTERM");
  t.equal((await server.finished).code, 0);
});

void t.test("the modules of the library share their classes", async (t) => {
  const path = join(testdir(t), "program.mjs");
  await writeFile(
    path,
    `import assert from "node:assert";
    import FastifyOfProgram from "fastify";
    import { Type } from "@sinclair/typebox";
    import { Value } from "@sinclair/typebox/value";
    import { createApp, Fastify } from "foyer-server/app";
    import { InvalidData, Room } from "foyer-server/schemas";
    import { startTestServer } from "foyer-server/testing";

    assert.equal(Fastify, FastifyOfProgram);
    const server = await startTestServer();
    await assert.rejects(server.createWorld({ id: "a b" }), InvalidData);
    const { id } = await server.createWorld({ id: "fair" });
    assert.ok(await server.token(id));
    await assert.rejects(server.token("none"), ({ stack }) => /worlds\\.ts:\\d+/.test(stack));
    await server.close();
    // The program's TypeBox knows the kinds of the schemas.
    assert.equal(Value.Check(Type.Object({ name: Room.properties.name }), { name: "Hall" }), true);`,
  );
  // By way of env, as tap puts a loader into the environment of every child.
  const end = await promisify(execFile)("env", [
    "-i",
    process.execPath,
    "--enable-source-maps",
    path,
  ])
    .then(() => "ok")
    .catch(({ stderr }: { stderr: string }) => stderr);
  t.equal(end, "ok");
});
