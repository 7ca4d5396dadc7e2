import t from "tap";
import { type Client, makePoll } from "../support/open-world.js";
import { NO_SERVERS } from "../support/shared.js";
import { demo, type ServerOptions, startServer } from "../support/server.js";
import { WORLD } from "./kit.js";

// A host's actions on one process reach the people who are connected to the other.

const servers: Readonly<Record<string, ServerOptions>> = {
  "two workers on SQLite": { processes: 2, env: { WORKERS: "2" } },
  "two nodes on PostgreSQL": { engine: "own", processes: 2 },
};

const MINUTE = 60_000;

/**
 * So many connections of each kind that every worker receives some, although the workers share an
 * address.
 */
const EACH = 8;

for (const [name, options] of Object.entries(servers)) {
  const skip = options.engine === "own" && NO_SERVERS;
  void t.test(name, { skip }, async (t) => {
    const server = await startServer(t, { ...options, worlds: [demo({ id: WORLD })] });
    const make = async (path: string, body: object) =>
      (await server.rest("POST", `${WORLD}/${path}`, body)).body;
    const module_config = [{ type: "poll", config: { active: true } }];
    const room = (await make("rooms/", { name: "Hall", module_config })).id as string;
    const now = Date.now();
    const at = (minutes: number) => new Date(now + minutes * MINUTE).toISOString();
    const session = async (title: string, start: number, end: number) =>
      (await make("sessions/", { title, room_id: room, starts_at: at(start), ends_at: at(end) }))
        .id as string;
    const on = await session("On", -10, 20);
    const next = await session("Next", 20, 40);

    const admin = (uid: string) =>
      server.person({ uid, traits: ["admin"], world: WORLD, profile: { display_name: uid } });
    const hosts = await Promise.all(Array.from({ length: EACH }, (_, i) => admin(`host-${i}`)));
    const profile = { display_name: "Screen", room_id: room };
    const { user } = await hosts[0]!.do("user.kiosk.create", { profile });
    const { token } = await hosts[0]!.do("user.kiosk.fetch", { id: user.id });
    const screens: Client[] = [];
    for (let i = 0; i < EACH; i++) {
      const screen = await server.connect(WORLD);
      await screen.login({ token });
      screens.push(screen);
    }
    const guests = await Promise.all(
      Array.from({ length: EACH }, (_, i) => server.guest(`guest-${i}`, WORLD)),
    );
    for (const client of [...hosts, ...screens]) await client.do("room.enter", { room });
    for (const guest of guests) {
      await guest.do("program.get", {});
      await guest.do("program.favorite", { session: next, on: true });
    }

    const { id } = await makePoll(hosts[0]!, room);
    for (const [i, host] of hosts.entries()) {
      const shown = i % 2 === 0 ? { show: "poll", id } : { show: "black" };
      await host.do("screen.show", { room, ...shown });
      for (const [at, client] of [...screens, ...hosts].entries()) {
        t.same(await client.next("screen.shown"), { room, ...shown }, `host ${i}, client ${at}`);
      }
    }

    for (const [i, host] of hosts.entries()) {
      const asked = { room, session: on, action: "plus", minutes: 1 };
      t.same(await host.do("session.run", asked), { moved: [on, next] });
      for (const guest of guests) {
        const isLate = async () => {
          const { moved, sessions } = await guest.do("program.get", {});
          const { starts_at } = sessions.find((it: { id: string }) => it.id === next);
          return { moved, starts_at };
        };
        // The push about a favorite that a guest has just marked may arrive first.
        let seen;
        do {
          await guest.next("program.updated");
          seen = await isLate();
        } while (seen.starts_at < at(21 + i));
        t.same(seen, {
          moved: [{ session: next, starts_at: at(20), room_id: room }],
          starts_at: at(21 + i),
        });
      }
    }
  });
}
