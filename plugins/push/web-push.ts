import { createECDH } from "node:crypto";
import fp from "fastify-plugin";
import type { PushKey } from "../../db/contract/push-store.js";
import {
  favoriteMoved,
  favoritesSoon,
  heldNotices,
  messageNotices,
  reportNotices,
} from "./notices.js";
import { PushSender } from "./sender.js";

/** Generates a key pair on the P-256 curve (RFC 8292, section 2). */
export function freshKey(): PushKey {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  return {
    publicKey: curve.getPublicKey("base64url"),
    // `getPrivateKey` omits leading zeros.
    privateKey: Buffer.from(curve.getPrivateKey("hex").padStart(64, "0"), "hex").toString(
      "base64url",
    ),
  };
}

declare module "fastify" {
  interface FastifyInstance {
    /** This server's public key for push services, in base64url; null if the key could not be stored. */
    readonly pushKey: string | null;
  }
}

/** Interval between checks for favorites that begin soon, in milliseconds. */
const FAVORITES_INTERVAL_MS = 20_000;

/**
 * The session fields whose change counts as a move, and the delay before people are notified, in
 * milliseconds.
 */
const MOVES: ReadonlySet<string> = new Set(["starts_at", "room_id"]);
const MOVED_DELAY_MS = 5000;

/** Sends push messages, which reach browsers even while the event page is closed. */
export default fp<{ publicUrl?: string | undefined }>(
  async (app, { publicUrl }) => {
    const { store, events, outbound, log } = app;
    const key = await keyOfServer();
    app.decorate("pushKey", key?.publicKey ?? null);
    if (!key) return;
    const sender = new PushSender({ store, outbound, log, key, publicUrl });

    async function keyOfServer(): Promise<PushKey | undefined> {
      try {
        return (await store.push.key()) ?? (await store.push.keep("", freshKey()));
      } catch (error) {
        log.warn({ err: error }, "web push is off: the database takes no key");
        return undefined;
      }
    }

    /** The sessions that moved lately, by world and id. Hosts move a session in several steps. */
    const moving = new Map<string, NodeJS.Timeout>();
    function moved(world: string, session: string): void {
      const key = `${world} ${session}`;
      clearTimeout(moving.get(key));
      const timer = setTimeout(() => {
        moving.delete(key);
        sender.do(async () => {
          await sender.sendToMany(await favoriteMoved(store, world, session, Date.now()));
        });
      }, MOVED_DELAY_MS);
      moving.set(key, timer.unref());
    }

    const unsubscribe = events.subscribe((event) => {
      if (event.type === "session.updated") {
        const isMove = event.fields?.some((field) => MOVES.has(field));
        if (isMove) moved(event.world, event.session);
        return;
      }
      if (event.type === "report.created") {
        if (!event.isNew) return;
        sender.do(async () => {
          sender.send(await reportNotices(store, event.world, event.report));
        });
        return;
      }
      if (event.type === "chat.held") {
        sender.do(async () => {
          sender.send(await heldNotices(store, event.world, event, Date.now()));
        });
        return;
      }
      if (event.type !== "chat.event") return;
      const { notified } = event.delivery;
      if (notified.length === 0) return;
      sender.do(async () => {
        sender.send(await messageNotices(store, event.world, event.delivery));
      });
    });
    let isLooking = false;
    const timer = setInterval(() => {
      // The flag is set inside the work, because an overloaded sender drops work without running
      // it.
      sender.do(async () => {
        if (isLooking) return;
        isLooking = true;
        try {
          for await (const notices of favoritesSoon(store, Date.now())) {
            await sender.sendToMany(notices);
          }
        } finally {
          isLooking = false;
        }
      });
    }, FAVORITES_INTERVAL_MS);
    timer.unref();
    app.addHook("onClose", async () => {
      unsubscribe();
      clearInterval(timer);
      for (const timer of moving.values()) clearTimeout(timer);
      await sender.close();
    });
  },
  { name: "push", dependencies: ["engines", "outbound"] },
);
