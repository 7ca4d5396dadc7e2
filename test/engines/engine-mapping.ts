const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** The names of values that are times in milliseconds. */
const TIMES = new Set([
  "timestamp",
  "created",
  "last_seen",
  "last_login",
  "uploadedAt",
]);

/** The names of values that are ids of events. */
const EVENTS = new Set(
  "id edited replaces previous previousMessage pointer listed event lastMessage next".split(
    " ",
  ),
);

/** The names of lists whose order is open, or follows random ids. */
const UNORDERED = new Set(
  "notified appeared channels marks notifications".split(" "),
);

/**
 * Makes a function that writes down the answers of a store, so that they can be compared
 * with the values of another: ids, times and versions by when they first occurred.
 * @param fixed the ids that are the same in both.
 */
export function mapping(
  fixed: ReadonlySet<string>,
): (answer: unknown) => string {
  const names = new Map<string, string>();
  const nameOf = (kind: string, value: string | number): string => {
    const key = `${kind} ${value}`;
    let name = names.get(key);
    if (name === undefined) names.set(key, (name = `<${kind} ${names.size}>`));
    return name;
  };
  const mapText = (text: string): string =>
    text
      .replace(UUID, (id) => (fixed.has(id) ? id : nameOf("id", id)))
      .replace(TIME, "<time>");

  function mapNumber(key: string, value: number): unknown {
    if (TIMES.has(key)) return "<time>";
    if (EVENTS.has(key) && value !== 0) return nameOf("event", value);
    return value;
  }

  function map(key: string, value: unknown): unknown {
    if (typeof value === "string") return mapText(value);
    if (typeof value === "number") return mapNumber(key, value);
    if (Array.isArray(value)) {
      const entries = value.map((entry) => map("", entry));
      if (!UNORDERED.has(key)) return entries;
      return entries.map((entry) => JSON.stringify(entry)).sort();
    }
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
      Object.entries(value).map(([name, entry]) => [
        mapText(name),
        map(name, entry),
      ]),
    );
  }
  return (answer) => JSON.stringify(map("", answer));
}
