import { randomUUID } from "node:crypto";

/** The last three digits of 4096 ids. */
const LAST = Array.from({ length: 16 ** 3 }, (_, n) =>
  n.toString(16).padStart(3, "0"),
);

/**
 * Makes request ids: UUIDs whose last three digits count. A random UUID for each
 * request costs 3 % of a read.
 */
export function requestIds(): () => string {
  let first = "";
  let count = 0;
  return () => {
    if (count === 0) first = randomUUID().slice(0, -3);
    const last = LAST[count]!;
    count = (count + 1) % LAST.length;
    return first + last;
  };
}
