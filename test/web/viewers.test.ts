import t from "tap";
import type { PublicUser } from "../../client/index.js";
import { visit, Visit, type Presence } from "../../web/state/viewers.js";
import { hurry, startRoom } from "../client/fake-room.js";
import { HALL } from "../client/fake-server.js";
import { until } from "../helper.js";

// A stay in a room: who is there.

const person = (id: string, name = id): PublicUser => ({
  id,
  profile: { display_name: name },
  pretalx_id: null,
  deleted: false,
  badges: [],
  inactive: false,
});

/** A stay, and what it last said. */
function watch(stay: Visit) {
  let last: Presence = {};
  stay.subscribe((value) => (last = value));
  return {
    get presence() {
      return last;
    },
    names: () =>
      last.viewers?.map(({ profile }) => profile["display_name"]).join(" "),
  };
}

void t.test("people come, change and go", async (t) => {
  hurry(t);
  const { room, live, reconnect } = await startRoom(t);
  let viewers = [person("ada"), person("ben")];
  room.answers["room.enter"] = () => ({ viewers });
  const stay = new Visit(live, HALL);
  const seen = watch(stay);
  t.equal(seen.names(), undefined);
  await until(() => seen.names() === "ada ben");
  room.push("room.viewer.added", { user: person("cy") });
  await until(() => seen.names() === "ada ben cy");
  // The same person, in another browser.
  room.push("room.viewer.added", { user: person("ada") });
  room.push("user.updated", person("ben", "Benno"));
  // A user who is not here.
  room.push("user.updated", person("eve"));
  await until(() => seen.names() === "ada Benno cy");
  room.push("room.viewer.removed", { user_id: "ada" });
  await until(() => seen.names() === "Benno cy");
  viewers = [person("dan")];
  await reconnect();
  await until(() => seen.names() === "dan");
  stay.leave();
  await until(() => room.count("room.leave") === 1);
});

void t.test("who may not know is not told", async (t) => {
  const { room, live } = await startRoom(t);
  const stay = new Visit(live, HALL);
  const seen = watch(stay);
  await until(() => room.visitors === 1);
  room.push("room.viewer.added", { user: person("ada") });
  await live.call("user.fetch", { ids: [] });
  t.strictSame(seen.presence, {});
  // The right came later.
  room.answers["room.enter"] = () => ({ viewers: [person("ada")] });
  stay.enter();
  await until(() => seen.names() === "ada");
});

void t.test("a busy server is asked again, a refusal is shown", async (t) => {
  const { room, live, peer } = await startRoom(t);
  const codes = ["protocol.rate_limited", "protocol.denied"];
  room.intercept = (_peer, name, id) => {
    if (name !== "room.enter") return false;
    peer().send(["error", id, { code: codes.shift(), message: "No" }]);
    return true;
  };
  const stay = new Visit(live, HALL);
  const seen = watch(stay);
  await until(() => room.count("room.enter") === 1);
  t.strictSame(seen.presence, {});
  await until(() => seen.presence.lost === "protocol.denied");
  t.equal(room.count("room.enter"), 2);
  stay.leave();
});

void t.test("all parts of a page share one stay", async (t) => {
  const { room, live } = await startRoom(t);
  const one = visit(live, HALL);
  const other = visit(live, HALL);
  t.equal(one.visit, other.visit);
  await until(() => room.visitors === 1);
  one.release();
  one.release();
  await live.call("user.fetch", { ids: [] });
  t.equal(room.count("room.leave"), 0);
  other.release();
  await until(() => room.count("room.leave") === 1);
  t.equal(room.count("room.enter"), 1);
  t.not(visit(live, HALL).visit, one.visit);
});
