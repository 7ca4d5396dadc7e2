import t from "tap";
import { visit, Visit, type Presence } from "../../web/state/viewers.js";
import { House, hurry } from "../client/house.js";
import { until } from "../helper.js";

// A stay in a room: who is there.

function watch(stay: Visit) {
  let last: Presence = {};
  stay.subscribe((value) => (last = value));
  return {
    get presence() {
      return last;
    },
    names: () =>
      last.viewers
        ?.map(({ profile }) => String(profile["display_name"]))
        .sort()
        .join(" "),
  };
}

void t.test("people come, change and go", async (t) => {
  hurry(t);
  const house = await House.open(t, { "room.viewers": [] });
  const seat = { room: house.hall };
  const { live, wire, reconnect } = await house.visit();
  const come = async (uid: string) => {
    const guest = await house.visit({ uid });
    await guest.live.call("room.enter", seat);
    return guest.live;
  };
  const bea = await come("bea");
  const stay = new Visit(live, house.hall);
  const seen = watch(stay);
  t.equal(seen.names(), undefined);
  await until(() => seen.names() === "ada bea");
  const cy = await come("cy");
  await until(() => seen.names() === "ada bea cy");
  // The same person, in another browser.
  await come("cy");
  const beate = { ...bea.state!.user, profile: { display_name: "beate" } };
  await wire.deliver(["user.updated", beate]);
  // A user who is not here.
  await wire.deliver(["user.updated", { ...beate, id: "eve" }]);
  await until(() => seen.names() === "ada beate cy");
  await bea.call("room.leave", seat);
  await until(() => seen.names() === "ada cy");
  wire.cut();
  await until(() => !live.isConnected);
  await come("dan");
  cy.close();
  wire.restore();
  await until(() => seen.names() === "ada cy dan");
  await reconnect();
  stay.leave();
  await wire.answers("room.leave");
});

void t.test("a user without the right is not told", async (t) => {
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const stay = new Visit(live, house.hall);
  const seen = watch(stay);
  await wire.answers("room.enter");
  await wire.deliver(["room.viewer.added", { user: live.state!.user }]);
  t.strictSame(seen.presence, {});
  // The right came later.
  await house.allow(house.hall, { "room.viewers": [] });
  await until(() => {
    stay.enter();
    return seen.names() === "ada";
  });
});

void t.test("a busy server is asked again, a refusal is shown", async (t) => {
  hurry(t);
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const codes = ["protocol.rate_limited", "protocol.denied"];
  wire.fate = () => ({ error: codes.shift()! });
  const stay = new Visit(live, house.hall);
  const seen = watch(stay);
  await until(() => seen.presence.lost === "protocol.denied");
  t.equal(wire.count("room.enter"), 2);
  wire.fate = () => "arrives";
  stay.leave();
});

void t.test("all parts of a page share one stay", async (t) => {
  const house = await House.open(t);
  const { live, wire } = await house.visit();
  const one = visit(live, house.hall);
  const other = visit(live, house.hall);
  t.equal(one.visit, other.visit);
  await wire.answers("room.enter");
  one.release();
  one.release();
  await live.call("user.fetch", { ids: [] });
  t.equal(wire.count("room.leave"), 0);
  other.release();
  await wire.answers("room.leave");
  t.equal(wire.count("room.enter"), 1);
  t.not(visit(live, house.hall).visit, one.visit);
});
