import type { Test } from "tap";
import { draftWorld } from "../../../db/world-management.js";
import { Session } from "../../../web/state/session.js";
import { keyOf, tokenOf } from "../../support/helper.js";
import type { Server } from "../../support/server.js";

let count = 0;

/** Creates a world for one test, on a server shared by several tests. */
export async function newWorld(t: Test, { baseUrl, store }: Server) {
  const world = `demo-${++count}`;
  const key = keyOf(world);
  const draft = draftWorld({ id: world, title: "The demo", domain: `${world}.localhost` });
  await store.worlds.create({ ...draft, config: { JWT_secrets: [key] } });
  const tokenFor = (uid: string, traits = ["admin", "api"]) =>
    tokenOf(key, { uid, traits, profile: { display_name: uid } });
  return {
    baseUrl,
    world,
    key,
    rooms: store.rooms,
    tokenFor,
    /** Opens the session of a page, and waits until it is connected. */
    open: async (uid: string, traits?: string[]): Promise<Session> => {
      const session = new Session({ baseUrl, world, identity: { token: tokenFor(uid, traits) } });
      t.teardown(() => session.close());
      await session.live.connected();
      return session;
    },
  };
}
