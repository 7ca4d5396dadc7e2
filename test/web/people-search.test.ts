import t from "tap";
import { get } from "svelte/store";
import { Online } from "../../web/state/online.js";
import { PeopleSearch } from "../../web/state/search.js";
import { House } from "../client/house.js";
import { until } from "../helper.js";

void t.test("people are found page by page", async (t) => {
  const house = await House.open(t);
  const config = { user_list: { page_size: 2, search_min_chars: 1 } };
  await house.store.worlds.configure(house.world, { config });
  const { live, wire } = await house.visit();
  for (const uid of ["ada b", "ada c", "eve"])
    (await house.visit({ uid })).live.close();
  const search = new PeopleSearch(live, 1);
  t.teardown(() => search.close());
  const names = () =>
    get(search).users.map(({ profile }) => profile["display_name"]);
  search.search("lost");
  search.search(" ada ");
  await until(() => get(search).is === "done");
  t.same(names(), ["ada b"], "the others");
  t.ok(get(search).hasMore);
  // A person who comes meanwhile moves others to the next page.
  (await house.visit({ uid: "ada a" })).live.close();
  await search.more();
  t.same(names(), ["ada b", "ada c"]);
  t.notOk(get(search).hasMore);
  t.equal(wire.count("user.list.search"), 2);
});

void t.test("who is online is asked while it is shown", async (t) => {
  const house = await House.open(t);
  const { live } = await house.visit();
  const ben = await house.visit({ uid: "ben" });
  const online = new Online(live, 5);
  online.watch([house.ben, "nobody"]);
  let seen: readonly string[] = [];
  const stop = online.subscribe((ids) => (seen = [...ids]));
  await until(() => seen.join() === house.ben);
  ben.live.close();
  await until(() => seen.length === 0);
  stop();
});
