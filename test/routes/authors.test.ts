import { randomUUID } from "node:crypto";
import t from "tap";
import type { Author } from "../../db/contract/author.js";
import { admin, keyOf, tokenOf } from "../helper.js";
import { bodyOf, furnished, urlOf } from "../route-calls.js";

// Who acted, as the log says of each route that writes. test/harness/authors.test.ts does
// the same for commands of the websocket.

/** Routes that append nothing, or by another author: an upload is by its uploader, a user. */
const OTHERS =
  /\/(storage\/\w+|tokens|setup)\/$|\/test$|^(POST|DELETE) \/api\/v1\/worlds\/(:world_id\/)?$/;

void t.test("the author of what a route appends is its caller", async (t) => {
  const { idsFor, room, routes, send, store, upload } = await furnished(t);
  const traits = ["admin", "api"];
  const { value: world } = (await store.worlds.get("demo"))!;
  // The call of its plugin is refused for another schedule.
  const pretalx = { domain: "https://p.example", event: "demo" };
  await store.worlds.update("demo", {
    config: Object.assign({}, world.config, { pretalx }),
  });
  const person = { tokenId: "ada", traits: new Set(traits) };
  const { id: user } = await store.users.enter("demo", person);
  const as = (uid: string) =>
    `Bearer ${tokenOf(keyOf("demo"), { uid, traits })}`;
  const headOf = async () => (await store.log.heads(["demo"]))[0]!.seq;
  const media = await upload(as("ada"));
  const added = await store.log.since("demo", (await headOf()) - 1, 1);
  t.match(added.entries, [{ type: "file.added", by: { kind: "user", user } }]);

  const callers: Record<string, (author: Author) => boolean> = {
    [as("ada")]: ({ kind, user: id }) => kind === "api" && id === user,
    [as("bob")]: ({ kind, user: id, token }) =>
      kind === "api" && id === undefined && /^[\da-f]{32}$/.test(token ?? ""),
    [admin("demo")]: ({ kind, token }) =>
      kind === "api" && /^[\da-f]{32}$/.test(token ?? ""),
  };
  const writing = [...routes].filter(
    (route) => /^(POST|PUT|PATCH|DELETE) /.test(route) && !OTHERS.test(route),
  );
  t.ok(writing.length > 20, `${writing.length} routes`);
  for (const route of writing) {
    for (const [as, isCaller] of Object.entries(callers)) {
      // Only a user sends messages, and not before the first of them makes one.
      if (route.includes("/messages/") && as !== Object.keys(callers)[0]) {
        continue;
      }
      const id = await room();
      const uid = randomUUID();
      const ids = await idsFor(route, id, uid);
      const ban = { body: { moderation_state: "banned" } };
      const erased = async () => {
        const visitor = { tokenId: uid, traits: new Set<string>() };
        await store.users.enter("demo", visitor);
        return { body: { token_id: uid } };
      };
      const more = route.endsWith("/:user_id/")
        ? ban
        : route.endsWith("/delete_user")
          ? await erased()
          : bodyOf(route);
      const head = await headOf();
      const url = urlOf(route, id, media, ids);
      const { status } = await send(route, { url, as, ...more });
      t.ok(status < 300, `${route}: ${status}`);
      const { entries } = await store.log.since("demo", head, 100);
      t.ok(entries.length > 0, `${route} appends`);
      for (const { type, by } of entries) {
        t.ok(isCaller(by), `${route}: ${type} by ${JSON.stringify(by)}`);
        t.notOk(JSON.stringify(by).includes("bob"), "no name");
      }
    }
  }
});
