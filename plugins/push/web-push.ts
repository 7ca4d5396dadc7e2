import { createECDH } from "node:crypto";
import fp from "fastify-plugin";
import type { PushKey } from "../../db/contract/push-store.js";
import { favoritesSoon, messageNotices } from "./notices.js";
import { PushSender } from "./sender.js";

/** A fresh key on the curve P-256 (RFC 8292, section 2). */
export function freshKey(): PushKey {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  return {
    publicKey: curve.getPublicKey("base64url"),
    // A number with leading zeros is shorter.
    privateKey: Buffer.from(curve.getPrivateKey("hex").padStart(64, "0"), "hex").toString(
      "base64url",
    ),
  };
}

declare module "fastify" {
  interface FastifyInstance {
    /** The key of this server for push services, in base64url; null if it could not be stored. */
    readonly pushKey: string | null;
  }
}

/** How often favorites that begin soon are looked for, in milliseconds. */
const FAVORITES_INTERVAL_MS = 20_000;

/** Sends messages to browsers whose page is closed. */
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

    const unsubscribe = events.subscribe((event) => {
      if (event.type !== "chat.event") return;
      const { notified } = event.delivery;
      if (notified.length === 0) return;
      sender.do(async () => {
        sender.send(await messageNotices(store, event.world, event.delivery));
      });
    });
    let isLooking = false;
    const timer = setInterval(() => {
      // The sender leaves work out under a flood, so only the work itself may say that it runs.
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
      await sender.close();
    });
  },
  { name: "push", dependencies: ["engines", "outbound"] },
);
