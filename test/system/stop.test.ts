import t from "tap";
import type { Room } from "../../schemas/rooms.js";
import { dial, rawRequest, startFoyer, until } from "../helper.js";
import { testdir } from "../testdir.js";

// How a server ends that is a process of its own.

const rooms = "/api/v1/worlds/sample/rooms/";

void t.test("a stop finishes what is under way", async (t) => {
  const body = JSON.stringify({ name: "Slow" });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await t.test(signal, async (t) => {
      const dataDir = testdir(t);
      const server = await startFoyer(t, dataDir, ["--demo"]);
      const authorization = `Bearer ${server.token}`;
      const slow = dial(t, server.port);
      slow.send(
        rawRequest(
          `POST ${rooms}`,
          {
            Authorization: authorization,
            "Content-Type": "application/json",
            "Content-Length": String(body.length),
          },
          body.slice(0, 5),
        ),
      );
      // A connection that does nothing is not waited for.
      const idle = dial(t, server.port);
      idle.send(rawRequest("GET /healthz"));
      t.equal((await idle.answer()).status, 200);

      server.signal(signal);
      const ask = async (line: string) => {
        const wire = dial(t, server.port);
        wire.send(rawRequest(line, { Authorization: authorization }));
        return wire.answer();
      };
      await until(async () => (await ask("GET /healthz")).status === 503);
      const health = await ask("GET /healthz");
      t.same(JSON.parse(health.text), { status: "stopping" });
      t.equal(health.headers.connection, "close");
      const refused = await ask(`GET ${rooms}`);
      t.equal(refused.status, 503);
      t.match(JSON.parse(refused.text), { detail: /stopping/ });
      t.ok(refused.headers["retry-after"]);

      slow.send(body.slice(5));
      const { status, text } = await slow.answer();
      t.equal(status, 201);
      const { id } = JSON.parse(text) as Room;
      const answered = Date.now();
      t.match(await server.finished, { code: 0, stderr: "" });
      t.ok(Date.now() - answered < 8000, "and then nothing is waited for");

      const next = await startFoyer(t, dataDir);
      const kept = await fetch(`${next.address}${rooms}${id}`, {
        headers: { authorization },
      });
      t.equal(kept.status, 200, "what was answered is kept");
    });
  }
});

void t.test("a stop waits ten seconds and no longer", async (t) => {
  const server = await startFoyer(t, testdir(t), ["--demo"]);
  const stuck = dial(t, server.port);
  stuck.send(
    rawRequest(`POST ${rooms}`, {
      Authorization: `Bearer ${server.token}`,
      "Content-Type": "application/json",
      "Content-Length": "5",
      Expect: "100-continue",
    }),
  );
  t.equal((await stuck.answer()).status, 100, "it waits for the body");
  const started = Date.now();
  server.signal("SIGTERM");
  t.match(await server.finished, { code: 0 });
  const seconds = (Date.now() - started) / 1000;
  t.ok(seconds >= 9 && seconds < 60, `it took ${seconds}`);
});

void t.test("a killed server leaves all that it answered", async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  const headers = {
    authorization: `Bearer ${server.token}`,
    "content-type": "application/json",
  };
  let answered = 0;
  const post = async () => {
    const { status } = await fetch(server.address + rooms, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: "x" }),
    });
    if (status === 201) answered++;
  };
  const writers = Promise.allSettled(
    Array.from({ length: 8 }, async () => {
      for (;;) await post();
    }),
  );
  await until(() => answered >= 50);
  server.signal("SIGKILL");
  await writers;
  const next = await startFoyer(t, dataDir);
  const list = await fetch(next.address + rooms, { headers });
  const { count } = (await list.json()) as { count: number };
  // Eight more may have been written without an answer.
  t.ok(count >= answered + 3 && count <= answered + 11, `${count}`);
});
