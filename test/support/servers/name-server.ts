import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type LookupAddress, promises as dns } from "node:dns";
import { isIPv4 } from "node:net";
import type { Test } from "tap";

/** The addresses of a name: one list, or one for each time that it is looked up. */
export type Zone = Record<string, string[] | string[][]>;

const A = 1;
const AAAA = 28;

/** A name server (RFC 1035) on this machine, and what asks it. */
export async function nameServer(t: Test, zone: Zone) {
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
  /** Looks up all addresses of a name, IPv4 first. */
  async function resolve(name: string): Promise<LookupAddress[]> {
    const found: LookupAddress[] = [];
    // In order, as the rounds of a name are counted by its first question.
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
  // The name is the one of the question; class IN; no time to live.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** The sixteen bytes of an IPv6 address without dots. */
function groups(address: string): number[] {
  const [left = "", right] = address.split("::");
  const parts = (text = "") => (text === "" ? [] : text.split(":"));
  const gap = 8 - parts(left).length - parts(right).length;
  const zeros = Array<string>(right === undefined ? 0 : gap).fill("0");
  return [...parts(left), ...zeros, ...parts(right)]
    .map((group) => parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255]);
}
