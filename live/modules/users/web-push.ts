import { isPoint, type PushStore } from "../../../db/contract/push-store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands } from "../../../schemas/live/index.js";
import type { CommandTable, Context } from "../../module.js";
import type { Rates } from "../../people/rates.js";
import { invalidPayload, rateLimited } from "../../rules/problems.js";

/** The ports of the command about web push. */
export interface WebPushPorts {
  readonly clock: Clock;
  readonly store: { readonly push: PushStore };
  readonly rates: Pick<Rates, "maySubscribe">;
  /** What is wrong with an address that a user names; undefined if requests may go there. */
  readonly addressFault: (url: string) => Promise<string | undefined>;
}

/** Messages to browsers whose page is closed. */
export const webPush: CommandTable<
  Extract<keyof Commands, `user.web_push.${string}`>,
  WebPushPorts
> = { "user.web_push.subscribe": { requires: "world.view", handler: subscribe } };

async function subscribe(
  { ports, connection, me }: Context<WebPushPorts>,
  { subscription }: Commands["user.web_push.subscribe"]["payload"],
) {
  const { endpoint, keys } = subscription;
  const { p256dh, auth } = keys;
  const faults = { ...faultIn("p256dh", p256dh, 65), ...faultIn("auth", auth, 16) };
  if (Object.keys(faults).length > 0) throw invalidPayload(faults);
  if (!ports.rates.maySubscribe(connection)) throw rateLimited();
  const fault = await ports.addressFault(endpoint);
  if (fault) throw invalidPayload({ "subscription.endpoint": [fault] });
  await ports.store.push.subscribe(
    connection.world,
    me.id,
    { endpoint, p256dh, auth },
    ports.clock.date(),
  );
  return {};
}

/** What is wrong with a key of a browser (RFC 8291). @param size in bytes. */
function faultIn(name: "p256dh" | "auth", text: string, size: number) {
  const bytes = Buffer.from(text, "base64url");
  const isKey = bytes.length === size && (name === "auth" || isPoint(bytes));
  return isKey ? {} : { [`subscription.keys.${name}`]: ["Is no key of a browser."] };
}
