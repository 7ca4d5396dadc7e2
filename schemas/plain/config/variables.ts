import { isIP } from "node:net";
import { fileTypes } from "../file-types.js";
import { emailFault } from "../mail.js";
import { textFault } from "../texts.js";

// Readers that convert an environment variable's text to its value. A reader throws a BadValue that
// describes the valid values.

/** Thrown if a variable has an invalid value. The caller prepends the variable's name. */
export class BadValue extends Error {}

/** Converts a variable's text to a value. */
export type VariableReader<T> = (text: string) => T;

/** Reads any string. */
export const someText: VariableReader<string> = (text) => text;

/** Returns a reader for an integer in a range. */
export const whole =
  (minimum: number, maximum = Number.MAX_SAFE_INTEGER): VariableReader<number> =>
  (text) => {
    if (!/^\d+$/.test(text)) throw new BadValue("Must be a whole number.");
    const value = Number(text);
    if (value < minimum) throw new BadValue(`Must be at least ${minimum}.`);
    if (value > maximum) throw new BadValue(`Must be at most ${maximum}.`);
    return value;
  };

/** Returns a reader for one of several words. */
export const wordOf =
  (...words: string[]): VariableReader<string> =>
  (text) => {
    const fault = textFault({ enum: words }, text);
    if (fault) throw new BadValue(fault);
    return text;
  };

/** Reads a flag. */
export const onOff: VariableReader<boolean> = (text) => {
  if (!/^(on|off|true|false)$/.test(text)) {
    throw new BadValue("Must be on or off; true and false mean the same.");
  }
  return text === "on" || text === "true";
};

const listOf = (text: string) => text.split(",").map((entry) => entry.trim());

/** Reads file extensions, separated by commas. */
export const extensions: VariableReader<string[]> = (text) => {
  const known = Object.keys(fileTypes);
  const types = listOf(text);
  const odd = types.find((type) => !known.includes(type));
  if (odd !== undefined) {
    throw new BadValue(`${JSON.stringify(odd)} is not one of ${known.join(", ")}.`);
  }
  return types;
};

/** Reads the URL of this server, without a trailing slash. */
export const publicAddress: VariableReader<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new BadValue("Must be an address like https://rooms.example.org.");
  }
  return (url.origin + url.pathname).replace(/(?<!\/)\/+$/, "");
};

/** Returns a reader for a server address with one of the given protocols, such as `redis:`. */
export const addressOf =
  (...protocols: string[]): VariableReader<string> =>
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !protocols.includes(url.protocol) || url.hostname === "") {
      throw new BadValue(
        `Must be an address that begins with ${protocols.map((it) => `${it}//`).join(" or ")}.`,
      );
    }
    return text;
  };

/** Whether the host name in a URL refers to this machine. */
export const isLoopback = (host: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** Parses a URL. Returns undefined if the string is not a URL, or if the URL has a user, a query or a fragment. */
function plainUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.hostname && !url.username && !url.password && !url.search && !url.hash
    ? url
    : undefined;
}

/** Reads the origin of a websocket server. An unencrypted origin is allowed only on this machine. */
export const socketOrigin: VariableReader<string> = (text) => {
  const url = plainUrl(text);
  const isSafe = url?.protocol === "wss:" || (url?.protocol === "ws:" && isLoopback(url.hostname));
  if (!isSafe || url.pathname !== "/") {
    throw new BadValue(
      "Must be an address like wss://calls.example.org, without a path; ws:// is for this machine only.",
    );
  }
  return `${url.protocol}//${url.host}`;
};

/** Reads the origin of an HTTP server. */
export const httpOrigin: VariableReader<string> = (text) => {
  const url = plainUrl(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== "/") {
    throw new BadValue("Must be an address like https://calls.example.org, without a path.");
  }
  return url.origin;
};

/**
 * Reads the base URL of an HTTP server that people open in a browser, and adds a trailing slash if
 * necessary. Unencrypted HTTP is allowed only on this machine.
 */
export const httpFolder: VariableReader<string> = (text) => {
  const url = plainUrl(text);
  const isSafe =
    url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (!isSafe) {
    throw new BadValue(
      "Must be an address like https://meet.example.org/; http:// is for this machine only.",
    );
  }
  return new URL(url.pathname.endsWith("/") ? "." : `${url.pathname}/`, url).href;
};

/**
 * Returns a reader for a secret. Error messages never repeat the secret, because error messages may
 * be logged.
 * @param least the minimum number of characters.
 */
export const secretText =
  (least: number): VariableReader<string> =>
  (text) => {
    if (text.length < least) throw new BadValue(`Must have at least ${least} characters.`);
    return text;
  };

/** Fastify's names for address ranges. */
const RANGES = ["loopback", "linklocal", "uniquelocal"];

/** Reads the proxies whose forwarded headers are trusted: `false` for none, or addresses and ranges. */
export const proxies: VariableReader<string[] | false> = (text) => {
  if (text === "off" || text === "false") return false;
  const list = listOf(text);
  for (const proxy of list) {
    if (!RANGES.includes(proxy) && !isRange(proxy)) {
      throw new BadValue(
        `Must be off, or addresses, ranges like 10.0.0.0/8, or ${RANGES.join(", ")}, separated by commas.`,
      );
    }
  }
  return list;
};

/** Whether a string is a normalized host name, and not an IP address in any notation. */
const isHostName = (text: string) =>
  /^[a-z0-9._-]{1,253}(?<!\.)$/.test(text) &&
  URL.canParse(`https://${text}`) &&
  new URL(`https://${text}`).hostname === text;

/** Reads host names and address ranges. */
export const hostsAndRanges: VariableReader<string[]> = (text) => {
  const list = listOf(text);
  const odd = list.find((it) => !isRange(it) && !isHostName(it));
  if (odd !== undefined) {
    throw new BadValue(
      `${JSON.stringify(odd)} is not a host, such as hooks.example.org, an address, or a range, such as 10.0.0.0/8.`,
    );
  }
  return list;
};

/** Whether a string is an address or an address range. */
function isRange(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  return (
    version !== 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)))
  );
}

/** Reads the origins whose scripts may call the API: `*` for all. */
export const origins: VariableReader<string[] | "*"> = (text) => {
  if (text === "*") return "*";
  const list = listOf(text);
  for (const origin of list) {
    // Browsers compare origins as text, so an origin with a trailing slash would never match.
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new BadValue(
        "Must be *, or origins like https://app.example.org, without a path, separated by commas.",
      );
    }
  }
  return list;
};

/** An origin that is safe in a header, where `;` or `,` would end the origin. */
const ORIGIN = /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d+)?$/;

/** Reads origins, without `*`. */
export const exactOrigins: VariableReader<string[]> = (text) => {
  const list = listOf(text);
  for (const origin of list) {
    const isOrigin = ORIGIN.test(origin) && URL.canParse(origin);
    if (!isOrigin || new URL(origin).origin !== origin) {
      throw new BadValue(
        "Must be origins like https://www.example.org, without a path, separated by commas.",
      );
    }
  }
  return list;
};

/**
 * Returns a reader for a token sent in a header. Error messages never repeat the token, because
 * error messages may be logged.
 * @param least the minimum number of characters.
 */
export const bearerToken =
  (least: number): VariableReader<string> =>
  (text) => {
    if (text.length < least || !/^[\w.~+/=-]{1,500}$/.test(text)) {
      throw new BadValue(
        `Must be ${least} to 500 letters, digits and . _ ~ + / = -, such as the output of openssl rand -hex 32.`,
      );
    }
    return text;
  };

/** The sender of mails. */
export interface Sender {
  /** Empty for none. */
  readonly name: string;
  readonly address: string;
}

/** Reads the sender of mails: an address, or a name with an address in angle brackets. */
export const sender: VariableReader<Sender> = (text) => {
  const given = text.trim();
  const start = given.indexOf("<");
  const isNamed = start >= 0 && given.endsWith(">");
  const address = isNamed ? given.slice(start + 1, -1).trim() : given;
  const before = isNamed ? given.slice(0, start).trim() : "";
  const name = before.startsWith('"') && before.endsWith('"') ? before.slice(1, -1) : before;
  if (/["<>\p{Cc}]/u.test(name) || emailFault(address) !== undefined) {
    throw new BadValue(
      "Must be an e-mail address, or a name and an address: Example Events <events@example.org>.",
    );
  }
  return { name: name.trim(), address };
};
