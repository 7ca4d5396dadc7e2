import t from "tap";
import { makeRoom, startLive } from "./client.js";

void t.test("world.tokens.generate", async (t) => {
  const live = await startLive(t);
  const admin = await live.admin();
  const ask = (payload: object) => admin.do("world.tokens.generate", payload);
  const traits = ["attendee"];
  const { results } = await ask({ number: "2", traits, days: 1 });
  const base = `http://127.0.0.1:${live.port}/w/demo/#token=`;
  t.equal(results.length, 2);
  for (const url of results) t.ok(url.startsWith(base), "a link to the event");
  const long = await ask({ number: 1000, traits, days: 3660, long: true });
  const tokens: string[] = long.results;
  t.equal(new Set(tokens).size, 1000);
  const users = new Set<string>();
  for (const token of tokens.slice(0, 2)) {
    const client = await live.connect();
    await client.login({ token });
    users.add(client.id);
  }
  t.equal(users.size, 2, "each is for a person of its own");
  // Without a bound for texts, the last one would be made until the server ends.
  for (const wrong of [0, 3661, "x", 1.5, null, "-1", "0", "999999999999"]) {
    for (const field of ["number", "days"]) {
      const payload = { number: 1, traits, days: 1, [field]: wrong };
      t.equal(
        await admin.code("world.tokens.generate", payload),
        "protocol.invalid_payload",
      );
    }
  }
  const { results: audit } = await admin.do("world.auditlog.list", null);
  const made = audit.filter(
    ({ type }: { type: string }) => type === "token.created",
  );
  t.equal(made.length, 2, "one entry for each call");
  t.match(made[0].data.changes, [
    { field: "traits" },
    { field: "number", after: 1000 },
  ]);
  t.notOk(JSON.stringify(audit).includes(tokens[0]!.split(".")[1]!));
});

void t.test("world.auditlog.list", async (t) => {
  const live = await startLive(t);
  const admin = await live.person({
    uid: "ada",
    traits: ["admin", "api"],
    profile: { display_name: "Ada", secret: "kept" },
  });
  await admin.do("world.config.patch", { title: "Summit" });
  await live.rest("PATCH", "demo/", { title: "Summit 2" });
  const { results } = await admin.do("world.auditlog.list", {});
  const [last, first] = results;
  t.same(Object.keys(last).sort(), ["data", "id", "timestamp", "type", "user"]);
  t.ok(last.id > first.id, "the newest first");
  t.match([last.type, last.user], ["world.updated", null]);
  t.same(first.user.profile, { display_name: "Ada" });
  t.match(first.data.changes, [{ field: "title", after: "Summit" }]);
});

void t.test("reports", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live, {
    module_config: [{ type: "chat.native" }],
  });
  const person = {
    uid: "ada",
    traits: ["admin"],
    profile: { display_name: "Ada" },
  };
  await live.rest("PATCH", "demo/", {
    permission_config: {
      "world.feed": ["admin"],
      "chat.moderate": ["admin"],
      "world.update": ["admin"],
      "world.secrets": ["admin", "api"],
      "world.api": ["admin", "api"],
    },
  });
  const admin = await live.person(person);
  const guest = await live.person({
    uid: "eve",
    profile: { display_name: "Eve" },
  });
  await guest.do("chat.join", { channel: room });
  const content = { type: "text", body: "=1+1" };
  await guest.do("chat.send", {
    channel: room,
    event_type: "channel.message",
    content,
  });
  const addressOf = async (name: string, payload: object | null = null) => {
    const { resultid } = await admin.do(
      `world.report.generate.${name}`,
      payload,
    );
    const { ready, result } = await admin.do("world.report.status", {
      resultid,
    });
    t.equal(ready, true);
    return result as string;
  };
  const chat = await addressOf("chat_history", { channel: room });
  const answer = await fetch(chat);
  t.match(
    [
      answer.status,
      answer.headers.get("content-type"),
      answer.headers.get("cache-control"),
    ],
    [200, /^text\/csv/, "no-store"],
  );
  t.match(await answer.text(), /'=1\+1/, "a cell is no formula");
  const people = await fetch(
    await addressOf("attendee_list", { format: "xlsx" }),
  );
  t.match(people.headers.get("content-type"), /spreadsheetml/);
  t.equal(
    Buffer.from(await people.arrayBuffer()).toString("latin1", 0, 2),
    "PK",
  );

  const codeOf = (action: string, payload: unknown, client = admin) =>
    client.code(action, payload);
  t.equal(
    await codeOf("world.report.generate.summary", {}),
    "world.unsupported_command",
  );
  t.equal(
    await codeOf("world.report.generate.chat_history", { room: "x" }),
    "room.unknown",
  );
  for (const resultid of [
    "x",
    "people:csv",
    "chat_history:json",
    `chat_history:csv:${room}:1`,
    null,
    1,
  ]) {
    t.equal(
      await codeOf("world.report.status", { resultid }),
      "protocol.invalid_payload",
    );
  }
  t.equal(
    await codeOf(
      "world.report.status",
      { resultid: "poll_history:csv" },
      guest,
    ),
    "auth.denied",
  );

  for (const wrong of [
    chat.replace("/demo/", "/other/"),
    // Another first character: of the last one, some bits do not count.
    chat.replace(
      /reports\/./,
      (it) => `reports/${it.endsWith("A") ? "B" : "A"}`,
    ),
    chat.replace(/reports\/.*/, "reports/x/"),
  ]) {
    t.equal((await fetch(wrong)).status, 403, "a changed address");
  }
  const ada = (await admin.do("user.list", null)).results.find(
    (it: { profile: { display_name: string } }) =>
      it.profile.display_name === "Ada",
  );
  await live.rest("PATCH", `demo/users/${ada.id}/`, {
    moderation_state: "silenced",
  });
  t.equal((await fetch(chat)).status, 403, "a silenced person");
  await live.rest("PATCH", `demo/users/${ada.id}/`, {
    moderation_state: "none",
  });
  t.equal((await fetch(chat)).status, 200);
  await live.rest("POST", "demo/delete_user", { user_id: ada.id });
  t.equal((await fetch(chat)).status, 403, "an erased person");
});
