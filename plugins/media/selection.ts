import type { IncomingHttpHeaders } from "node:http";
import type { ByteRange } from "../../db/contract/file-store.js";

/** A file's validators, for conditional requests. */
export interface Validators {
  /** The file's size, in bytes. */
  size: number;
  /** A strong entity tag. */
  tag: string;
  /** The time of the last change, in milliseconds since 1970, rounded down to whole seconds. */
  modified: number;
}

/** The response's status for a file request, with the byte range for a 206. */
export type Selection = { status: 200 | 304 | 412 | 416 } | { status: 206; range: ByteRange };

const WHOLE: Selection = { status: 200 };

/**
 * Selects the part of a file that a request asks for: evaluates the preconditions in the order of
 * RFC 9110, section 13.2.2, and then the `Range` header.
 */
export function select(
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
  { size, tag, modified }: Validators,
): Selection {
  const { "if-match": match, "if-none-match": noneMatch, range } = headers;
  const ifRange = headers["if-range"] as string | undefined;
  if (match !== undefined) {
    if (match !== "*" && !listOf(match).includes(tag)) return { status: 412 };
  } else if (modified > timeOf(headers["if-unmodified-since"])) {
    return { status: 412 };
  }
  if (noneMatch !== undefined) {
    if (noneMatch === "*" || listOf(noneMatch).map(opaque).includes(tag)) {
      return { status: 304 };
    }
  } else if (modified <= timeOf(headers["if-modified-since"])) {
    return { status: 304 };
  }
  if (range === undefined || method !== "GET") return WHOLE;
  // Both comparisons are strong: only an equal time matches, and a weak tag never matches.
  if (ifRange !== undefined && ifRange !== tag && timeOf(ifRange) !== modified) {
    return WHOLE;
  }
  return rangeOf(range, size);
}

/**
 * Parses a date to milliseconds since 1970. Returns NaN, which fails every comparison, if the date
 * is missing or invalid.
 */
const timeOf = (date: string | undefined): number =>
  date === undefined || date.includes('"') ? NaN : Date.parse(date);

const opaque = (tag: string) => tag.replace(/^W\//, "");

/** Splits a list of tags. This server's tags contain no commas, so splitting at every comma is safe. */
const listOf = (list: string) => list.split(",").map((tag) => tag.trim());

/**
 * Returns the single part of a file that a `Range` header requests (RFC 9110, section 14.1.2). For
 * other units, invalid syntax or several parts, returns the whole file, which the RFC allows.
 * range-parser is not used because it reports a suffix longer than the file as a part that the file
 * does not have.
 */
function rangeOf(header: string, size: number): Selection {
  const set = /^bytes=(.+)$/i.exec(header)?.[1];
  const specs = (set ?? "").split(",").map((spec) => spec.trim());
  const named = specs.filter((spec) => spec !== "");
  const ranges: ByteRange[] = [];
  for (const spec of named) {
    const [, first = "", last = ""] = /^(\d*)-(\d*)$/.exec(spec) ?? [];
    if (first === "" && last === "") return WHOLE;
    if (first !== "" && last !== "" && Number(last) < Number(first)) {
      return WHOLE;
    }
    const start = first === "" ? size - Number(last) : Number(first);
    const end = first === "" || last === "" ? size - 1 : Number(last);
    const range = { start: Math.max(0, start), end: Math.min(end, size - 1) };
    if (range.start <= range.end) ranges.push(range);
  }
  if (named.length === 0) return WHOLE;
  const [range] = ranges;
  if (!range) return { status: 416 };
  return ranges.length === 1 ? { status: 206, range } : WHOLE;
}
