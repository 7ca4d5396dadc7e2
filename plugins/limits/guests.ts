import { isIPv4, isIPv6 } from "node:net";
import type { IncomingMessage } from "node:http";
import proxyAddress from "@fastify/proxy-addr";
import fp from "fastify-plugin";
import type { UserStore } from "../../db/contract/store.js";
import { Tally } from "./rate.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Bounds how many new guests come from one address. */
    readonly guests: Guests;
  }
}

const MINUTE_MS = 60_000;

interface GuestLimit {
  perMinute: number;
  /** The proxies whose headers name the address of a client. */
  trustProxy: string[] | false;
}

/**
 * Lets new guests in, up to a rate of each address: any client can make up client IDs, and
 * each becomes a user.
 */
export class Guests {
  readonly #users: Pick<UserStore, "find">;
  readonly #tally = new Tally();
  readonly #perMinute: number;
  readonly #trusts: (address: string, hop: number) => boolean;

  constructor(users: Pick<UserStore, "find">, { perMinute, trustProxy }: GuestLimit) {
    this.#users = users;
    this.#perMinute = perMinute;
    this.#trusts = proxyAddress.compile(trustProxy || []);
  }

  /** The address of the client of a request; empty if its socket has none. */
  addressOf(request: IncomingMessage): string {
    const address: string | undefined = proxyAddress(request, this.#trusts);
    return address ?? "";
  }

  /** Whether a request comes from a proxy whose headers count. */
  isProxied({ socket }: IncomingMessage): boolean {
    return this.#trusts(socket.remoteAddress ?? "", 0);
  }

  /** Whether a guest may come in: the world knows the guest, or the rate has room for a new one. */
  async admits(world: string, clientId: string, address: string): Promise<boolean> {
    const network = networkOf(address);
    if (network === undefined) return true;
    if (await this.#users.find(world, { clientId })) return true;
    return this.#tally.count(network, MINUTE_MS).count <= this.#perMinute;
  }
}

/**
 * The network that counts as one address: an IPv4 address, or a network of IPv6, within which a
 * client has as many addresses as it likes.
 * @returns undefined for this machine.
 */
export function networkOf(address: string): string | undefined {
  if (address === "") return undefined;
  // Some proxies add the port; links add a zone.
  const [zoneless = ""] = address.split("%", 1);
  const plain = zoneless.replace(/^([\d.]+):\d+$/, "$1");
  if (isIPv4(plain)) return plain.startsWith("127.") ? undefined : plain;
  // If a proxy forwards the client's own header, each forged text gets a rate of its own.
  if (!isIPv6(plain)) return "no address";
  const groups = groupsOf(plain);
  const isZero = (to: number) => groups.slice(0, to).every((n) => n === 0);
  if (isZero(5) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return networkOf([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  if (isZero(7) && groups[7] === 1) return undefined;
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  // In its shortest form it has no dots, and at most one gap.
  const { hostname } = new URL(`http://[${address}]`);
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":")));
  const gap = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...gap, ...tail].map((group) => Number.parseInt(group, 16));
}

export default fp<GuestLimit>(
  async (app, limit) => {
    app.decorate("guests", new Guests(app.store.users, limit));
  },
  { name: "guests", dependencies: ["engines"] },
);
