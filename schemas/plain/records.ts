/**
 * Kinds of records that are created, updated and deleted, and of which the log keeps only the id.
 * These names determine the records' log entries, the messages that processes exchange about
 * records, and the records' types in the change feed and in the audit.
 */
export const RECORDS = ["session", "speaker", "invitation"] as const;

export type RecordName = (typeof RECORDS)[number];

const EVENTS = ["created", "updated", "deleted"] as const;

export type RecordEvent = (typeof EVENTS)[number];

/** The type of a record's event, such as `session.created`. */
export type RecordType = `${RecordName}.${RecordEvent}`;

/** Returns the name of a record's id in the feed. */
export const idName = <R extends RecordName>(record: R): `${R}_id` => `${record}_id`;

/** Creates a value for each event of each record, by the event's type. */
export const ofRecords = <T>(make: (record: RecordName, event: RecordEvent) => T) =>
  Object.fromEntries(
    RECORDS.flatMap((record) =>
      EVENTS.map((event) => [`${record}.${event}`, make(record, event)] as const),
    ),
  ) as Record<RecordType, T>;

export const RECORD_TYPES = Object.keys(ofRecords(() => null)) as readonly RecordType[];
