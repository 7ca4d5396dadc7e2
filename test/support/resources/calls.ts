import { ABSENT, type CallKit, type CallTable, inStore } from "../../contract/engines/calls.js";
import { ACCESS, type Resource } from "../resource.js";

const ONE = "/api/v1/worlds/:world_id/rooms/:room_id/call/";

function calls(kit: CallKit): CallTable {
  const { pick, chance, whole, text, from, channel, directs } = kit;
  // Few rooms and people, so that calls overlap.
  const rooms = kit.rooms.slice(0, 2);
  const users = kit.users.slice(0, 3);
  const devices: string[] = [];
  let issued = 0;
  let clock = 1e12;

  const room = () => (chance(0.95) ? pick(rooms) : ABSENT);
  const user = () => (chance(0.95) ? pick(users) : ABSENT);
  const time = () => (clock += whole(30_000)) - whole(20_000);
  const times = () => ({ at: time(), now: time() });
  const visit = () => ({
    identity: devices.at(-1 - whole(6)) ?? "none",
    session: pick(["s1", "s2"]),
  });

  return {
    "calls.get": () => ["demo", room()],
    "calls.standing": () => ["demo", room(), user()],
    "calls.open": () => ({
      run: async (s, side) => {
        const [one, two] = rooms.map((name) => inStore(name, side) as string);
        const found = (await s.calls.open()).map(({ channel }) => channel);
        return [found.includes(one!), found.includes(two!)];
      },
    }),
    "calls.history": () => ["demo", room(), { limit: 1 + whole(5) }],
    "calls.issued": () => {
      const who = user();
      const device = {
        identity: `device ${whole(6)}-${issued++}`,
        user: who,
        hidden: chance(0.2),
        access: { traits: [text()] },
        ends: time() + 600_000,
      };
      devices.push(device.identity);
      return ["demo", room(), device, { now: time(), ...(chance(0.5) && { limit: 2 }) }];
    },
    "calls.joined": () => ["demo", room(), visit(), times()],
    "calls.left": () => ["demo", room(), visit(), times()],
    "calls.published": () => {
      const source = pick(["microphone", "camera", "screen"]);
      return ["demo", room(), visit(), { source, on: chance(0.5), ...times() }];
    },
    "calls.reconciled": () => {
      const listed = new Map([visit(), visit(), visit()].map((one) => [one.identity, one]));
      const sources = chance(0.5) ? ["camera"] : [];
      const found = [...listed.values()].map((one) => ({ ...one, joined: time(), sources }));
      return ["demo", room(), found, { asked: time(), now: time() }];
    },
    "calls.ring": () => {
      const call = { caller: kit.user(), event: whole(9), now: time() };
      return ["demo", from(directs, ABSENT), call];
    },
    "calls.end": () => ["demo", chance(0.5) ? room() : channel(), { now: time() }],
    "calls.decline": () => ["demo", channel(), "no call", kit.user()],
    "calls.stage": () => ["demo", room(), user(), chance(0.7), time()],
    "calls.raise": () => ["demo", room(), user(), time()],
    "calls.lower": () => ["demo", room(), user()],
    "calls.prune": () => ["demo", chance(0.3) ? time() : 0],
  };
}

const PRIVATE = { not: "Direct channels are private." };

/**
 * The calls in rooms and in direct channels. A room has at most one call, which has no id in its
 * paths.
 */
const resource: Resource = {
  access: {
    // The admitted users have no display name.
    [`POST ${ONE}join/`]: ACCESS.readInRoom.replaceAll("200", "400"),
    [`GET ${ONE}`]: ACCESS.readInRoom,
    [`DELETE ${ONE}`]: ACCESS.deleteInRoom,
  },
  calls,
  silent: {
    "calls.get": "reads",
    "calls.standing": "reads",
    "calls.open": "reads",
    "calls.history": "reads",
    "calls.issued": { not: "It is what the server keeps for its own work." },
    "calls.published": { not: "Who speaks at the moment is pushed, and no more." },
    "calls.ring": PRIVATE,
    "calls.decline": PRIVATE,
    "calls.prune": { not: "Retention ends what is too old for all readers." },
  },
};

export default resource;
