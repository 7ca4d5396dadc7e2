import { isIP } from "node:net";
import type { Allowance } from "./addresses.js";

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
  const url =
    text.length <= MAX_URL && URL.canParse(text) ? new URL(text) : undefined;
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
