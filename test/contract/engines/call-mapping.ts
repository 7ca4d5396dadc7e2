const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** Fields that hold times in milliseconds. */
const TIMES = new Set(
  "timestamp created last_seen last_login uploadedAt at created_at revoked_at opened_at resolved_at".split(
    " ",
  ),
);

/** Fields that hold event ids. */
const EVENTS = new Set(
  "id edited replaces previous previousMessage pointer listed event lastMessage next".split(" "),
);

/** Fields that hold random values. */
const RANDOM = new Set("shown all stamp settings token tag code".split(" "));

/** Lists whose order is unspecified, or follows random ids. */
const UNORDERED = new Set("notified appeared channels marks notifications sums".split(" "));

/**
 * Returns a function that serializes a store's answers for comparison with those of another store.
 * Ids, times and versions are numbered by first occurrence.
 * @param fixed the ids that are the same in both stores.
 */
export function mapping(fixed: ReadonlySet<string>): (answer: unknown) => string {
  const names = new Map<string, string>();
  const nameOf = (kind: string, value: string | number): string => {
    const key = `${kind} ${value}`;
    let name = names.get(key);
    if (name === undefined) names.set(key, (name = `<${kind} ${names.size}>`));
    return name;
  };
  const mapText = (text: string): string =>
    text.replace(UUID, (id) => (fixed.has(id) ? id : nameOf("id", id))).replace(TIME, "<time>");

  function mapNumber(key: string, value: number): unknown {
    if (TIMES.has(key)) return "<time>";
    // PostgreSQL's sequences skip the numbers of failed writes.
    if (key === "number") return "<number>";
    if (EVENTS.has(key) && value !== 0) return nameOf("event", value);
    return value;
  }

  function map(key: string, value: unknown): unknown {
    if (typeof value === "string") {
      return RANDOM.has(key) && value !== "" ? nameOf("random", value) : mapText(value);
    }
    if (typeof value === "number") return mapNumber(key, value);
    if (Array.isArray(value)) {
      const entries = value.map((entry) => map("", entry));
      if (!UNORDERED.has(key)) return entries;
      return entries.map((entry) => JSON.stringify(entry)).sort();
    }
    if (value instanceof Map || value instanceof Set) return map(key, [...value]);
    if (typeof value !== "object" || value === null) return value;
    // A change in the audit.
    if ("field" in value && TIMES.has(value.field as string)) return "<time>";
    if ("version" in value && "value" in value) {
      const { id } = value.value as { id?: string };
      const { version } = value as { version: string };
      // Worlds have chosen ids, and imported rooms keep theirs.
      const isSame = id !== undefined && (fixed.has(id) || id.length < 36);
      return {
        value: map("", value.value),
        version: isSame ? version : nameOf("version", version),
      };
    }
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [mapText(name), map(name, entry)]),
    );
  }
  return (answer) => JSON.stringify(map("", answer));
}

/** Texts that engines might treat differently. */
export const ODD_TEXTS: readonly string[] = [
  ..."\0\u0001\u0002\u0003\u007f\u00a0ßẞİıIiﬁΣKé\u0301가😀\u{10ffff}\uffff\ufeff\u202e%_\\'\"{,",
  "",
  "\u0005\u0006",
  "\u0001\u0003",
  "a\0b",
  "SS",
  "σς",
  "e\u0301",
  "👩‍👩‍👧",
  "\\u0000",
  "{}",
  "NULL",
  "$1",
  "\r\n",
  "x".repeat(10_000),
  "ß".repeat(3000),
];

/** Returns an arbitrary JSON value, possibly with huge numbers and deep lists. */
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
