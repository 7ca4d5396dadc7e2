import t from "tap";
import { get } from "svelte/store";
import { LiveError } from "../../client/index.js";
import { memoryShelf } from "../../web/lib/storage.js";
import {
  asText,
  Intents,
  isUnsure,
  kept,
  listingOf,
  type Listing,
} from "../../web/state/votes.js";
import { hurry, poll, question, startRoom } from "../client/fake-room.js";
import { rejection } from "../client/fake-server.js";
import { until } from "../helper.js";

void t.test("a listing follows a room", async (t) => {
  hurry(t);
  const { room, live, reconnect } = await startRoom(t, ["room:question.read"]);
  room.questions = [question(1)];
  const listing = listingOf(live.questions(room.world.rooms[0]!.id));
  const seen: Listing<unknown>[] = [];
  const end = listing.subscribe((value) => seen.push(value));
  const idsOf = () => {
    const last = seen.at(-1)!;
    return last.is === "known"
      ? last.items.map((it) => (it as { id: string }).id)
      : last.is;
  };
  t.equal(idsOf(), "loading");
  await until(() => idsOf().length === 1);
  room.save(question(2));
  await until(() => idsOf().length === 2);
  room.questions = [question(1), question(2), question(3)];
  await reconnect();
  await until(() => idsOf().length === 3);
  end();
  await until(() => room.visitors === 0);
  // It begins again for another subscriber.
  const more = listing.subscribe((value) => seen.push(value));
  t.equal(idsOf(), "loading");
  await until(() => idsOf().length === 3);
  more();
});

void t.test("a listing says why it ended", async (t) => {
  const { room, live, peer } = await startRoom(t, ["room:poll.read"]);
  room.polls = [poll(1)];
  room.intercept = (_peer, name, id) => {
    if (name !== "poll.list") return false;
    peer().send(["error", id, { code: "poll.inactive", message: "Off" }]);
    return true;
  };
  const listing = listingOf(live.polls(room.world.rooms[0]!.id));
  let last: Listing<unknown> | undefined;
  t.teardown(listing.subscribe((value) => (last = value)));
  await until(() => last?.is === "lost");
  t.strictSame(last, { is: "lost", code: "poll.inactive" });
});

void t.test("a wish shows until it is settled", async (t) => {
  const wishes = new Intents<boolean>();
  const now = () => [...get(wishes)];
  let confirm = () => {};
  let refuse = (_error: Error) => {};
  const first = new Promise<void>((resolve) => (confirm = resolve));
  const second = new Promise<void>((_, reject) => (refuse = reject));
  const one = wishes.want("a", true, () => first);
  t.strictSame(now(), [["a", true]]);
  const other = wishes.want("a", false, () => second);
  confirm();
  await one;
  t.strictSame(now(), [["a", false]], "the later wish counts");
  refuse(new Error("No"));
  await t.rejects(other, { message: "No" });
  t.strictSame(now(), []);
});

void t.test("typed text is kept", async (t) => {
  const shelf = memoryShelf();
  const draft = () => kept(shelf, "draft", asText, "");
  draft().set("Why?");
  t.equal(get(draft()), "Why?");
  draft().update((text) => `${text}!`);
  t.equal(get(draft()), "Why?!");
  draft().set("");
  t.equal(shelf.getItem("draft"), null);
  for (const junk of ["{", "7", "null", '{"a":1}']) {
    shelf.setItem("draft", junk);
    t.equal(get(draft()), "", junk);
  }
});

void t.test("which failures leave a doubt", async (t) => {
  const { room, live, peer } = await startRoom(t);
  room.intercept = (_peer, name) => {
    if (name === "question.ask") peer().drop();
    return name === "question.ask";
  };
  const { id } = room.world.rooms[0]!;
  const broken = await rejection(live.questions(id).ask("Why?"));
  t.type(broken, LiveError);
  t.ok(isUnsure(broken));
  t.notOk(isUnsure(new Error("No")));
});
