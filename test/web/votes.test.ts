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
import { House, hurry, rejection } from "../client/house.js";
import { until } from "../helper.js";

void t.test("a listing follows a room", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { live, reconnect, wire } = await house.visit();
  const host = await house.host();
  const ask = (text: string) => host.questions(house.hall).ask(text);
  await host.call("room.enter", { room: house.hall });
  await ask("1");
  const listing = listingOf(live.questions(house.hall));
  const seen: Listing<unknown>[] = [];
  const end = listing.subscribe((value) => seen.push(value));
  const count = () => {
    const last = seen.at(-1)!;
    return last.is === "known" ? last.items.length : last.is;
  };
  t.equal(count(), "loading");
  await until(() => count() === 1);
  await ask("2");
  await until(() => count() === 2);
  await reconnect();
  await ask("3");
  await until(() => count() === 3);
  end();
  await wire.answers("room.leave");
  // It begins again for another subscriber.
  const more = listing.subscribe((value) => seen.push(value));
  t.equal(count(), "loading");
  await until(() => count() === 3);
  more();
});

void t.test("a listing says why it ended", async (t) => {
  const house = await House.open(t);
  const { store, world, attic } = house;
  await store.rooms.update(world, attic, { module_config: [] });
  const { live } = await house.visit();
  const listing = listingOf(live.polls(attic));
  let last: Listing<unknown> | undefined;
  t.teardown(listing.subscribe((value) => (last = value)));
  await until(() => last?.is === "lost");
  t.strictSame(last, { is: "lost", code: "room.unknown" });
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
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  wire.fate = (name) => (name === "question.ask" ? "lost" : "arrives");
  const broken = await rejection(live.questions(house.hall).ask("Why?"));
  t.type(broken, LiveError);
  t.ok(isUnsure(broken));
  t.notOk(isUnsure(new Error("No")));
});
