import t, { type Test } from "tap";
import { createApp, openEngines } from "../app.js";
import { startTestServer } from "../testing.js";
import { testdir } from "./testdir.js";

async function serving(t: Test) {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "w" });
  const authorization = `Bearer ${await server.token("w")}`;
  const get = (path: string) =>
    server.app.inject({
      url: `/api/v1/worlds/w${path}`,
      headers: { host: "w.localhost", authorization },
    });
  return { ...server, authorization, get };
}

void t.test("a room that was taken can be listed alone", async (t) => {
  const { app, authorization, get } = await serving(t);
  const numbers = Array.from({ length: 200_000 }, () => "1e20").join(",");
  const made = await app.inject({
    method: "POST",
    url: "/api/v1/worlds/w/rooms/",
    headers: {
      host: "w.localhost",
      authorization,
      "content-type": "application/json",
    },
    body: `{"name":"A","module_config":[{"type":"a","x":[${numbers}]}]}`,
  });
  t.equal(made.statusCode, 201);
  t.equal((await get("/rooms/?page_size=1")).statusCode, 200);
});

void t.test("a failure to read a file is not to be cached", async (t) => {
  const dataDir = testdir(t);
  const engines = await openEngines({ dataDir });
  engines.files.open = async () => ({
    size: 1000,
    modified: new Date(),
    read: async () => {
      throw new Error("too many open files");
    },
  });
  const app = createApp({ config: { dataDir }, engines });
  t.teardown(() => app.close());
  const { statusCode, headers } = await app.inject(
    "/media/pub/w/01234567-0123-0123-0123-0123456789ab.ABCDEFGHIJKL.pdf",
  );
  t.equal(statusCode, 500);
  for (const name of [
    "cache-control",
    "etag",
    "last-modified",
    "accept-ranges",
  ]) {
    t.equal(headers[name], undefined, name);
  }
});
