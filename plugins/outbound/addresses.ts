import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Global unicast, the only part of IPv6 with public addresses (RFC 4291, section 2.4). */
const GLOBAL = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];

/**
 * Servers of a cloud that only its machines reach, at addresses that look public: Azure's
 * wire server has the credentials of a machine.
 */
const CLOUD = ["168.63.129.16"];

/** An address as it is compared: an IPv4 address inside IPv6 as IPv4. */
const read = (text: string): Address => ipaddr.process(text);

/** Whether an address is public: no address of a machine, a network or a protocol. */
function isPublic(address: Address): boolean {
  if (CLOUD.includes(address.toString())) return false;
  // The library knows the special ranges of IANA, and calls all the rest unicast.
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(GLOBAL);
}

/** The hosts and ranges to which requests may go beside public addresses. */
export class Allowance {
  readonly #names = new Set<string>();
  readonly #ranges: [Address, number][] = [];

  /** @param entries host names, addresses, and ranges such as `10.0.0.0/8`. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      if (ipaddr.isValidCIDR(entry)) {
        this.#ranges.push(ipaddr.parseCIDR(entry));
      } else if (ipaddr.isValid(entry)) {
        const address = read(entry);
        this.#ranges.push([address, address.kind() === "ipv4" ? 32 : 128]);
      } else this.#names.add(entry);
    }
  }

  /** Whether a host is allowed by its name, wherever that leads. */
  hasName(name: string): boolean {
    return this.#names.has(name);
  }

  /** Whether an address is in an allowed range. */
  hasAddress(text: string): boolean {
    const address = read(text);
    return this.#ranges.some(
      ([range, bits]) =>
        range.kind() === address.kind() && (address as ipaddr.IPv4).match(range, bits),
    );
  }

  /**
   * Whether a request may go to an address.
   * @param isPlain whether it is HTTP without TLS, which no public address gets.
   */
  permits(text: string, isPlain: boolean): boolean {
    if (this.hasAddress(text)) return true;
    return !isPlain && isPublic(read(text));
  }
}

/** The longest URL of a target, in characters. */
const MAX_URL = 2000;

/** Where a request may go, as far as its URL tells. */
export interface Target {
  url: URL;
  /** The host as an address without brackets, or as a name. */
  host: string;
  /** Whether the host is a name, whose addresses have to be checked. */
  isName: boolean;
}

/** A URL to which no request may go. */
export interface BadTarget {
  /** A sentence for the person who named it. */
  fault: string;
}

/** Names that mean this machine wherever they are looked up (RFC 6761, section 6.3). */
const LOCAL = /(^|\.)localhost$/;

export const NOT_PUBLIC =
  "Must be at a public address: WEBHOOK_ALLOW of the server lists others that are allowed.";

/**
 * Reads where a URL leads. The URL parser of the platform, which also connects, reads each
 * spelling of an address: octal, hexadecimal, short, and in other scripts.
 */
export function targetOf(text: string, allow: Allowance): Target | BadTarget {
  const url = text.length <= MAX_URL && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    return { fault: "Must be an address like https://example.org/path." };
  }
  if (url.username !== "" || url.password !== "") {
    return { fault: "Must not hold a user name or a password." };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host.endsWith(".")) {
    return { fault: "The host name must not end with a dot." };
  }
  const isPlain = url.protocol === "http:";
  const isName = isIP(host) === 0;
  if (isName) {
    const isAllowed = allow.hasName(host);
    // Its addresses are checked as for any name.
    const isHere = allow.hasAddress("127.0.0.1") || allow.hasAddress("::1");
    if (LOCAL.test(host) && !isAllowed && !isHere) return { fault: NOT_PUBLIC };
  } else if (!allow.permits(host, isPlain)) {
    return { fault: isPlain ? PLAIN : NOT_PUBLIC };
  }
  return { url, host, isName };
}

export const PLAIN = "Must begin with https://.";
