import type { HeldRecord } from "../../../db/contract/chat-store.js";
import type { Commands, HeldMessage } from "../../../schemas/live/index.js";
import type { heldCommands } from "../../../schemas/live/held.js";
import type { PushPipeline } from "../../delivery/push.js";
import type { ChannelContext, CommandTable, EntryHandlers } from "../../module.js";
import { Json, type Sendable } from "../../rules/encoding.js";
import { unknownEvent } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import type { WorldStates } from "../../rules/world-state.js";
import { pushFrame } from "../../socket/frame.js";
import { mentionsOf } from "./chat-mentions.js";
import type { ChatPorts } from "./chat-pages.js";
import {
  fitting,
  readUsers,
  briefUser,
  sharedUser,
  type UserReads,
} from "../../rules/sent-users.js";

/** Maximum number of messages in a list of held messages. */
const MAX_LISTED = 200;

/** Commands for messages that wait for a moderator's approval. */
export const held: CommandTable<keyof typeof heldCommands, ChatPorts> = {
  "chat.held.list": { inChannel: "any", direct: "none", handler: list },
  "chat.approve": { inChannel: "chat.moderate", direct: "none", handler: approve },
  "chat.reject": { inChannel: "chat.moderate", direct: "none", handler: reject },
};

/** Converts a held message to the form that its author and the moderators receive. */
export const sentHeld = (message: HeldRecord): Sendable<HeldMessage> => ({
  id: message.id,
  channel: message.channel,
  sender: message.sender,
  timestamp: new Date(message.timestamp).toISOString(),
  content: new Json<Record<string, unknown>>(message.content),
  replaces: message.replaces,
});

async function list({
  ports,
  connection,
  channel,
  room,
  login,
  me,
  world,
  may,
}: ChannelContext<ChatPorts>): Promise<Sendable<Commands["chat.held.list"]["result"]>> {
  const all = mayInRoom(login, "chat.moderate", world.value, room!.value);
  const sender = all ? null : me.id;
  const { chat } = ports.store;
  const { count, messages } = await chat.held(connection.world, channel, sender, MAX_LISTED);
  const ids = [...new Set(messages.map(({ sender }) => sender))];
  const users = await readUsers(ports, connection.world, ids);
  const now = ports.clock.date();
  const shown = new Set(fitting(users.values(), world.value, now));
  const admin = may("user.manage");
  return {
    count,
    results: messages.map(sentHeld),
    users: Object.fromEntries(
      [...users.values()].map((user) => [
        user.id,
        (shown.has(user) ? sharedUser : briefUser)(user, world.value, now, admin),
      ]),
    ),
  };
}

const idIn = (event: unknown): string => {
  if (typeof event !== "string") throw unknownEvent();
  return event;
};

/**
 * Records the decision without its connection, so that the moderator's connection is pushed the
 * message like everyone else's.
 */
const deciding = ({ connection }: ChannelContext<ChatPorts>) => {
  const { connection: id, ...by } = connection.author;
  return { request: id, ...by };
};

async function approve(
  context: ChannelContext<ChatPorts>,
  { event }: Commands["chat.approve"]["payload"],
) {
  const { ports, connection, channel } = context;
  const { world } = connection;
  const id = idIn(event);
  const { chat } = ports.store;
  const message = await chat.heldMessage(world, channel, id);
  if (!message) throw unknownEvent();
  const { sender, replaces } = message;
  const content = JSON.parse(message.content) as Record<string, unknown>;
  const isEdit = replaces !== null;
  const { mentioned, notifiesAll } = await mentionsOf(context, sender, content, isEdit);
  const by = deciding(context);
  const delivery = await chat.approve(world, channel, id, mentioned, notifiesAll, by);
  ports.metrics?.chatted(delivery.event.type);
  if (!isEdit) ports.activity.count(world, "messages");
  return { id: delivery.event.id };
}

async function reject(
  context: ChannelContext<ChatPorts>,
  { event, reason }: Commands["chat.reject"]["payload"],
) {
  const { ports, connection, channel } = context;
  const given = [idIn(event), reason ?? null] as const;
  await ports.store.chat.reject(connection.world, channel, ...given, deciding(context));
  return {};
}

/** Ports of the pushes about held messages. */
export interface HeldPushPorts extends UserReads {
  readonly clock: ChatPorts["clock"];
  readonly pushes: PushPipeline;
  readonly states: WorldStates;
  readonly store: ChatPorts["store"];
}

/** Returns the handlers that push held messages to moderators and authors. */
export function heldPushes(ports: HeldPushPorts): EntryHandlers {
  const { pushes, store, clock } = ports;
  return {
    "chat.held": ({ world, channel, held, user: author }) =>
      pushes.push(
        { world },
        async (send) => {
          const message = await store.chat.heldMessage(world, channel, held);
          const user = message && (await store.users.get(world, author));
          if (!user) return;
          const event = sentHeld(message);
          const frames = new Map<boolean, Buffer>();
          await send(({ login }, view) => {
            const isOwn = login!.user === author && view.sees(channel);
            if (!isOwn && !view.may("chat.moderate", channel)) return undefined;
            const admin = view.managesUsers;
            let frame = frames.get(admin);
            if (!frame) {
              const shown = sharedUser(user, view.state.world.value, clock.date(), admin);
              frame = pushFrame("chat.held", { channel, event, user: shown });
              frames.set(admin, frame);
            }
            return frame;
          });
        },
        { queue: channel },
      ),
    "chat.unheld": ({ world, channel, held, user, state, event, hidden }) => {
      const frame = pushFrame("chat.held.gone", {
        channel,
        event: held,
        state,
        ...hidden,
        ...(event !== undefined && { id: event }),
      });
      pushes.push(
        { world },
        (send) =>
          send(({ login }, view) => {
            const isOwn = login!.user === user && view.sees(channel);
            return isOwn || view.may("chat.moderate", channel) ? frame : undefined;
          }),
        { queue: channel },
      );
    },
  };
}
