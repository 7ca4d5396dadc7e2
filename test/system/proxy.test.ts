import { once } from "node:events";
import t, { type Test } from "tap";
import { WebSocket, WebSocketServer } from "ws";
import { admin, keyOf, listen, serve, tokenOf, until } from "../helper.js";
import { programOf, proxies, startDeployed, type Proxy } from "./proxy.js";

/** Foyer with a websocket that echoes, and what the websocket sees of its clients. */
async function upstream(t: Test) {
  const { app } = await serve(t, undefined, {
    config: { trustProxy: ["127.0.0.1"] },
  });
  const sockets: {
    socket: WebSocket;
    url: string | undefined;
    forwardedFor: string | undefined;
  }[] = [];
  const server = new WebSocketServer({ noServer: true });
  // What counts here is the way to the server, so it answers each path alike.
  app.server.removeAllListeners("upgrade");
  app.server.on("upgrade", (request, stream, head) => {
    server.handleUpgrade(request, stream, head, (socket) => {
      const forwardedFor = request.headers["x-forwarded-for"];
      const { url } = request;
      sockets.push({ socket, url, forwardedFor: forwardedFor?.toString() });
      // On a reload, Caddy 2.6 sends a frame that breaks the protocol: it is not masked.
      socket.on("error", () => {});
      socket.on("message", (data: Buffer) => socket.send(data.toString()));
    });
  });
  return { app, sockets, port: await listen(app) };
}

/** A client of the echo, which counts the pings that it gets. */
async function client(t: Test, { port }: Proxy, below = "") {
  const url = `ws://127.0.0.1:${port}${below}/ws/world/demo/`;
  const socket = new WebSocket(url, {
    headers: { "X-Forwarded-For": "192.0.2.1" },
  });
  t.teardown(() => socket.terminate());
  const seen = { pings: 0 };
  socket.on("ping", () => seen.pings++);
  await once(socket, "open");
  const echo = async (text: string) => {
    socket.send(text);
    const [data] = (await once(socket, "message")) as [Buffer];
    t.equal(String(data), text, "the echo comes back");
  };
  const closed = new Promise<number>((resolve) =>
    socket.once("close", resolve),
  );
  return { socket, seen, echo, closed };
}

for (const [name, program] of Object.entries(proxies)) {
  void t.test(`${name}, as docs/proxy.md sets it up`, async (t) => {
    if (!program.isHere) {
      t.comment(`${name} is not installed: its settings are not tried`);
      return;
    }
    const { app, sockets, port } = await upstream(t);
    const proxy = await program.start(t, port);
    const base = `http://127.0.0.1:${proxy.port}`;

    await t.test("a websocket, and HTTP beside it", async (t) => {
      const { echo } = await client(t, proxy);
      await echo("hello");
      await echo("x".repeat(1024 * 1024));
      t.equal(sockets.at(-1)?.forwardedFor, "127.0.0.1", "not the forged one");

      const rooms = `${base}/api/v1/worlds/demo/rooms/`;
      const headers = { authorization: admin("demo") };
      const list = await fetch(rooms, { headers });
      t.equal(list.status, 200, "the API");
      const token = tokenOf(keyOf("demo"), { uid: "1" });
      const body = new FormData();
      body.append("file", new Blob(["%PDF-1.4\n%%EOF\n"]), "a.pdf");
      const upload = await fetch(`${base}/storage/upload/`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body,
      });
      t.equal(upload.status, 201, "an upload");
      await echo("still here");
    });

    await t.test("the server closes with its own code", async (t) => {
      const { closed } = await client(t, proxy);
      sockets.at(-1)!.socket.close(1012, "restart");
      t.equal(await closed, 1012);
    });

    await t.test("a client closes with its own code", async (t) => {
      const { socket } = await client(t, proxy);
      const closed = once(sockets.at(-1)!.socket, "close");
      socket.close(4001);
      const [code] = (await closed) as [number];
      t.equal(code, 4001);
    });

    await t.test("a client that vanishes", async (t) => {
      const { socket } = await client(t, proxy);
      const closed = once(sockets.at(-1)!.socket, "close");
      socket.terminate();
      const [code] = (await closed) as [number];
      t.equal(code, 1006, "is noticed");
    });

    await t.test("a reload of its settings", async (t) => {
      const { echo, closed, socket } = await client(t, proxy);
      await echo("before");
      await proxy.reload();
      if (name === "caddy") {
        t.equal(await closed, 1001, "closes websockets");
      } else {
        await echo("after");
        t.equal(socket.readyState, WebSocket.OPEN, "keeps websockets");
      }
      // Caddy closes idle connections a little later, perhaps just as a request is sent on one.
      await until(() =>
        fetch(`${base}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      await (await client(t, proxy)).echo("new");
    });

    await t.test("the server is away for a moment", async (t) => {
      const { closed } = await client(t, proxy);
      await app.close();
      t.not(await closed, 1000, "the client sees that it was not on purpose");
      await t.rejects(client(t, proxy), /Unexpected server response: 502/);
    });
  });
}

void t.test("nginx, below a path", async (t) => {
  const { nginx } = proxies;
  if (!nginx?.isHere) {
    t.comment("nginx is not installed");
    return;
  }
  const { sockets, port } = await upstream(t);
  const proxy = await nginx.start(t, port, programOf("Below a path", "nginx"));
  const { echo } = await client(t, proxy, "/foyer");
  await echo("hello");
  t.equal(sockets[0]?.url, "/ws/world/demo/");
});

void t.test(
  "nginx ends a silent connection, and not a pinged one",
  async (t) => {
    const { nginx } = proxies;
    if (!nginx?.isHere) {
      t.comment("nginx is not installed");
      return;
    }
    const { sockets, port } = await upstream(t);
    // By default, these are 60 s and 25 s. A busy machine may delay a ping.
    const proxy = await nginx.start(t, port, "proxy_read_timeout 3s;");
    const pinged = await client(t, proxy);
    const { socket } = sockets[0]!;
    const timer = setInterval(() => socket.ping(), 400);
    t.teardown(() => clearInterval(timer));
    const silent = await client(t, proxy);
    t.equal(await silent.closed, 1006);
    await until(() => pinged.seen.pings > 10);
    await pinged.echo("still here");
  },
);

for (const [path, nodes] of [
  ["Caddyfile", 1],
  ["nodes/Caddyfile", 2],
] as const) {
  void t.test(`Caddy, as deploy/${path} sets it up`, async (t) => {
    if (!proxies["caddy"]!.isHere) {
      t.comment("Caddy is not installed: its settings are not tried");
      return;
    }
    const servers = await Promise.all(
      Array.from({ length: nodes }, () => upstream(t)),
    );
    const proxy = await startDeployed(
      t,
      path,
      servers.map(({ port }) => port),
    );
    const { echo } = await client(t, proxy);
    await echo("hello");
    const url = `http://127.0.0.1:${proxy.port}/healthz`;
    t.equal((await fetch(url)).status, 200);
    if (nodes === 1) return;
    for (const { app } of servers) await app.close();
    // Until it has noticed, a request that finds them gone is a 502.
    let refused = await fetch(url);
    await until(async () => (refused = await fetch(url)).status === 503);
    t.equal(refused.headers.get("retry-after"), "5");
    t.same(await refused.json(), {
      detail: "No server is ready.",
      code: "unavailable",
    });
  });
}
