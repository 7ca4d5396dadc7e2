/** Texts that engines may treat in different ways. */
export const ODD_TEXTS: readonly string[] = [
  "",
  "\0",
  "\u0001",
  "\u0002",
  "\u0003",
  "\u0005\u0006",
  "\u0001\u0003",
  "a\0b",
  "\u007f",
  "\u00a0",
  "ß",
  "SS",
  "ẞ",
  "İ",
  "ı",
  "I",
  "i",
  "ﬁ",
  "Σ",
  "σς",
  "K",
  "é",
  "e\u0301",
  "\u0301",
  "가",
  "😀",
  "👩‍👩‍👧",
  "\u{10ffff}",
  "\uffff",
  "\ufeff",
  "\u202e",
  "%",
  "_",
  "\\",
  "\\u0000",
  "'",
  '"',
  "{}",
  "{",
  ",",
  "NULL",
  "$1",
  "\r\n",
  "x".repeat(10_000),
  "ß".repeat(3000),
];

/** Any JSON value, with huge numbers and deep lists. */
export function oddJson(
  pick: <T>(list: readonly T[]) => T,
  whole: (below: number) => number,
  text: () => string,
): unknown {
  return pick<() => unknown>([
    text,
    () => null,
    () => true,
    () => pick([0, -0, 1e308, 5e-324, 2 ** 53, -(2 ** 63), 0.1, 1e21]),
    () => ({ [text()]: text(), "2": 1, "1": 2, __proto_: [] }),
    () => {
      let deep: unknown = text();
      for (let i = whole(90); i > 0; i--) deep = i % 2 ? [deep] : { x: deep };
      return deep;
    },
  ])();
}
