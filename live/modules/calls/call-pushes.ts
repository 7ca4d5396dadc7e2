import { LRUCache } from "lru-cache";
import type { CallStore, RaisedHand } from "../../../db/contract/call-store.js";
import type { ChatStore } from "../../../db/contract/chat-store.js";
import { isGone, type UserStore, type WorldStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { FrameFor, PushPipeline } from "../../delivery/push.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import { jsonOf } from "../../rules/encoding.js";
import { publicUser } from "../../rules/shapes.js";
import { pushFrame } from "../../socket/frame.js";
import { handsFor, sentCall } from "./call-shapes.js";
import { outcomeOf } from "./direct-calls.js";

/** Minimum interval between two pushes about the people in a room's call, in milliseconds. */
const PUSH_INTERVAL_MS = 1000;

/** Maximum number of rooms whose last push is remembered. */
const MAX_ROOMS = 10_000;

/** Ports of the call pushes. */
export interface CallPushPorts {
  readonly clock: Clock;
  readonly store: {
    readonly calls: CallStore;
    readonly worlds: WorldStore;
    readonly users: UserStore;
    readonly chat: Pick<ChatStore, "channel">;
  };
  readonly pushes: PushPipeline;
}

/** Returns the handlers that push changes to calls. */
export function callPushes({ clock, store, pushes }: CallPushPorts): EntryHandlers {
  /** The last push about each call, so that entries that change nothing in it are not pushed. */
  const pushed = new LRUCache<string, string>({ max: MAX_ROOMS });

  return {
    "call.started": (event) => (event.isDirect ? ring(event) : changed(event)),
    "call.joined": changed,
    "call.left": changed,
    "call.published": changed,
    "call.ended": ended,
    "call.staged": staged,
    "call.declined": declined,
    "hand.raised": hands,
    "hand.lowered": hands,
  };

  /**
   * Pushes who is in a room's call. The id of a direct channel is no room's id, so nobody receives
   * a push about a direct call.
   */
  function changed({ world, channel: room }: { world: string; channel: string }): void {
    pushes.push(
      { world },
      async (send) => {
        const found = await store.calls.get(world, room);
        const value = (await store.worlds.get(world))?.value;
        if (!value) return;
        const call = await sentCall(store.users, value, found, clock.date());
        const text = jsonOf(call);
        if (pushed.get(`${world} ${room}`) === text) return;
        pushed.set(`${world} ${room}`, text);
        const frame = pushFrame("call.changed", { room, ...call });
        await send((_, view) => (view.sees(room) ? frame : undefined));
      },
      { key: "call", queue: room, interval: PUSH_INTERVAL_MS },
    );
  }

  function ended(event: EventOf<"call.ended">): void {
    const { world, channel, users = [], call, isDirect, seconds } = event;
    if (isDirect) {
      const frame = pushFrame("call.over", { channel, call, ...outcomeOf(seconds) });
      return toMembers(world, channel, async () => frame);
    }
    const frame = pushFrame("call.ended", { room: channel });
    for (const user of users) {
      pushes.push({ world, user }, (send) => send(frame), { queue: channel });
    }
    changed(event);
  }

  /** Sends a frame to the members of a direct channel. */
  function toMembers(
    world: string,
    channel: string,
    frameOf: () => Promise<Buffer | undefined>,
    except?: string,
  ): void {
    pushes.push(
      { world },
      async (send) => {
        const { direct = [] } = (await store.chat.channel(world, channel)) ?? {};
        const frame = await frameOf();
        if (!frame) return;
        const members = new Set(direct.filter((id) => id !== except));
        await send(({ login }) => (members.has(login!.user) ? frame : undefined));
      },
      { queue: channel },
    );
  }

  function ring({ world, channel, call, by }: EventOf<"call.started">): void {
    const frameOf = async () => {
      const state = await store.calls.get(world, channel);
      // The call may have ended already.
      if (state.call?.id !== call || state.call.caller === null) return undefined;
      const from = await store.users.get(world, state.call.caller);
      const value = (await store.worlds.get(world))?.value;
      if (isGone(from) || !value) return undefined;
      return pushFrame("call.ring", {
        channel,
        call,
        from: publicUser(from!, value, clock.date()),
      });
    };
    toMembers(world, channel, frameOf, by.user);
  }

  function declined({ world, channel, call, user }: EventOf<"call.declined">): void {
    const frame = pushFrame("call.declined", { channel, call, user });
    toMembers(world, channel, async () => frame);
  }

  function staged(event: EventOf<"call.staged">): void {
    const { world, room, user } = event;
    const tell = async () => (await store.calls.get(world, room)).stage.includes(user);
    pushes.push(
      { world, user },
      async (send) => {
        const frame = pushFrame("call.stage", { room, on: await tell() });
        await send((_, view) => (view.sees(room) ? frame : undefined));
      },
      { queue: room },
    );
  }

  function hands({ world, room, by }: EventOf<"hand.raised" | "hand.lowered">): void {
    const { user, connection } = by;
    pushes.push(
      { world, room },
      async (send) => {
        const { hands } = await store.calls.get(world, room);
        await send(handFrames(room, hands));
      },
      { key: "hands", authors: [user, connection].filter((id) => id !== undefined) },
    );
  }
}

/**
 * Returns the function that builds each connection's frame, with the raised hands as the
 * connection's user may see them.
 */
function handFrames(room: string, hands: readonly RaisedHand[]): FrameFor {
  const raised = new Set(hands.map(({ user }) => user));
  const frames = new Map<string, Buffer>();
  return ({ login }, view) => {
    if (!view.sees(room)) return undefined;
    const { user } = login!;
    const isModerator = view.may("call.moderate", room);
    // Most people have not raised a hand, and share a frame.
    const key = `${isModerator} ${raised.has(user) ? user : ""}`;
    let frame = frames.get(key);
    if (!frame) {
      frame = pushFrame("hand.changed", { room, ...handsFor(hands, user, isModerator) });
      frames.set(key, frame);
    }
    return frame;
  };
}
