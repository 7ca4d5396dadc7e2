import type { IncomingHttpHeaders } from "node:http";
import type { ByteRange } from "../../db/contract/file-store.js";

/** The validators of a file, for conditional requests. */
export interface Validators {
  /** In bytes. */
  size: number;
  /** A strong entity tag. */
  tag: string;
  /** In milliseconds, in whole seconds. */
  modified: number;
}

/** The status of the answer to a request for a file, and which bytes it has. */
export type Selection = { status: 200 | 304 | 412 | 416 } | { status: 206; range: ByteRange };

const WHOLE: Selection = { status: 200 };

/**
 * Which part of a file a request asks for: by its preconditions in the order of
 * RFC 9110, section 13.2.2, and then by its `Range`.
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
  // Strong, too: only an equal time matches, never a weak tag.
  // Both comparisons are strong, so a weak tag never matches.
  if (ifRange !== undefined && ifRange !== tag && timeOf(ifRange) !== modified) {
    return WHOLE;
  }
  return rangeOf(range, size);
}

/** In milliseconds; NaN, which no comparison holds for, if it is no time. */
const timeOf = (date: string | undefined): number =>
  date === undefined || date.includes('"') ? NaN : Date.parse(date);

const opaque = (tag: string) => tag.replace(/^W\//, "");

/** The tags of this server hold no comma, so every comma splits a list. */
const listOf = (list: string) => list.split(",").map((tag) => tag.trim());

/**
 * The one part of a file that a `Range` header names (RFC 9110, section 14.1.2).
 * For another unit, bad syntax, or several parts, the answer is the whole file, as
 * a server may decide. Written here because range-parser reports a suffix longer
 * than the file as a part that the file does not have.
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
