import { get } from "svelte/store";
import t from "tap";
import type { LiveState, SentRoom } from "../../../client/index.js";
import { Dismissals, memoryShelf } from "../../../web/lib/storage.js";
import { directCount, directName, directsOf } from "../../../web/state/directs.js";
import {
  canEnterAsGuest,
  refusalOf,
  troubleOf,
  type TroubleSigns,
} from "../../../web/state/entrance.js";
import { claimsOf, Identities, tokenOf, withoutToken } from "../../../web/state/identity.js";
import {
  answersOf,
  fieldsOf,
  givenAnswers,
  pictureTypes,
  sizeOf,
} from "../../../web/state/profile.js";
import { isUnread, partsOf, type Placed, sessionTitle } from "../../../web/state/rooms.js";
import {
  addressOf,
  notificationCount,
  openChannel,
  placeOf,
  windowTitle,
} from "../../../web/state/route.js";

// The parts of the attendee page around its rooms.

const room = (id: string, types: string[] = [], more: object = {}) =>
  ({ id, modules: types.map((type) => ({ type, config: {} })), ...more }) as unknown as SentRoom;

const person = (id: string, display_name?: string) => ({ id, profile: { display_name } });

const state = (more: object) =>
  ({
    user: person("me", "Me"),
    channels: [],
    notificationCounts: {},
    readPointers: {},
    unreadPointers: {},
    ...more,
  }) as unknown as LiveState;

void t.test("places", async (t) => {
  const [hall, lobby] = [room("hall"), room("lobby")];
  const rooms = [hall, lobby];
  const cases: [route: string[], place: object, address?: string, channel?: string][] = [
    [[], { is: "lobby" }],
    [["nonsense"], { is: "lobby" }],
    [["rooms"], { is: "lobby" }],
    [["rooms", "hall"], { is: "room", room: hall }, undefined, "hall"],
    [["rooms", "lobby"], { is: "room", room: lobby }, undefined, "lobby"],
    [["rooms", "closed"], { is: "gone" }],
    [["messages"], { is: "messages" }],
    [["messages", "c"], { is: "messages", channel: "c" }, undefined, "c"],
    [["profile"], { is: "profile" }],
  ];
  for (const [route, place, address, channel] of cases) {
    const name = route.join("/");
    t.same(placeOf(route, rooms), place, name);
    t.equal(addressOf(route, rooms), address, name);
    t.equal(openChannel(placeOf(route, rooms)), channel, name);
  }
  for (const route of [[], ["nonsense"], ["rooms"]]) {
    const name = `${route.join("/")} of one room`;
    t.same(placeOf(route, [hall]), { is: "room", room: hall }, name);
    t.equal(addressOf(route, [hall]), "#/rooms/hall", name);
  }
  t.same(placeOf([], []), { is: "empty" });
  t.equal(addressOf([], []), undefined);
});

void t.test("the parts of a room", async (t) => {
  const kinds: Record<string, Placed> = {
    video: { place: "stage", order: 1 },
    poll: { place: "panel", order: 3 },
    chat: { place: "panel", order: 2 },
    off: { place: "panel", order: 1, isShown: () => false },
    people: { place: "panel", order: 9 },
  };
  const types = ["poll", "video", "odd", "chat", "off", "video", "odd"];
  const { stage, panels, unknown } = partsOf(room("hall", types), (type) => kinds[type]);
  const keys = (parts: typeof stage) => parts.map(({ key }) => key);
  t.same(keys(stage), ["video-0", "video-1"]);
  t.same(keys(panels), ["chat-0", "poll-0", "people-0"]);
  t.same(unknown, ["odd"]);
  const titles: [data: unknown, title: string | undefined][] = [
    [{ title: "Keynote" }, "Keynote"],
    [{ title: " " }, undefined],
    [{ title: 7 }, undefined],
    [null, undefined],
    [undefined, undefined],
  ];
  for (const [schedule_data, title] of titles) {
    t.equal(sessionTitle(room("hall", [], { schedule_data })), title);
  }
});

void t.test("direct messages and counts", async (t) => {
  const me = person("me", "Me");
  const view = state({
    channels: [
      { id: "hall" },
      { id: "old", members: [me, person("ada", "Ada"), person("x")] },
      { id: "new", members: [person("ben", "Ben"), me] },
    ],
    notificationCounts: { hall: 1, new: 2 },
    readPointers: { old: 5, hall: 9 },
    unreadPointers: { old: 5, new: 8, hall: 7 },
  });
  const directs = directsOf(view);
  t.match(directs, [
    { id: "new", count: 2, isUnread: true, others: [{ id: "ben" }] },
    { id: "old", count: 0, isUnread: false },
  ]);
  t.equal(directCount(view), 2);
  t.equal(notificationCount(view), 3);
  t.equal(notificationCount(undefined), 0);
  t.notOk(isUnread(view, "hall"));
  t.ok(isUnread(view, "new"));
  const known = new Map([["ada", person("ada", "Adaeze") as never]]);
  t.equal(directName(directs[1]!, known, "Somebody"), "Adaeze, Somebody");
  t.equal(directName({ ...directs[1]!, others: [] }, known, "Gone"), "Gone");
});

void t.test("window titles", async (t) => {
  t.equal(windowTitle(0, "Hall", "Party"), "Hall · Party");
  t.equal(windowTitle(3, "Party", "Party"), "(3) Party");
  t.equal(windowTitle(0, undefined, ""), "");
});

void t.test("dismissed announcements", async (t) => {
  const shelf = memoryShelf();
  const one = new Dismissals(shelf, "w");
  const other = new Dismissals(shelf, "w");
  one.dismiss("a");
  // Another window must not undo the first dismissal.
  other.dismiss("b");
  t.same([...get(other)], ["a", "b"]);
  t.same([...get(new Dismissals(shelf, "w"))], ["a", "b"]);
  t.equal(get(new Dismissals(shelf, "v")).size, 0);
  for (let i = 0; i < 300; i++) one.dismiss(`${i}`);
  t.equal(get(one).size, 200);
  t.ok(get(one).has("299"));
});

void t.test("who is not let in", async (t) => {
  const cases: [code: string, refusal: string, mayBeGuest: boolean][] = [
    ["world.unknown_world", "nowhere", false],
    ["auth.invalid_token", "invalid", true],
    ["auth.expired_token", "expired", true],
    ["auth.missing_token", "link", false],
    ["auth.denied", "denied", true],
    ["connection.replaced", "replaced", false],
    ["anything", "failed", false],
  ];
  for (const [code, refusal, mayBeGuest] of cases) {
    const found = refusalOf({ is: "ended", code })!;
    t.equal(found, refusal, code);
    t.equal(canEnterAsGuest(found, { token: "t" }, true), mayBeGuest, code);
    t.notOk(canEnterAsGuest(found, { token: "t" }, false), code);
    t.notOk(canEnterAsGuest(found, { clientId: "c" }, true), code);
  }
  const banned = { is: "ended", code: "auth.denied", isBanned: true } as const;
  t.equal(refusalOf(banned), "banned");
  t.notOk(canEnterAsGuest("banned", { token: "t" }, true), "no second way in");
  t.equal(refusalOf({ is: "connecting" }), undefined);
});

void t.test("what to say of a connection", async (t) => {
  const offline = { is: "offline", retryAt: 13_500 } as const;
  const signs: TroubleSigns = {
    connection: offline,
    now: 10_000,
    since: 5000,
    isTrying: false,
    isOnline: true,
  };
  const cases: [name: string, changes: Partial<TroubleSigns>, says: unknown][] = [
    ["waiting", {}, { is: "away", seconds: 4 }],
    ["no net", { isOnline: false }, { is: "offline", seconds: 4 }],
    ["due", { now: 14_000 }, { is: "connecting" }],
    ["asked", { isTrying: true }, { is: "connecting" }],
    ["short", { since: 9500 }, undefined],
    ["fine", { connection: { is: "online" } }, undefined],
    [
      "no network",
      { connection: { is: "online" }, isOnline: false },
      { is: "offline", seconds: 0 },
    ],
    ["over", { connection: { is: "ended", code: "x" } }, undefined],
  ];
  for (const [name, changes, says] of cases) {
    t.same(troubleOf({ ...signs, ...changes }), says, name);
  }
});

void t.test("the forms of a profile", async (t) => {
  t.same(givenAnswers({ fields: { job: "Baker", age: 7 } }), { job: "Baker" });
  for (const fields of [undefined, null, "job"]) {
    t.same(givenAnswers({ fields }), {});
  }
  t.equal(pictureTypes(["pdf", "webp", "png"]), ".png,.webp");
  t.equal(pictureTypes([]), "");
  t.equal(sizeOf(2.5 * 2 ** 20, "en"), "2.5 MB");
  t.equal(sizeOf(2.5 * 2 ** 20, "de"), "2,5 MB");
  t.equal(sizeOf(512, "en"), "0.5 kB");
});

const fields = [
  { id: "job", label: "Job", type: "text" },
  { id: "site", label: "Website", type: "link" },
  { id: "shirt", label: "Shirt", type: "select", choices: "S, M ,M\nL" },
  { id: "job", label: "Again", type: "text" },
  { label: "without id" },
  { id: "odd", label: 7, type: "script", choices: ["a", 3, ""] },
];

void t.test("the questions of a world", async (t) => {
  t.same(fieldsOf(fields), [
    { id: "job", label: "Job", type: "text", choices: [] },
    { id: "site", label: "Website", type: "link", choices: [] },
    { id: "shirt", label: "Shirt", type: "select", choices: ["S", "M", "L"] },
    { id: "odd", label: "odd", type: "text", choices: ["a"] },
  ]);
});

void t.test("the answers of a user", async (t) => {
  const answersTo = (profile: Record<string, unknown>) => answersOf({ profile }, fields);
  t.same(answersTo({ fields: { job: " Baker ", site: "https://a.example/" } }), [
    { id: "job", label: "Job", text: "Baker" },
    {
      id: "site",
      label: "Website",
      text: "https://a.example/",
      href: "https://a.example/",
    },
  ]);
  // Unsafe links are shown as text.
  t.same(answersTo({ fields: { site: "javascript:alert(1)" } }), [
    { id: "site", label: "Website", text: "javascript:alert(1)" },
  ]);
  const nothing = [
    {},
    { fields: null },
    { fields: "job" },
    { fields: { job: 7, site: null, shirt: " ", more: "x" } },
  ];
  for (const profile of nothing) t.same(answersTo(profile), []);
  t.same(answersOf(undefined, fields), []);
});

const claims = (value: unknown) =>
  `x.${Buffer.from(JSON.stringify(value)).toString("base64url")}.x`;

void t.test("the token of a link, and the link without it", async (t) => {
  const rows: [hash: string, token: string | undefined, rest: string][] = [
    ["", undefined, ""],
    ["#/rooms/a", undefined, "#/rooms/a"],
    ["#token=", undefined, "#token="],
    ["#token=a.b.c", "a.b.c", ""],
    ["#token=a.b.c&room=r%2F1", "a.b.c", "#/rooms/r%2F1"],
    ["#room=r&token=a.b.c", "a.b.c", "#/rooms/r"],
    ["#token=a.b.c&room=r&view=host", "a.b.c", "#/rooms/r/host"],
    ["#token=a.b.c&view=host", "a.b.c", ""],
  ];
  for (const [hash, token, rest] of rows) {
    t.equal(tokenOf(hash), token, hash);
    t.equal(withoutToken(hash), rest, hash);
  }
});

void t.test("the claims of a token, for display", async (t) => {
  t.match(claimsOf(claims({ uid: "zoë" })), { uid: "zoë" });
  for (const token of ["", "x", "x.%.x", "x.eA.x", claims(3), claims(null)]) {
    t.equal(claimsOf(token), undefined, token);
  }
});

void t.test("who a visitor is", async (t) => {
  const shelf = memoryShelf();
  const mine = new Identities(shelf, "demo", "attend");
  t.equal(mine.kept, undefined, "no identity at first");
  const guest = mine.guest();
  t.match(guest, { clientId: /^[0-9a-f]{32}$/ });
  t.same(mine.guest(), guest, "the same guest again");
  t.same(mine.kept, guest);

  mine.keepToken("cut");
  t.same(mine.kept, { token: "cut" }, "so that the page can say what is wrong");
  const [first, second] = [claims({ uid: "a" }), claims({ uid: "b" })];
  mine.keepToken(first);
  mine.keepToken(second);
  t.same(mine.kept, { token: second }, "the later token replaces");
  for (const damaged of ["cut", second.slice(0, 8)]) {
    mine.keepToken(damaged);
    t.same(mine.kept, { token: second }, "a damaged link signs no user out");
  }
  const others = [
    new Identities(shelf, "demo", "console"),
    new Identities(shelf, "other", "attend"),
  ];
  for (const other of others) t.equal(other.kept, undefined);

  mine.signOut();
  t.same(mine.kept, guest, "the guest of before comes back");
});
