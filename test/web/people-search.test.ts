import t from "tap";
import { get } from "svelte/store";
import { Online } from "../../web/state/online.js";
import { PeopleSearch } from "../../web/state/search.js";
import { startRoom } from "../client/fake-room.js";
import { until } from "../helper.js";

const found = (...ids: string[]) =>
  ids.map((id) => ({ id, profile: { display_name: id }, badges: [] }));

void t.test("people are found page by page", async (t) => {
  const { room, live } = await startRoom(t);
  const me = live.state!.user.id;
  room.answers["user.list.search"] = ({ search_term, page }) =>
    page === 1
      ? { results: found(me, `${search_term as string}-1`), isLastPage: false }
      : {
          results: found(`${search_term as string}-1`, "last"),
          isLastPage: true,
        };
  const search = new PeopleSearch(live, 1);
  t.teardown(() => search.close());
  const ids = () => get(search).users.map(({ id }) => id);
  search.search("lost");
  search.search(" ada ");
  await until(() => get(search).is === "done");
  t.same(ids(), ["ada-1"]);
  t.ok(get(search).hasMore);
  await search.more();
  t.same(ids(), ["ada-1", "last"]);
  t.notOk(get(search).hasMore);
  t.equal(room.count("user.list.search"), 2);
});

void t.test("who is online is asked while it is shown", async (t) => {
  const { room, live } = await startRoom(t);
  let isThere = true;
  room.answers["user.online_status"] = () => ({ ada: isThere, ben: false });
  const online = new Online(live, 5);
  online.watch(["ada", "ben"]);
  let seen: readonly string[] = [];
  const stop = online.subscribe((ids) => (seen = [...ids]));
  await until(() => seen.join() === "ada");
  isThere = false;
  await until(() => seen.length === 0);
  stop();
});
