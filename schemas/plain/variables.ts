import { isIP } from "node:net";
import { fileTypes } from "./file-types.js";
import { textFault } from "./texts.js";

// Readers that convert the text of an environment variable to its value. They throw a
// BadValue that describes a valid text.

/** A variable has an invalid value. The caller adds the name of the variable. */
export class BadValue extends Error {}

/** Converts text to a value. */
export type Reader<T> = (text: string) => T;

/** Any text. */
export const someText: Reader<string> = (text) => text;

/** A whole number between two others. */
export const whole =
  (minimum: number, maximum = Number.MAX_SAFE_INTEGER): Reader<number> =>
  (text) => {
    if (!/^\d+$/.test(text)) throw new BadValue("Must be a whole number.");
    const value = Number(text);
    if (value < minimum) throw new BadValue(`Must be at least ${minimum}.`);
    if (value > maximum) throw new BadValue(`Must be at most ${maximum}.`);
    return value;
  };

/** One of a few words. */
export const wordOf =
  (...words: string[]): Reader<string> =>
  (text) => {
    const fault = textFault({ enum: words }, text);
    if (fault) throw new BadValue(fault);
    return text;
  };

/** Whether something is on. */
export const onOff: Reader<boolean> = (text) => {
  if (!/^(on|off|true|false)$/.test(text)) {
    throw new BadValue("Must be on or off; true and false mean the same.");
  }
  return text === "on" || text === "true";
};

const listOf = (text: string) => text.split(",").map((entry) => entry.trim());

/** Extensions of files, separated by commas. */
export const extensions: Reader<string[]> = (text) => {
  const known = Object.keys(fileTypes);
  const types = listOf(text);
  const odd = types.find((type) => !known.includes(type));
  if (odd !== undefined) {
    throw new BadValue(`${JSON.stringify(odd)} is not one of ${known.join(", ")}.`);
  }
  return types;
};

/** The URL of this server, without a slash at the end. */
export const publicAddress: Reader<string> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new BadValue("Must be an address like https://rooms.example.org.");
  }
  return (url.origin + url.pathname).replace(/(?<!\/)\/+$/, "");
};

/** The address of a server, with one of the given protocols, such as `redis:`. */
export const addressOf =
  (...protocols: string[]): Reader<string> =>
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !protocols.includes(url.protocol) || url.hostname === "") {
      throw new BadValue(
        `Must be an address that begins with ${protocols.map((it) => `${it}//`).join(" or ")}.`,
      );
    }
    return text;
  };

/** Fastify's names for ranges of addresses. */
const RANGES = ["loopback", "linklocal", "uniquelocal"];

/** The proxies whose forwarded headers are trusted: `false` for none, or addresses and ranges. */
export const proxies: Reader<string[] | false> = (text) => {
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

/** Whether a text is a host name as URLs have it: no address, also in no odd spelling of one. */
const isHostName = (text: string) =>
  /^[a-z0-9._-]{1,253}(?<!\.)$/.test(text) &&
  URL.canParse(`https://${text}`) &&
  new URL(`https://${text}`).hostname === text;

/** Hosts, and ranges of addresses. */
export const hostsAndRanges: Reader<string[]> = (text) => {
  const list = listOf(text);
  const odd = list.find((it) => !isRange(it) && !isHostName(it));
  if (odd !== undefined) {
    throw new BadValue(
      `${JSON.stringify(odd)} is no host, such as hooks.example.org, no address, and no range, such as 10.0.0.0/8.`,
    );
  }
  return list;
};

/** Whether a text is an address, or a range of addresses. */
function isRange(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  return (
    version !== 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)))
  );
}

/** The origins whose scripts may call the API: `*` for all. */
export const origins: Reader<string[] | "*"> = (text) => {
  if (text === "*") return "*";
  const list = listOf(text);
  for (const origin of list) {
    // A browser compares origins as text, so a slash at the end would never match.
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new BadValue(
        "Must be *, or origins like https://app.example.org, without a path, separated by commas.",
      );
    }
  }
  return list;
};

/** An origin as it can stand in a header, where `;` and `,` end it. */
const ORIGIN = /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d+)?$/;

/** Origins, without `*`. */
export const exactOrigins: Reader<string[]> = (text) => {
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
 * A password for a header. No message repeats it, because messages may be logged.
 * @param least how many characters it has at least.
 */
export const bearerToken =
  (least: number): Reader<string> =>
  (text) => {
    if (text.length < least || !/^[\w.~+/=-]{1,500}$/.test(text)) {
      throw new BadValue(
        `Must be ${least} to 500 letters, digits and . _ ~ + / = -, such as openssl rand -hex 32 makes.`,
      );
    }
    return text;
  };
