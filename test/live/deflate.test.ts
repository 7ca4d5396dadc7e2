import { once } from "node:events";
import { connect } from "node:net";
import { deflateRawSync } from "node:zlib";
import t, { type Test } from "tap";
import { dial, rawRequest, until } from "../helper.js";
import { type LiveServer, soon, startLive } from "./client.js";

// Compression by `permessage-deflate` (RFC 7692), for clients that offer it.

const ACCEPTED =
  "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

const handshake = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Extensions": "permessage-deflate",
};

void t.test("which offers are accepted", async (t) => {
  const live = await startLive(t);
  const offers: [offer: string, accepted: boolean][] = [
    ["permessage-deflate", true],
    ["permessage-deflate; client_max_window_bits", true],
    ["permessage-deflate; server_no_context_takeover", true],
    ["permessage-deflate; server_max_window_bits=15", true],
    ["x-other, permessage-deflate; client_max_window_bits=9", true],
    ["permessage-deflate; server_max_window_bits=9, permessage-deflate", true],
    ["permessage-deflate; server_max_window_bits=9", false],
    ["permessage-deflate; client_max_window_bits=16", false],
    ["permessage-deflate; mystery", false],
    [
      "permessage-deflate; client_max_window_bits; client_max_window_bits",
      false,
    ],
    ["permessage-deflated", false],
  ];
  for (const [offer, accepted] of offers) {
    const wire = dial(t, live.port);
    const headers = { ...handshake, "Sec-WebSocket-Extensions": offer };
    wire.send(rawRequest("GET /ws/world/demo/", headers));
    const answer = await soon(wire.answer());
    t.equal(answer.status, 101, offer);
    const extensions = answer.headers["sec-websocket-extensions"];
    t.equal(extensions, accepted ? ACCEPTED : undefined, offer);
    wire.hangUp();
  }
});

void t.test("everybody reads the same", async (t) => {
  const live = await startLive(t);
  const admin = await live.admin();
  const { room: channel } = await admin.do("room.create", {
    name: "Hall",
    description: "A large room. ".repeat(200),
    modules: [{ type: "chat.native", config: { volatile: true } }],
  });
  const plain = await live.connect("demo", { perMessageDeflate: false });
  // This one compresses all that it sends.
  const deflate = { threshold: 0, clientNoContextTakeover: true };
  const deflating = await live.connect("demo", { perMessageDeflate: deflate });
  await plain.login({ client_id: "one" });
  await deflating.login({ client_id: "two" });
  const [one, two] = [plain.hello, deflating.hello];
  t.same(two["world.config"], one["world.config"], "a login");
  const large = { type: "text", body: "Ünïcödé ".repeat(1000) };
  await admin.do("user.update", { profile: { display_name: "Admin" } });
  await admin.do("chat.join", { channel });
  for (const client of [plain, deflating]) {
    await client.do("chat.subscribe", { channel });
  }
  await admin.do("chat.send", {
    ...{ channel, event_type: "channel.message", content: large },
  });
  const fetched = [];
  for (const client of [plain, deflating]) {
    const event = await client.next("chat.event");
    t.same(event.content, large, "a push");
    const page = { channel, count: 25, before_id: 1_000_000 };
    fetched.push(await client.do("chat.fetch", page));
  }
  t.same(fetched[1].results, fetched[0].results, "a page");
  t.equal(fetched[1].results.length > 0, true);
});

/** A masked text frame of a client that is compressed. */
function frame(text: Buffer, { first = 0xc1, isLast = true } = {}): Buffer {
  const head = Buffer.alloc(8);
  head[0] = isLast ? first : first & 0x7f;
  head[1] = 0x80 | 126;
  head.writeUInt16BE(text.length, 2);
  return Buffer.concat([head, text]);
}

const deflated = (text: string): Buffer => {
  const whole = deflateRawSync(text, { finishFlush: 2 });
  return whole.subarray(0, -4);
};

/** Opens a compressing websocket that sees all bytes. */
async function open(t: Test, live: LiveServer) {
  const socket = connect(live.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(rawRequest("GET /ws/world/demo/", handshake));
  await once(socket, "data");
  let got = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    got = Buffer.concat([got, chunk]);
  });
  return { socket, got: () => got };
}

void t.test("what clients compress", async (t) => {
  const live = await startLive(t);
  const ping = deflated('["ping",1]');
  const half = Math.floor(ping.length / 2);
  const rows: [name: string, frames: Buffer[], answer: string | number][] = [
    ["a message", [frame(ping)], '["pong",1]'],
    [
      "a message in fragments",
      [
        frame(ping.subarray(0, half), { isLast: false }),
        frame(ping.subarray(half), { first: 0x80 }),
      ],
      '["pong",1]',
    ],
    ["a large one", [frame(deflated(" ".repeat(2 ** 16 + 1)))], 1009],
    ["a bomb", [frame(deflated("x".repeat(2 ** 24)))], 1009],
    ["no deflate stream", [frame(Buffer.from("not deflated"))], 1007],
  ];
  for (const [name, frames, answer] of rows) {
    const { socket, got } = await open(t, live);
    socket.write(Buffer.concat(frames));
    const expected =
      typeof answer === "string"
        ? Buffer.from(answer)
        : Buffer.from([0x88, 2, answer >> 8, answer & 0xff]);
    await soon(until(() => got().includes(expected)));
    t.pass(name);
    socket.destroy();
  }
});

void t.test("many messages in one chunk wait their turn", async (t) => {
  const live = await startLive(t);
  const { socket, got } = await open(t, live);
  const large = frame(deflated(`["ping",1${" ".repeat(60_000)}]`));
  socket.write(Buffer.concat(Array<Buffer>(100).fill(large)));
  let most = 0;
  await soon(
    until(() => {
      for (const { incoming } of live.app.live.sockets.values()) {
        most = Math.max(most, incoming.count);
      }
      return got().includes("pong");
    }),
  );
  t.ok(most <= 3, `${most} wait at once`);
});
