import t from "tap";
import {
  readWorldDocument,
  toWorldDocument,
} from "../../schemas/world-document.js";
import { InvalidData } from "../../schemas/validate.js";
import { worldOf } from "../helper.js";

const id = "00000000-0000-4000-8000-000000000000";
const good = {
  format: "foyer.world",
  version: 1,
  world: worldOf("new"),
  rooms: [{ id, name: "x" }] as unknown[],
};

const world = (changes: object) => ({
  ...good,
  world: { ...good.world, ...changes },
});
const room = (changes: object) => ({
  ...good,
  rooms: [...good.rooms, { id, name: "y", ...changes }],
});

/** Objects in each other, as deep as the API takes them. */
const deep = (levels: number): object =>
  levels === 0 ? {} : { x: deep(levels - 1) };

void t.test("what is read is what was written", async (t) => {
  const copy = readWorldDocument(good);
  t.same(copy, { world: good.world, rooms: good.rooms });
  t.same(
    readWorldDocument(JSON.parse(JSON.stringify(toWorldDocument(copy)))),
    copy,
  );
  t.same(Object.keys(toWorldDocument(copy)), [
    "format",
    "version",
    "world",
    "rooms",
  ]);
  const { JWT_secrets } = good.world.config;
  for (const document of [
    world({ revision: 7 }),
    room({ revision: 7, domain: "own.org" }),
    { ...good, rooms: [] },
    world({ config: { JWT_secrets, x: deep(97) } }),
    room({ module_config: [{ type: "x", x: deep(96) }] }),
  ]) {
    t.doesNotThrow(() => readWorldDocument(document));
  }
});

void t.test("what is wrong is said in the words of the API", async (t) => {
  const required = ["This field is required."];
  const cases: [name: string, document: unknown, faults: object][] = [
    ["a list", [good], { non_field_errors: ["Must be an object."] }],
    ["null", null, { non_field_errors: ["Must be an object."] }],
    [
      "an empty object",
      {},
      {
        format: required,
        version: required,
        world: ["Must be an object."],
        rooms: ["Must be a list."],
      },
    ],
    [
      "another format",
      { ...good, format: "x" },
      { format: ["Must be one of foyer.world."] },
    ],
    [
      "a version that is none",
      { ...good, version: "1" },
      { version: ["Must be a whole number."] },
    ],
    [
      "version 0",
      { ...good, version: 0 },
      { version: ["Must be at least 1."] },
    ],
    [
      "a newer version, whatever is in it",
      { format: "foyer.world", version: 2, more: 1 },
      { version: ["Must be at most 1: use a newer Foyer."] },
    ],
    ["an unknown field", { ...good, more: 1 }, { more: ["Unknown field."] }],
    [
      "an unknown field of the world",
      world({ more: 1 }),
      { "world.more": ["Unknown field."] },
    ],
    [
      "a bad domain",
      world({ domain: "No" }),
      {
        "world.domain": [
          "Must be a host name in lower case, with an optional :port.",
        ],
      },
    ],
    [
      "a world without keys",
      world({ config: { JWT_secrets: [] } }),
      { "world.config.JWT_secrets": ["May not be empty."] },
    ],
    [
      "a revision that is none",
      world({ revision: 0 }),
      { "world.revision": ["Must be at least 1."] },
    ],
    [
      "a NUL",
      room({ name: "\0" }),
      { "rooms.1.name": ["Must be free of NUL characters."] },
    ],
    [
      "a bad module",
      room({ module_config: [{}] }),
      { "rooms.1.module_config.0.type": required },
    ],
    [
      "a room id that is none",
      room({ id: "../x" }),
      { "rooms.1.id": ["Must be a UUID in lower case."] },
    ],
    [
      "a room that is none",
      { ...good, rooms: [1] },
      { "rooms.0": ["Must be an object."] },
    ],
    [
      "faults without end",
      { ...good, rooms: Array.from({ length: 1000 }, () => ({ name: "x" })) },
      Object.fromEntries(
        Array.from({ length: 20 }, (_, i) => [`rooms.${i}.id`, required]),
      ),
    ],
    [
      "faults in several",
      { ...room({ name: "" }), world: [], version: 0.5 },
      {
        version: ["Must be a whole number."],
        world: ["Must be an object."],
        "rooms.1.name": ["May not be empty."],
      },
    ],
  ];
  for (const [name, document, faults] of cases) {
    try {
      readWorldDocument(document);
      t.fail(name);
    } catch (error) {
      t.ok(error instanceof InvalidData, name);
      t.same((error as InvalidData).faults, faults, name);
    }
  }
});
