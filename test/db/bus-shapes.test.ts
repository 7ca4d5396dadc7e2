import t from "tap";
import { received } from "../../db/bus/shapes.js";
import { hostileMessages } from "./hostile-messages.js";
import { SAMPLE_WORLD, sampleEntries } from "./sample-entries.js";

/** Fields that an entry of a type may lack. */
const OPTIONAL: ReadonlySet<string> = new Set(["hidden"]);

const messageWith = (entry: unknown) => ({
  ...{ type: "hints", world: SAMPLE_WORLD },
  hints: [{ entry, previous: 0 }],
});

/** As it travels. */
const copyOf = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value)) as unknown;

void t.test("an entry of each type comes as it is", (t) => {
  for (const entry of sampleEntries) {
    const message = copyOf(messageWith(entry));
    t.strictSame(received(message), [message], entry.type);
  }
  t.end();
});

void t.test("an entry that lacks a field is refused", (t) => {
  for (const entry of sampleEntries) {
    for (const field of Object.keys(entry)) {
      const lacking = { ...entry, [field]: undefined };
      const { length } = received(copyOf(messageWith(lacking)));
      t.equal(length, OPTIONAL.has(field) ? 1 : 0, `${entry.type} ${field}`);
    }
  }
  t.end();
});

void t.test("a field of another kind is refused", (t) => {
  for (const entry of sampleEntries) {
    for (const field of Object.keys(entry)) {
      for (const value of [{ x: true }, [[]]]) {
        const odd = messageWith({ ...entry, [field]: value });
        t.strictSame(received(copyOf(odd)), [], `${entry.type} ${field}`);
      }
    }
  }
  t.end();
});

void t.test("what no process sends is refused", (t) => {
  for (const [fault, message] of Object.entries(hostileMessages)) {
    t.strictSame(received(message), [], fault);
  }
  t.end();
});

void t.test("a newer Foyer may send more", (t) => {
  const [entry] = sampleEntries;
  const message = { ...messageWith({ ...entry, color: "red" }), shade: 1 };
  t.strictSame(received(message), [message]);
  t.end();
});
