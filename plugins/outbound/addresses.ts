import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Global unicast, the only IPv6 range with public addresses (RFC 4291, section 2.4). */
const GLOBAL = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];

/** Cloud-internal servers at addresses that look public: Azure's wire server hands out a machine's credentials. */
const CLOUD = ["168.63.129.16"];

/** Parses an address for comparison. Converts an IPv4-mapped IPv6 address to IPv4. */
const read = (text: string): Address => ipaddr.process(text);

/** Whether an address is public, rather than reserved for a machine, a network or a protocol. */
function isPublic(address: Address): boolean {
  if (CLOUD.includes(address.toString())) return false;
  // The library knows IANA's special ranges, and classifies everything else as unicast.
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(GLOBAL);
}

/** The hosts and ranges that requests may reach in addition to public addresses. */
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

  /** Whether a host is allowed by name, regardless of its addresses. */
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
   * Whether a request may be sent to an address.
   * @param isPlain whether the request uses HTTP without TLS, which is not allowed for public
   * addresses.
   */
  permits(text: string, isPlain: boolean): boolean {
    if (this.hasAddress(text)) return true;
    return !isPlain && isPublic(read(text));
  }
}

/** Maximum length of a target URL, in characters. */
const MAX_URL = 2000;

/** A target that is permitted, judging by its URL alone. */
export interface Target {
  url: URL;
  /** The host name, or the address without brackets. */
  host: string;
  /** Whether the host is a name, whose addresses still have to be checked. */
  isName: boolean;
}

/** A URL to which no request may be sent. */
export interface BadTarget {
  /** A sentence for the person who entered the URL. */
  fault: string;
}

/** Names that always resolve to this machine (RFC 6761, section 6.3). */
const LOCAL = /(^|\.)localhost$/;

export const NOT_PUBLIC = "Must have a public address, or be listed in the server's WEBHOOK_ALLOW.";

/**
 * Parses and checks a target URL. Uses the same URL parser as the connection. The parser
 * understands all spellings of an address: octal, hexadecimal, shortened, and non-ASCII.
 */
export function targetOf(text: string, allow: Allowance): Target | BadTarget {
  const url = text.length <= MAX_URL && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    return { fault: "Must be an address like https://example.org/path." };
  }
  if (url.username !== "" || url.password !== "") {
    return { fault: "Must not contain a user name or password." };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host.endsWith(".")) {
    return { fault: "The host name must not end with a dot." };
  }
  const isPlain = url.protocol === "http:";
  const isName = isIP(host) === 0;
  if (isName) {
    const isAllowed = allow.hasName(host);
    // If loopback is allowed, the name's addresses are checked later, as for names that are not
    // local.
    const isHere = allow.hasAddress("127.0.0.1") || allow.hasAddress("::1");
    if (LOCAL.test(host) && !isAllowed && !isHere) return { fault: NOT_PUBLIC };
  } else if (!allow.permits(host, isPlain)) {
    return { fault: isPlain ? PLAIN : NOT_PUBLIC };
  }
  return { url, host, isName };
}

export const PLAIN = "Must begin with https://.";
