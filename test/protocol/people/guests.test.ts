import t from "tap";
import type { Client, Json } from "../../../conformance/client.js";
import { asksForApproval, badgesByTrait, quietMinutesIn } from "../../../schemas/plain/guests.js";
import { nameShapeOf } from "../../../schemas/plain/look-alikes.js";
import { fileForm, PDF, upload } from "../../support/files.js";
import {
  chatRoom,
  history,
  holdTime,
  member,
  type OpenWorld,
  openWorld,
  say,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Who is kept out by bans, silences and approval, and the names reserved for team members.

const server = await startServer(t, { config: { trustProxy: ["loopback"] } });

/** Logs in, and returns the error's code, or `ok`. */
async function logIn(world: OpenWorld, credentials: object, address?: string) {
  const client = await world.connect(
    address === undefined ? {} : { headers: { "x-forwarded-for": address } },
  );
  const [name, body] = await client.login({ changes: true, ...credentials });
  return { client, code: name === "error" ? (body as Json).code : "ok" };
}

const codeOf = async (...args: Parameters<typeof logIn>): Promise<string> => {
  const { client, code } = await logIn(...args);
  client.close();
  return code;
};

const named = (client_id: string, display_name = client_id) => ({
  client_id,
  profile: { display_name },
});

const uploadAs = async (world: OpenWorld, client: string) =>
  (
    await upload(server, fileForm("a.pdf", PDF), {
      as: `Client ${client}`,
      headers: { host: `${world.id}.localhost` },
    })
  ).status;

const managerOf = async (world: OpenWorld): Promise<Client> =>
  (await logIn(world, { token: world.tokenOf({ uid: "host", traits: ["admin"] }) })).client;

void t.test("new guests wait for approval", async (t) => {
  const world = await openWorld(server);
  t.equal(await codeOf(world, named("before")), "ok");
  await world.configure({ config: { guest_approval: true } });
  const host = await managerOf(world);
  t.same(await host.do("guest.list"), { count: 0, guests: [] });

  const first = await logIn(world, named("zoe", "Zoe"));
  t.equal(first.code, "auth.approval");
  t.match(await host.next("guest.waiting"), { count: 1 });
  const [zoe] = (await host.do("guest.list")).guests;
  t.match(zoe, { profile: { display_name: "Zoe" }, since: /^20/ });

  // Everything else that a waiting guest might try.
  t.equal(await first.client.code("user.update", { profile: {} }), "protocol.unauthenticated");
  t.equal(await codeOf(world, named("zoe", "Zoe")), "auth.approval", "a second tab");
  t.equal(await codeOf(world, { client_id: "zoe" }), "auth.approval", "an older client");
  t.equal(await uploadAs(world, "zoe"), 403, "an upload");
  t.equal(await uploadAs(world, "never-seen"), 403, "an upload before the first login");
  const passkeys = { url: `/api/v1/worlds/${world.id}/passkeys/`, as: "Client zoe" };
  t.equal((await server.call(passkeys)).status, 403, "what people do who have entered");
  t.equal(await codeOf(world, { client_id: "kiosk:x" }), "protocol.invalid_payload", "a screen");
  t.equal((await host.do("user.list")).results.length, 2, "nobody finds the guest");
  const dm = { users: [zoe.id] };
  t.equal(await host.code("chat.direct.create", dm), "chat.denied");
  t.equal(await host.code("user.silence", { id: zoe.id }), "ok");
  t.equal(await codeOf(world, named("zoe")), "auth.approval", "a silence admits nobody");
  t.equal(await codeOf(world, named("before")), "ok", "a guest who was there before");
  const token = world.tokenOf({ uid: "ann", traits: ["attendee"] });
  t.equal(await codeOf(world, { token }), "ok", "an invited person");

  await logIn(world, named("zoe", "Zoe Z"));
  t.match((await host.do("guest.list")).guests, [{ profile: { display_name: "Zoe Z" } }]);
  const member = await world.person("member");
  for (const [name, payload] of [
    ["guest.list", null],
    ["guest.approve", { id: zoe.id }],
    ["guest.reject", { id: zoe.id }],
    ["user.messages.delete", { id: zoe.id }],
  ] as const) {
    t.equal(await member.code(name, payload), "auth.denied", name);
  }

  t.same(await host.do("guest.approve", { id: zoe.id }), { state: "" });
  t.match(await host.next("guest.waiting", ({ count }) => count === 0), { count: 0 });
  t.equal(await codeOf(world, named("zoe")), "ok");
  t.same(await host.do("guest.reject", { id: zoe.id }), { state: "" }, "the first answer counts");

  t.equal(await codeOf(world, named("troll")), "auth.approval");
  const [troll] = (await host.do("guest.list")).guests;
  t.same(await host.do("guest.reject", { id: troll.id }), { state: "banned" });
  t.equal(await codeOf(world, named("troll")), "auth.denied");
  t.same(await host.do("guest.approve", { id: troll.id }), { state: "banned" });

  t.equal(await codeOf(world, named("late")), "auth.approval");
  const [late] = (await host.do("guest.list")).guests;
  const patch = { moderation_state: "none" };
  t.match((await world.rest("PATCH", `users/${late.id}/`, patch)).status, 200);
  t.equal(await codeOf(world, named("late")), "ok", "admitted over HTTP");

  t.equal(await codeOf(world, named("later")), "auth.approval");
  await world.configure({ config: { guest_approval: false } });
  t.equal(await codeOf(world, named("later")), "ok", "once the event asks for no approval");
  for (const profile of [1, [], { display_name: 5 }, { display_name: "a\0" }]) {
    t.equal(await codeOf(world, { client_id: "p", profile }), "protocol.invalid_payload");
  }
});

void t.test("a link to a room for people without a name is an approval of its own", async (t) => {
  const world = await openWorld(server);
  const modules = [{ type: "question", config: { active: true, anonymous: true } }];
  const room = await world.room({ module_config: modules });
  const host = await managerOf(world);
  const { url } = await host.do("room.invite.anonymous.link", { room });
  const invite_token = new URL(url).hash.replace("#invite=", "");
  await world.configure({ config: { guest_approval: true } });
  t.equal(await codeOf(world, named("zoe")), "auth.approval");
  const { client, code } = await logIn(world, { client_id: "zoe", invite_token });
  t.equal(code, "ok");
  const rooms: Json[] = client.hello["world.config"].rooms;
  t.same(
    rooms.map(({ id }) => id),
    [room],
    "nothing but the room",
  );
  t.equal(await client.code("user.list.search", { search_term: "", page: 1 }), "auth.denied");
  t.equal(await client.code("user.update", { profile: { display_name: "x" } }), "auth.denied");
  t.equal(await codeOf(world, named("zoe")), "auth.approval", "and the event stays closed");
});

void t.test("a ban keeps out new guests of the network", async (t) => {
  const world = await openWorld(server);
  const [home, near, away] = ["198.51.100.7", "198.51.100.99", "198.51.101.7"];
  const host = await managerOf(world);
  const troll = await logIn(world, named("troll"), home);
  await logIn(world, named("neighbor"), near);
  const id = troll.client.id || troll.client.hello["user.config"].id;
  const hidden = await world.person({ uid: "invited", traits: ["attendee"] });
  t.same(await host.do("user.ban", { id, network: 1 }), { network: true });
  for (const [name, who, address, code] of [
    ["a private window", named("troll-2"), home, "auth.network_banned"],
    ["another address of the network", named("troll-3"), near, "auth.network_banned"],
    ["a known guest of the network", named("neighbor"), near, "ok"],
    ["another network", named("other"), away, "ok"],
    ["IPv4 in IPv6", named("troll-4"), `::ffff:${home}`, "auth.network_banned"],
    ["the banned guest", named("troll"), away, "auth.denied"],
    ["an invited person", { token: world.tokenOf({ uid: "late" }) }, home, "ok"],
  ] as const) {
    t.equal(await codeOf(world, who, address), code, name);
  }
  t.equal(await codeOf(await openWorld(server), named("troll-2"), home), "ok", "another event");
  const unknown = await logIn(world, named("local"));
  const local = unknown.client.hello["user.config"].id;
  t.same(await host.do("user.ban", { id: local, network: 24 }), { network: false });
  for (const network of [0, 2, "1", null, true]) {
    t.equal(await host.code("user.ban", { id: hidden.id, network }), "protocol.invalid_payload");
  }
  await host.do("user.reactivate", { id });
  t.equal(await codeOf(world, named("troll-2"), home), "ok", "forgiven");
  const v6 = await logIn(world, named("six"), "2001:db8:5:6::1");
  await host.do("user.ban", { id: v6.client.hello["user.config"].id, network: 24 });
  t.equal(await codeOf(world, named("six-2"), "2001:db8:5:6:ffff::2"), "auth.network_banned");
  t.equal(await codeOf(world, named("six-3"), "2001:db8:5:7::1"), "ok");

  // A banned person cannot enter with an invitation either, and their network stays banned as well.
  const person = { uid: "ann", traits: ["attendee"] };
  const ann = await logIn(world, { token: world.tokenOf(person) }, "203.0.113.5");
  const banned = { moderation_state: "banned", network: 24 };
  const { id: annId } = ann.client.hello["user.config"];
  t.equal((await world.rest("PATCH", `users/${annId}/`, banned)).status, 200);
  t.equal(await codeOf(world, { token: world.tokenOf(person) }), "auth.denied");
  t.equal(await codeOf(world, named("ann-guest"), "203.0.113.77"), "auth.network_banned");
  for (const [field, body] of [
    ["network", { moderation_state: "none", network: 1 }],
    ["network", { moderation_state: "silenced", network: 1 }],
    ["until", { moderation_state: "banned", until: "2099-01-01T00:00:00Z" }],
    ["until", { moderation_state: "silenced", until: "2001-01-01T00:00:00Z" }],
  ] as const) {
    const answer = await world.rest("PATCH", `users/${annId}/`, body);
    t.match(answer, { status: 400, body: { [field]: [String] } }, JSON.stringify(body));
  }
});

void t.test("a silence ends by itself", async (t) => {
  const pass = holdTime(t);
  const world = await openWorld(server);
  const room = await chatRoom(world);
  const host = await managerOf(world);
  const token = world.tokenOf({ uid: "bob", profile: { display_name: "Bob" } });
  const { client } = await logIn(world, { token });
  const { id } = client.hello["user.config"];
  const until = new Date(Date.now() + 5 * 60_000).toISOString();
  await host.do("user.silence", { id, until });
  t.match(await host.do("user.fetch", { id }), {
    moderation_state: "silenced",
    moderated_until: until,
  });
  const again = await logIn(world, { token });
  const own = again.client.hello["user.config"];
  t.match(own, { moderation_state: "silenced", moderated_until: until });
  pass(4 * 60_000);
  t.match(await host.do("user.fetch", { id }), { moderation_state: "silenced" }, "not before");
  pass(60_000);
  await again.client.next("world.changed", ({ permissions }) => permissions !== undefined);
  await again.client.next("connection.reload");
  const free = await logIn(world, { token });
  t.notOk(free.client.hello["user.config"].moderation_state);
  await free.client.do("chat.join", { channel: room });
  await say(free.client, room, "hello");
  for (const wrong of ["x", 5, new Date(Date.now() - 1000).toISOString()]) {
    t.equal(await host.code("user.silence", { id, until: wrong }), "protocol.invalid_payload");
  }

  // Nobody is connected when the silence expires, as after an outage.
  const gone = await world.user("gone", { display_name: "Gone" });
  await world.store.users.moderate(world.id, gone, { state: "silenced", until: 1 });
  const back = await logIn(world, { token: world.tokenOf({ uid: "gone" }) });
  t.notOk(back.client.hello["user.config"].moderation_state, "a login");
  const api = await world.user("api-user");
  await world.store.users.moderate(world.id, api, { state: "silenced", until: 1 });
  const bearer = `Bearer ${world.tokenOf({ uid: "api-user", traits: ["admin", "api"] })}`;
  const title = { title: "Renamed" };
  const url = `/api/v1/worlds/${world.id}/`;
  const patched = await server.call({ method: "PATCH", url, as: bearer, body: title });
  t.equal(patched.status, 200, "a request");
});

void t.test("new guests may only read for their first minutes", async (t) => {
  const world = await openWorld(server);
  const room = await chatRoom(world);
  await world.configure({ config: { guest_quiet_minutes: 5 } });
  const { client } = await logIn(world, named("new"));
  const { id, moderation_state, moderated_until } = client.hello["user.config"];
  t.equal(moderation_state, "silenced");
  const minutes = (Date.parse(moderated_until) - Date.now()) / 60_000;
  t.ok(minutes > 4 && minutes <= 5, `${minutes}`);
  t.same(await history(client, room), []);
  t.equal(await uploadAs(world, "new"), 403);
  t.equal(await uploadAs(world, "newer"), 403);
  t.equal(await codeOf(world, named("new")), "ok");
  const host = await managerOf(world);
  await host.do("user.reactivate", { id });
  const again = await logIn(world, named("new"));
  t.notOk(again.client.hello["user.config"].moderation_state, "a moderator lets them write");
  const token = world.tokenOf({ uid: "ann" });
  const invited = await logIn(world, { token });
  t.notOk(invited.client.hello["user.config"].moderation_state);
  await world.configure({ config: { guest_quiet_minutes: 5, guest_approval: true } });
  await codeOf(world, named("both"));
  const [both] = (await host.do("guest.list")).guests;
  t.same(await host.do("guest.approve", { id: both.id }), { state: "silenced" });
  for (const guest_quiet_minutes of [-1, 61, 1.5, "5", null]) {
    const answer = await world.rest("PATCH", "", { config: { guest_quiet_minutes } });
    t.equal(answer.status, 400, `${guest_quiet_minutes}`);
  }
});

void t.test("all messages of a person are deleted", async (t) => {
  const world = await openWorld(server);
  const [room, other] = [await chatRoom(world), await chatRoom(world)];
  const host = await managerOf(world);
  const spammer = await member(world, "spammer", room, other);
  const ann = await member(world, "ann", room);
  for (let i = 0; i < 6; i++) await say(spammer, i % 2 ? room : other, `spam ${i}`);
  const said = await say(spammer, room, "spam edited");
  await say(spammer, room, "spam anew", { replaces: said.event_id });
  await say(ann, room, "hello");
  const channel = (await spammer.do("chat.direct.create", { users: [ann.id] })).id;
  await say(spammer, channel, "between us");
  const queue = await world.room({
    module_config: [{ type: "chat.native", config: { hold: true } }],
  });
  await spammer.do("chat.join", { channel: queue });
  const sent = { channel: queue, event_type: "channel.message" };
  const content = { type: "text", body: "spam that waits" };
  const { held } = await spammer.do("chat.send", { ...sent, content });
  await Promise.all([ann.all(), spammer.all()]);
  t.same(await host.do("user.messages.delete", { id: spammer.id }), { deleted: 8 });
  for (const client of [host, spammer]) {
    const gone = { channel: queue, event: held.id, state: "rejected" };
    t.same(await client.next("chat.held.gone"), gone, "what waits goes, too");
  }
  t.match(await host.do("chat.held.list", { channel: queue }), { count: 0 });
  const { body: audit } = await world.rest("GET", "audit/");
  const rejected = audit.results.filter(({ type }: Json) => type === "chat.rejected");
  t.match(rejected, [{ subject: { room_id: queue, user_id: spammer.id } }]);
  for (const id of [room, other]) {
    const left = (await history(ann, id).catch(() => history(host, id)))
      .filter(({ event_type, content }) => event_type === "channel.message" && content.body)
      .map(({ content }) => content.body);
    t.same(left, id === room ? ["hello"] : [], "in the rooms");
  }
  t.ok(await ann.sees("chat.event", ({ content }) => content.type === "deleted"), "live");
  t.match((await history(ann, channel)).at(-1), { content: { body: "between us" } });
  t.same(await host.do("user.messages.delete", { id: spammer.id }), { deleted: 0 });
});

void t.test("moderators act on nobody who runs the event", async (t) => {
  const world = await openWorld(server, {
    permission_config: {
      "world.update": ["admin"],
      "world.secrets": ["admin"],
      "chat.moderate": [["admin", "moderator"]],
    },
  });
  const moderator = await world.person("mod", "moderator");
  const admin = await world.person("boss", "admin");
  const [room] = [await chatRoom(world)];
  await admin.do("chat.join", { channel: room });
  await say(admin, room, "keep this");
  const until = new Date(Date.now() + 60_000).toISOString();
  for (const [name, more] of [
    ["user.silence", { until }],
    ["user.ban", { network: 24 }],
    ["user.messages.delete", {}],
  ] as const) {
    t.equal(await moderator.code(name, { id: admin.id, ...more }), "auth.denied", name);
  }
  t.equal(await admin.code("user.ban", { id: moderator.id, network: 24 }), "ok");
  t.match((await history(admin, room)).at(-1), { content: { body: "keep this" } });
});

void t.test("names of the team are reserved", async (t) => {
  const world = await openWorld(server);
  const profile = { display_name: "Marta Organizer" };
  const marta = await world.person({ uid: "marta", traits: ["admin"], profile });
  t.same((await world.guest("x")).hello["user.config"].badges, []);
  t.same(marta.hello["user.config"].badges, ["Host"]);
  await world.store.invitations.create(world.id, [
    { name: "Sam Stage", role: "speaker", uid: "sam" },
  ]);
  const guest = await world.guest("troll");
  const rename = (display_name: string, who = guest) =>
    who.code("user.update", { profile: { display_name } });
  for (const [what, name] of [
    ["the same", "Marta Organizer"],
    ["case and spaces", " MARTA   organizer "],
    ["Cyrillic", "М\u0430rt\u0430 Org\u0430nizer"],
    ["fullwidth", "Ｍａｒｔａ Ｏｒｇａｎｉｚｅｒ"],
    ["zero-width", "Mar\u200bta\u2060 Organizer"],
    ["direction", "\u202eMarta Organizer"],
    ["combining", "M\u0301arta O\u0308rganizer"],
    ["a strike", "M\u0336a\u0336r\u0336t\u0336a\u0336 Organizer"],
    ["mathematical", "𝓜𝓪𝓻𝓽𝓪 𝓞𝓻𝓰𝓪𝓷𝓲𝔃𝓮𝓻"],
    ["digits", "Marta 0rgan1zer"],
    ["punctuation", "Marta_Organizer!"],
    ["a stroke", "Marta Organlzer"],
    ["Coptic", "Mⲁrtⲁ Ⲟrganizer"],
    ["digits of other scripts", "Marta ০rganizer"],
    ["signs", "Marta ○rgan∣zer"],
    ["letters with strokes and hooks", "Mⱥɍŧa Ɵrganiƶer"],
    ["letters that modify", "Martaˈ Organizerʼ"],
    ["pairs", "Mar\u00adta Organizer"],
    ["somebody who is invited", "sam STAGE"],
  ] as const) {
    t.equal(await rename(name), "profile.name_taken", what);
    t.equal(await codeOf(world, named("new-troll", name)), "profile.name_taken", what);
  }
  t.equal(await world.store.users.find(world.id, { clientId: "new-troll" }), undefined);
  for (const name of ["Martha Organizer", "Marta", "Organizer", "Zoe", "", "🎉", "!!"]) {
    t.equal(await rename(name), "ok", name);
  }
  const attendee = await world.person({ uid: "att", traits: ["attendee"], profile });
  t.match(attendee.hello["user.config"].profile, profile, "a token may name anybody");
  t.equal(await rename("Marta Organizer", attendee), "ok", "and they keep the name");
  t.equal(await rename("Marta Organizer", marta), "ok", "one's own");
  const sam = await world.person({ uid: "sam", traits: ["speaker"] });
  t.equal(await rename("Sam Stage", sam), "ok", "the invited person");
  await world.store.users.erase(world.id, { user_id: marta.id });
  t.equal(await rename("Marta Organizer"), "ok", "once nobody has it");
});

void t.test("badges of the team", (t) => {
  const team = { admin: "Host", moderator: "Moderator", speaker: "Speaker" };
  for (const [config, badges] of [
    [{}, team],
    [{ locale: "de" }, { admin: "Veranstalter", moderator: "Moderation", speaker: "Mitwirkende" }],
    [{ roles: [{ trait: "speaker", title: "Talks" }, null, 5] }, { ...team, speaker: "Talks" }],
    [{ roles: "x", trait_badges_map: "x" }, team],
    [{ trait_badges_map: {} }, {}],
    [{ trait_badges_map: { crew: "Crew" } }, { crew: "Crew" }],
  ] as const) {
    t.same(badgesByTrait(config), badges, JSON.stringify(config));
  }
  const minutes = [5, 60, 90, 0, -1, NaN, "5", null, undefined];
  const read = minutes.map((guest_quiet_minutes) => quietMinutesIn({ guest_quiet_minutes }));
  t.same(read, [5, 60, 60, 0, 0, 0, 0, 0, 0]);
  const asked = [true, false, 1, "true", undefined];
  t.same(
    asked.map((guest_approval) => asksForApproval({ guest_approval })),
    [true, false, false, false, false],
  );
  t.end();
});

void t.test("case makes no difference to the shape of a name", (t) => {
  const scripts = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u;
  const odd: string[] = [];
  for (let code = 0x21; code < 0x590; code++) {
    const char = String.fromCodePoint(code);
    if (!scripts.test(char) || /\p{M}/u.test(char)) continue;
    const cases = [char, char.toLowerCase(), char.toUpperCase()].map(nameShapeOf);
    if (new Set(cases).size > 1) odd.push(char);
  }
  t.same(odd, []);
  t.end();
});
