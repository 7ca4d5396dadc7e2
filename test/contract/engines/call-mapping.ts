const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** The names of values that are times in milliseconds. */
const TIMES = new Set("timestamp created last_seen last_login uploadedAt at created_at".split(" "));

/** The names of values that are ids of events. */
const EVENTS = new Set(
  "id edited replaces previous previousMessage pointer listed event lastMessage next".split(" "),
);

/** The names of values that are random. */
const RANDOM = new Set("shown all stamp settings token tag".split(" "));

/** The names of lists whose order is open, or follows random ids. */
const UNORDERED = new Set("notified appeared channels marks notifications".split(" "));

/**
 * Makes a function that writes down the answers of a store, so that they can be compared
 * with the values of another: ids, times and versions by when they first occurred.
 * @param fixed the ids that are the same in both.
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
    // A sequence of PostgreSQL skips numbers of writes that failed.
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
    if ("version" in value && "value" in value) {
      const { id } = value.value as { id?: string };
      const { version } = value as { version: string };
      // Ids of worlds, whose ids are chosen, and of rooms that were imported.
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

/** Texts that engines may treat in different ways. */
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
