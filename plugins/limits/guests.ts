import { isIPv4, isIPv6 } from "node:net";
import type { IncomingMessage } from "node:http";
import proxyAddress from "@fastify/proxy-addr";
import fp from "fastify-plugin";
import type { UserStore } from "../../db/contract/store.js";
import { Tally } from "./request-rate.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Limits the number of new guests per address. */
    readonly guests: Guests;
  }
}

const MINUTE_MS = 60_000;

interface GuestLimit {
  perMinute: number;
  /** The proxies whose headers are trusted to name a client's address. */
  trustProxy: string[] | false;
}

/**
 * Admits new guests up to a rate per address, because any client can make up client IDs, and each
 * client ID becomes a user.
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

  /** Returns the client's address, or an empty string if the socket has no address. */
  addressOf(request: IncomingMessage): string {
    const address: string | undefined = proxyAddress(request, this.#trusts);
    return address ?? "";
  }

  /** Whether a request comes from a proxy whose headers are trusted. */
  isProxied({ socket }: IncomingMessage): boolean {
    return this.#trusts(socket.remoteAddress ?? "", 0);
  }

  /**
   * Whether a guest is admitted. A guest is admitted if the world already knows the guest, or if
   * the rate allows another new guest.
   */
  async admits(world: string, clientId: string, address: string): Promise<boolean> {
    const network = networkOf(address);
    if (network === undefined) return true;
    if (await this.#users.find(world, { clientId })) return true;
    return this.#tally.count(network, MINUTE_MS).count <= this.#perMinute;
  }
}

/**
 * Returns the network that counts as one address: an IPv4 address, or an IPv6 /64 network, because
 * a client can use any number of addresses within a /64 network.
 * @returns undefined for this machine.
 */
export function networkOf(address: string): string | undefined {
  if (address === "") return undefined;
  // Some proxies append the port; link-local addresses have a zone.
  const [zoneless = ""] = address.split("%", 1);
  const plain = zoneless.replace(/^([\d.]+):\d+$/, "$1");
  if (isIPv4(plain)) return plain.startsWith("127.") ? undefined : plain;
  // All invalid addresses share one rate. Otherwise, if a proxy forwards a header that the client
  // sent, each forged address would have a separate rate.
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

/**
 * Returns the network that a ban keeps out: an IPv4 /24 network or an IPv6 /64 network.
 * @returns undefined for this machine, and for an invalid address.
 */
export function bannableNetwork(address: string): string | undefined {
  const network = networkOf(address);
  if (network === undefined || network === "no address") return undefined;
  return isIPv4(network) ? `${network.slice(0, network.lastIndexOf("."))}.0/24` : network;
}

/** Returns the eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser normalizes the address to a form without dots and with at most one "::".
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
