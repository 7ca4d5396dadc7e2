import t from "tap";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { worldOf } from "../helper.js";
import { type Refusal, refuses } from "./refusals.js";

const id = "00000000-0000-4000-8000-000000000000";
const other = "00000000-0000-4000-8000-000000000001";
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

const user = {
  id,
  token_id: "ada",
  client_id: null as string | null,
  profile: null,
  traits: [] as string[],
  last_seen: "2027-01-31T09:30:00.000Z",
};
const withUser = (changes: object) => ({
  ...good,
  users: [user, { ...user, id: other, ...changes }],
});
const announcement = { id, text: "x", show_until: null, state: "draft" };
const withAnnouncement = (changes: object) => ({
  ...good,
  announcements: [{ ...announcement, ...changes }],
});

/** Objects in each other, as deep as the API takes them. */
const deep = (levels: number): object =>
  levels === 0 ? {} : { x: deep(levels - 1) };

void t.test("what is read is what was written", async (t) => {
  const copy = readWorldDocument(good);
  t.same(copy, { world: good.world, rooms: good.rooms });
  const { JWT_secrets } = good.world.config;
  for (const document of [
    world({ revision: 7 }),
    room({ revision: 7, domain: "own.org" }),
    { ...good, rooms: [] },
    world({ config: { JWT_secrets, x: deep(97) } }),
    room({ module_config: [{ type: "x", x: deep(96) }] }),
    room({ picture: null, import_id: "i", pretalx_id: 0, force_join: true }),
    room({ schedule_data: { title: "T" }, picture: "/p.png" }),
    withUser({}),
    withUser({ token_id: null, client_id: "c", profile: { x: [1] } }),
    withUser({ moderation_state: "banned", client_state: { x: {} } }),
    withUser({ pretalx_id: "P", last_login: "2027-01-31T09:30:00Z" }),
    withUser({ pretalx_id: null, last_login: null, blocked: [id] }),
    withAnnouncement({}),
    withAnnouncement({ state: "active", show_until: user.last_seen }),
  ]) {
    t.doesNotThrow(() => readWorldDocument(document));
  }
});

void t.test("what is wrong is said in the words of the API", async (t) => {
  const required = ["This field is required."];
  const cases: Refusal[] = [
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
      "extras that are none",
      room({
        picture: 1,
        import_id: 1,
        pretalx_id: "1",
        force_join: 1,
        schedule_data: [],
      }),
      {
        "rooms.1.picture": ["Must be a string or null."],
        "rooms.1.import_id": ["Must be a string or null."],
        "rooms.1.pretalx_id": ["Must be a whole number."],
        "rooms.1.force_join": ["Must be true or false."],
        "rooms.1.schedule_data": ["Must be an object or null."],
      },
    ],
    [
      "users that are no list",
      { ...good, users: null, announcements: {} },
      { users: ["Must be a list."], announcements: ["Must be a list."] },
    ],
    [
      "a user that is none",
      { ...good, users: [null] },
      { "users.0": ["Must be an object."] },
    ],
    [
      "a user without fields",
      { ...good, users: [{}] },
      Object.fromEntries(
        Object.keys(user).map((name) => [`users.0.${name}`, required]),
      ),
    ],
    [
      "a user of another kind",
      withUser({
        id: "x",
        token_id: "",
        profile: [],
        traits: [1],
        last_seen: "2027-13-31T09:30:00Z",
        moderation_state: "gone",
        client_state: null,
        pretalx_id: 7,
        last_login: 0,
        blocked: ["x"],
        more: 1,
      }),
      {
        "users.1.id": ["Must be a UUID in lower case."],
        "users.1.token_id": ["May not be empty."],
        "users.1.profile": ["Must be an object or null."],
        "users.1.traits.0": ["Must be a string."],
        "users.1.last_seen": ["Must be a time like 2027-01-31T09:30:00.000Z."],
        "users.1.moderation_state": ["Must be one of silenced, banned."],
        "users.1.client_state": ["Must be an object."],
        "users.1.pretalx_id": ["Must be a string or null."],
        "users.1.last_login": ["Must be a string or null."],
        "users.1.blocked.0": ["Must be a UUID in lower case."],
        "users.1.more": ["Unknown field."],
      },
    ],
    ...[
      { token_id: null, client_id: null },
      { token_id: "a", client_id: "a" },
    ].map((names): [string, unknown, object] => [
      "a user with no name or two",
      withUser(names),
      { "users.1.token_id": ["Either this or client_id must be null."] },
    ]),
    [
      "a blocked user who is missing",
      withUser({ blocked: [id, "00000000-0000-4000-8000-000000000002"] }),
      {
        "users.1.blocked.1": ["Must be the id of a user of this document."],
      },
    ],
    [
      "an announcement that is none",
      withAnnouncement({ id: 1, text: null, show_until: "now", state: "x" }),
      {
        "announcements.0.id": ["Must be a string."],
        "announcements.0.text": ["Must be a string."],
        "announcements.0.show_until": [
          "Must be a time like 2027-01-31T09:30:00.000Z.",
        ],
        "announcements.0.state": ["Must be one of draft, active, archived."],
      },
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
  refuses(t, cases);
});
