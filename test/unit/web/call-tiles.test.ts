import t from "tap";
import type { CallSource } from "../../../schemas/plain/calls.js";
import {
  hasTile,
  largeIn,
  newsBetween,
  pageOf,
  type Person,
  personsIn,
} from "../../../web/state/calls/tiles.js";

// Who is shown in a call, where, and what is announced.

/** Returns a device. The part before the colon is its user, and `me` is the user's own device. */
const person = (identity: string, sends: CallSource[] = [], more: Partial<Person> = {}): Person => {
  const [id = ""] = identity.split(":");
  return {
    identity,
    user: { id, profile: { display_name: id } },
    isMe: id === "me",
    maySpeak: true,
    isSpeaking: false,
    sends: new Set(sends),
    quality: "good",
    ...more,
  };
};

const speaking = { isSpeaking: true };

void t.test("who has a tile", async (t) => {
  const silent = person("ann:1");
  const listener = person("ben:1", [], { maySpeak: false });
  t.ok(hasTile(silent, "call"));
  t.notOk(hasTile(silent, "stage"), "an invited person is not seen before they agree");
  t.notOk(hasTile(listener, "call"));
  t.ok(hasTile(person("eve:1", ["camera"]), "stage"));
  const twice = personsIn([silent, person("ann:2"), listener]);
  t.same(
    twice.map(({ identity }) => identity).sort(),
    ["ann:1", "ben:1"],
    "a person with two devices counts once",
  );
});

void t.test("which picture is large", async (t) => {
  const me = person("me:1", [], speaking);
  const [ann, ben] = [person("ann:1"), person("ben:1")];
  const benSpeaks = person("ben:1", ["microphone"], speaking);
  const annShares = person("ann:1", ["screen"]);
  const rows: [string, Parameters<typeof largeIn>, string | undefined][] = [
    ["nobody", [[]], undefined],
    ["only oneself", [[me]], "me:1 camera"],
    ["another one before oneself", [[me, ann, ben]], "ann:1 camera"],
    ["who speaks", [[me, ann, benSpeaks]], "ben:1 camera"],
    ["who spoke last", [[me, ann, ben], { before: "ben:1" }], "ben:1 camera"],
    ["a shared screen before who speaks", [[me, annShares, benSpeaks]], "ann:1 screen"],
    ["the pinned person before all", [[me, annShares, ben], { pinned: "ben:1" }], "ben:1 camera"],
    ["a pinned person who has left", [[me, ann], { pinned: "ben:1" }], "ann:1 camera"],
    ["not one's own screen", [[person("me:1", ["screen"]), ann]], "ann:1 camera"],
  ];
  for (const [name, args, expected] of rows) {
    const found = largeIn(...args);
    t.equal(found && `${found.person.identity} ${found.source}`, expected, name);
  }
});

void t.test("pages", async (t) => {
  const all = Array.from({ length: 51 }, (_, at) => at);
  t.match(pageOf(all, 0), { page: 0, pages: 3, items: all.slice(0, 25) });
  t.same(pageOf(all, 2).items, [50]);
  t.equal(pageOf(all.slice(0, 30), 2).page, 1, "people have left");
  t.same(pageOf([], 3), { items: [], page: 0, pages: 1 });
});

void t.test("what is read aloud", async (t) => {
  const news = (before: Person[], after: Person[]) =>
    newsBetween(before, after).map(({ is, user }) => `${user.id} ${is}`);
  const [me, ann, ben] = [person("me:1"), person("ann:1", ["microphone"]), person("ben:1")];
  t.same(news([me], [me, ann]), ["ann came"]);
  t.same(news([me, ann], [me]), ["ann left"]);
  t.same(news([me, ann], [me, person("ann:1")]), ["ann muted"]);
  t.same(news([ben], [person("ben:1", ["microphone", "screen"])]), ["ben unmuted", "ben shares"]);
  t.same(news([me, ann], [me, ann, person("ann:2")]), [], "a second device");
  t.same(news([me, ann, person("ann:2")], [me, ann]), [], "and its end");
  t.same(news([me], [person("me:1", ["microphone"])]), [], "oneself");
  const crowd = Array.from({ length: 30 }, (_, at) => person(`p${at}:1`));
  t.same(news(crowd, [...crowd, ann]), [], "in a crowd, it would never end");
});
