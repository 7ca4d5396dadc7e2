import { createSocket } from "node:dgram";
import { type LookupAddress, promises as dns } from "node:dns";
import { once } from "node:events";
import { createServer as createPlain, type RequestListener } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, isIPv4, type Server } from "node:net";
import t, { type Test } from "tap";
import { Outbound, type OutboundOptions } from "../../../plugins/outbound/outbound.js";

/**
 * A self-signed certificate for `receiver.test`, and its key. They are valid for a hundred years,
 * and worthless outside these tests.
 */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUWVhblgUYYD8GADxvP0E+0DHmriIwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNcmVjZWl2ZXIudGVzdDAgFw0yNjExMjUyMDUwMTFaGA8yMTI2
MTEwMTIwNTAxMVowGDEWMBQGA1UEAwwNcmVjZWl2ZXIudGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABOu+fajDMEkoAlKQ8Wioer1kY/xWupy1QGK4DCidZQCI
GEZs2eZceNvuX5iaOvxvbXIW52qIXTr1/AO70dLO5nOjbTBrMB0GA1UdDgQWBBRz
aP8OHWE8ZEzk7qLrDI0qnvXphjAfBgNVHSMEGDAWgBRzaP8OHWE8ZEzk7qLrDI0q
nvXphjAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDXJlY2VpdmVyLnRlc3Qw
CgYIKoZIzj0EAwIDSAAwRQIgbVCNCPon8bKk+i9jHrYPE3UpWwAIbrdFbXSyNVJx
krACIQDqwpBtxAsETLdwsKIKjNrWXMnuepdaRQWlf8nL4nliAQ==
-----END CERTIFICATE-----`;

const privateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIQKBd3hvY/bkfEBE
uFH4OaP0zR9KP0G+20pw9V7Pa8yhRANCAATrvn2owzBJKAJSkPFoqHq9ZGP8Vrqc
tUBiuAwonWUAiBhGbNnmXHjb7l+Ymjr8b21yFudqiF069fwDu9HSzuZz
-----END PRIVATE KEY-----`;

/**
 * Starts a server on a free port of 127.0.0.1.
 * @returns the port.
 */
async function listen(t: Test, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const secure = (answer: RequestListener) =>
  createServer({ key: privateKey, cert: certificate }, answer);

function outbound(t: Test, options: Partial<OutboundOptions> = {}) {
  const made = new Outbound({ allow: [], ca: certificate, ...options });
  t.teardown(() => made.close());
  return made;
}

const bounds = { timeout: 5000, maxBytes: 1000 };

void t.test("addresses where no request may go", async (t) => {
  const hosts = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.169.254",
    "168.63.129.16",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    // Alternative notations of 127.0.0.1 and 169.254.169.254.
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "1",
    "0",
    "１２７.0.0.1",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "%31%32%37.0.0.1",
    "0xa9fea9fe",
    "localhost",
    "LOCALHOST",
    "api.localhost",
    "localhost.",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:a9fe:a9fe]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::8.8.8.8]",
    "[64:ff9b:1::7f00:1]",
    "[100::1]",
    "[100:0:0:1::1]",
    "[2001::7f00:1]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:db8::1]",
    "[2002:7f00:1::]",
    "[2002:808:808::]",
    "[3fff::1]",
    "[4000::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fec0::1]",
    "[ff02::1]",
  ];
  const out = outbound(t);
  for (const host of hosts) {
    const url = `https://${host}:8443/x`;
    t.type(await out.faultOf(url), "string", url);
    await t.rejects(out.send({ url, ...bounds }), { code: "address_not_allowed" }, url);
  }
  for (const url of [
    "http://8.8.8.8/",
    "ftp://8.8.8.8/",
    "file:///etc/passwd",
    "https://user@8.8.8.8/",
    "https://:secret@8.8.8.8/",
    "https://",
    "8.8.8.8",
    "",
    `https://8.8.8.8/${"x".repeat(2000)}`,
  ]) {
    t.type(await out.faultOf(url), "string", url);
  }
  for (const url of [
    "https://8.8.8.8/",
    "https://8.8.8.8:8443/a?b=c",
    "https://[2606:4700::1111]/",
    "https://[::ffff:8.8.8.8]/",
    "https://172.32.0.1/",
    "https://100.128.0.1/",
  ]) {
    t.equal(await out.faultOf(url), undefined, url);
  }
});

void t.test("names are judged by all of their addresses", async (t) => {
  const { resolve } = await nameServer(t, {
    "public.test": ["8.8.8.8", "2606:4700::1111"],
    "private.test": ["10.0.0.1"],
    "mixed.test": ["8.8.8.8", "127.0.0.1"],
    "six.test": ["8.8.8.8", "fd00::1"],
    "mapped.test": ["64:ff9b::1"],
  });
  const out = outbound(t, { resolve });
  const fault = (host: string) => out.faultOf(`https://${host}/`);
  t.equal(await fault("public.test"), undefined);
  t.equal(await fault("unknown.test"), undefined, "it may have one later");
  for (const host of ["private", "mixed", "six", "mapped"]) {
    t.match(await fault(`${host}.test`), /public address/, host);
    await t.rejects(
      out.send({ url: `https://${host}.test/`, ...bounds }),
      { code: "address_not_allowed" },
      host,
    );
  }
  await t.rejects(out.send({ url: "https://unknown.test/", ...bounds }), { code: "not_found" });
  const allowed = outbound(t, { resolve, allow: ["10.0.0.0/8", "mixed.test"] });
  t.equal(await allowed.faultOf("https://private.test/"), undefined);
  t.equal(await allowed.faultOf("http://private.test/"), undefined);
  t.equal(await allowed.faultOf("http://mixed.test/"), undefined);
  for (const host of ["public.test", "unknown.test", "six.test"]) {
    t.match(await allowed.faultOf(`http://${host}/`), /https/, host);
  }
});

void t.test("a name that changes is looked up once", async (t) => {
  const hits: (string | undefined)[] = [];
  const port = await listen(
    t,
    secure(({ headers, socket }, answer) => {
      hits.push(headers.host);
      hits.push((socket as unknown as { servername: string }).servername);
      answer.end("hello");
    }),
  );
  // DNS rebinding: the first answer is allowed, the second is a forbidden address with a listener.
  const { resolve, asked } = await nameServer(t, {
    "receiver.test": [["127.0.0.1"], ["127.0.0.2"]],
    "rebound.test": [["8.8.8.8"], ["127.0.0.1"]],
  });
  const out = outbound(t, { resolve, allow: ["127.0.0.1"] });
  const url = `https://receiver.test:${port}/`;
  const answer = await out.send({ url, ...bounds });
  t.equal(String(answer.body), "hello");
  t.strictSame(hits, [`receiver.test:${port}`, "receiver.test"]);
  t.equal(asked["receiver.test"], 1);
  const fresh = outbound(t, { resolve, allow: ["127.0.0.1"] });
  await t.rejects(fresh.send({ url, ...bounds }), { code: "address_not_allowed" });
  const closed = outbound(t, { resolve });
  const rebound = `https://rebound.test:${port}/`;
  t.equal(await closed.faultOf(rebound), undefined);
  await t.rejects(closed.send({ url: rebound, ...bounds }), { code: "address_not_allowed" });
  t.equal(hits.length, 2, "nothing else arrived");
});

void t.test("what an answer may be", async (t) => {
  const server = createPlain((request, answer) => {
    if (request.url === "/redirect") {
      answer.writeHead(302, { location: "/elsewhere" }).end();
    } else if (request.url === "/endless") {
      const pour = () => {
        while (answer.write("x".repeat(10_000)));
      };
      answer.on("drain", pour);
      pour();
    } else if (request.url === "/silent") {
      answer.write("x");
    } else {
      request.pipe(answer);
    }
  });
  const port = await listen(t, server);
  t.teardown(() => server.closeAllConnections());
  process.env.HTTP_PROXY = process.env.http_proxy = "http://127.0.0.1:1";
  t.teardown(() => delete process.env.HTTP_PROXY);
  t.teardown(() => delete process.env.http_proxy);
  const out = outbound(t, { allow: ["127.0.0.0/8", "localhost"] });
  const at = (path: string) => ({ url: `http://127.0.0.1:${port}${path}`, ...bounds });
  t.match(await out.send(at("/redirect")), { status: 302, headers: { location: "/elsewhere" } });
  const echo = { ...at("/echo"), method: "POST", body: "ping" } as const;
  t.match(await out.send(echo), { status: 200, body: Buffer.from("ping") });
  t.match(await out.send({ ...echo, drops: true }), { status: 200, body: Buffer.alloc(0) });
  const named = { ...echo, url: `http://localhost:${port}/` };
  t.match(await out.send(named), { status: 200 }, "a name that is allowed");
  const ranges = outbound(t, { allow: ["127.0.0.0/8", "::1"] });
  t.equal(await ranges.faultOf(named.url), undefined);
  t.match(await ranges.send(named), { status: 200 }, "by its addresses");
  await t.rejects(out.send(at("/endless")), { code: "too_large" });
  t.match(await out.send({ ...at("/endless"), drops: true }), { status: 200 });
  await t.rejects(out.send({ ...at("/silent"), timeout: 50 }), { code: "timeout" });
  await t.rejects(out.send({ ...at("/"), url: "http://127.0.0.1:1/" }), { code: "unreachable" });
  const tls = await listen(
    t,
    secure((_request, answer) => answer.end()),
  );
  await t.rejects(out.send({ ...bounds, url: `https://127.0.0.1:${tls}/` }), { code: "tls" });
});

/** The addresses of each name: one list, or one per lookup. */
export type Zone = Record<string, string[] | string[][]>;

const A = 1;
const AAAA = 28;

/** Starts a local DNS server (RFC 1035), and returns a resolver for it. */
async function nameServer(t: Test, zone: Zone) {
  const socket = createSocket("udp4");
  const asked: Record<string, number> = {};
  socket.on("message", (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    const lists = zone[name];
    const round = type === A ? (asked[name] ??= 0) : (asked[name] ?? 1) - 1;
    if (type === A) asked[name]! += 1;
    const isFixed = lists === undefined || !Array.isArray(lists[0]);
    const list = isFixed
      ? (lists as string[] | undefined)
      : (lists as string[][])[Math.min(round, lists.length - 1)];
    const found = (list ?? []).filter((it) => (isIPv4(it) ? A : AAAA) === type);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(list ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(found.length, 6);
    header.fill(0, 8);
    const question = query.subarray(12, end);
    const answers = found.map((it) => record(type, it));
    socket.send(Buffer.concat([header, question, ...answers]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.teardown(() => socket.close());
  const resolver = new dns.Resolver();
  const { port } = socket.address();
  resolver.setServers([`127.0.0.1:${port}`]);
  /** Resolves a name to all its addresses, IPv4 first. */
  async function resolve(name: string): Promise<LookupAddress[]> {
    const found: LookupAddress[] = [];
    // Sequential, because the first query of a name counts its lookups.
    const four = await resolver.resolve4(name).catch(() => []);
    const six = await resolver.resolve6(name).catch(() => []);
    for (const address of four) found.push({ address, family: 4 });
    for (const address of six) found.push({ address, family: 6 });
    return found;
  }
  return { resolve, asked };
}

function questionOf(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const length = query[at]!;
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const name = labels.join(".").toLowerCase();
  return { name, type: query.readUInt16BE(at + 1), end: at + 5 };
}

function record(type: number, address: string): Buffer {
  const data =
    type === A ? Buffer.from(address.split(".").map(Number)) : Buffer.from(groups(address));
  const head = Buffer.alloc(12);
  // A pointer to the name in the question; class IN; a TTL of zero.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** Returns the sixteen bytes of an IPv6 address, which must not contain dots. */
function groups(address: string): number[] {
  const [left = "", right] = address.split("::");
  const parts = (text = "") => (text === "" ? [] : text.split(":"));
  const gap = 8 - parts(left).length - parts(right).length;
  const zeros = Array<string>(right === undefined ? 0 : gap).fill("0");
  return [...parts(left), ...zeros, ...parts(right)]
    .map((group) => parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255]);
}
