import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { createApp } from "../../app.js";
import {
  atBest,
  dial,
  listen,
  rawRequest,
  serve,
  type ServerProcess,
  startFoyer,
  timed,
} from "../helper.js";
import { Person, shortFolder } from "./person.js";

const rooms = "/api/v1/worlds/sample/rooms/";

async function stopWith(t: Test, WORKERS: string): Promise<void> {
  const server = await startFoyer(t, shortFolder(t), ["--demo"], {
    WORKERS,
    // Most of them never log in, however long it takes to connect them all.
    LIVE_AUTH_TIMEOUT: "600",
  });
  const people: Person[] = [];
  // However a cluster shares them out, one process has more than it has steps.
  for (let i = 0; i < 80; i++)
    people.push(await Person.connect(t, server.port));
  for (const person of people.slice(0, 5)) await person.logIn();
  const body = JSON.stringify({ name: "Slow" });
  const slow = dial(t, server.port);
  slow.send(
    rawRequest(`POST ${rooms}`, {
      Authorization: `Bearer ${server.token}`,
      "Content-Type": "application/json",
      "Content-Length": String(body.length),
      Expect: "100-continue",
    }),
  );
  t.equal((await slow.answer()).status, 100);
  server.signal("SIGTERM");
  for (const person of people) t.equal(await person.ended(), 1012);
  const ends = people.map(({ closed }) => closed!.at);
  const spread = Math.max(...ends) - Math.min(...ends);
  // Three seconds if another process may take them, and 300 ms alone, as the server sees it.
  const least = WORKERS === "1" ? 50 : 500;
  t.ok(spread > least, `not all at once, but within ${spread} ms`);
  await t.rejects(
    Person.connect(t, server.port),
    /503/,
    "no more are taken meanwhile",
  );
  slow.send(body);
  const { status } = await slow.answer();
  t.equal(
    status,
    201,
    "and the request is finished, so the server waited for no client",
  );
  t.match(await server.finished, { code: 0, stderr: "" });
}

for (const workers of ["1", "2"]) {
  const name = `a stop closes websockets, and finishes requests (${workers})`;
  void t.test(name, (t) => stopWith(t, workers));
}

/** How long a server takes to stop, in milliseconds. */
const stopped = (t: Test, server: ServerProcess): Promise<number> =>
  timed(async () => {
    server.signal("SIGTERM");
    t.match(await server.finished, { code: 0, stderr: "" });
  });

void t.test("what a stop waits for", async (t) => {
  let server = await startFoyer(t, shortFolder(t), ["--demo"]);
  // Raw sockets: they never confirm that the websocket closes.
  const silent = Array.from({ length: 5 }, () => dial(t, server.port));
  for (const wire of silent) {
    wire.send(upgradeRequest);
    t.equal((await wire.answer()).status, 101);
  }
  const deaf = await Person.connect(t, server.port);
  await deaf.logIn();
  deaf.stopReading();
  const waiting = await stopped(t, server);
  // A request would be waited for for ten seconds.
  t.ok(waiting < 9900, `${waiting} ms for clients that do not answer`);

  // The others were waited for for two seconds.
  const alone = await atBest(waiting - 1000, async () => {
    server = await startFoyer(t, shortFolder(t), ["--demo"]);
    const person = await Person.connect(t, server.port);
    person.ws.close();
    await person.ended();
    return stopped(t, server);
  });
  t.ok(alone < waiting - 1000, `${alone} ms without connections`);
});

void t.test("a stop lets a command have its answer", async (t) => {
  const dataDir = shortFolder(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  const person = await Person.connect(t, server.port);
  await person.logIn();
  const other = await Person.connect(t, server.port);
  const db = new Database(join(dataDir, "foyer.db"));
  t.teardown(() => db.close());
  db.exec("BEGIN IMMEDIATE");
  const answer = person.call("user.update", { profile: { greeted: true } });
  person.send("ping", "received");
  // The server has both when it has answered this on another connection.
  other.send("ping", 1);
  await other.pushed("pong");
  server.signal("SIGTERM");
  t.equal(await other.ended(), 1012);
  t.equal(person.closed, undefined);
  db.exec("ROLLBACK");
  t.same(await answer, {});
  t.equal(await person.ended(), 1012);
  t.same(person.all("pong"), [], "what waited behind may be sent again");
  t.match(await server.finished, { code: 0, stderr: "" });
});

const upgradeRequest = rawRequest("GET /ws/world/sample/", {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
});

void t.test("an embedded application that closes", async (t) => {
  const patience = { stop: 60_000, close: 60_000 };
  const { app } = await serve(t, undefined, { config: { patience } });
  const port = await listen(app);
  const person = await Person.connect(t, port, "demo");
  await person.logIn();
  const silent = dial(t, port);
  silent.send(upgradeRequest.replace("sample", "demo"));
  t.equal((await silent.answer()).status, 101);
  const many: Person[] = [];
  for (let i = 0; i < 40; i++) many.push(await Person.connect(t, port, "demo"));
  const started = Date.now();
  await app.close();
  const took = Date.now() - started;
  t.ok(took < 30_000, `${took} ms`);
  for (const one of [person, ...many]) t.equal(await one.ended(), 1012);
  await t.resolves(createApp().close(), "also before it listens");
});
