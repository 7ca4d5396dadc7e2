import type { PollStore } from "../../../db/contract/poll-store.js";
import type { QuestionStore } from "../../../db/contract/question-store.js";
import type { Store } from "../../../db/contract/store.js";
import type { Commands } from "../../../schemas/live/index.js";
import { isPublic, isVisible } from "../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { PushPipeline } from "../../delivery/push.js";
import {
  bind,
  type CommandTable,
  type EntryHandlers,
  type LiveModule,
  type RoomContext,
} from "../../module.js";
import { anonymousLink, type InvitePorts } from "../../rules/anonymous-links.js";
import { roomDenied, unknownItem } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { pushFrame } from "../../socket/frame.js";

/** Ports of the commands for host-controlled screens. */
export interface ScreenPorts extends InvitePorts {
  readonly pushes: PushPipeline;
  readonly store: InvitePorts["store"] & {
    readonly screens: Store["screens"];
    readonly questions: QuestionStore;
    readonly polls: PollStore;
  };
}

/** The permission keys any one of which lets a user control a room's screen. */
const DRIVES: readonly PermissionKey[] = ["question.moderate", "poll.manage"];

const drives = ({ login, world, room }: RoomContext<ScreenPorts>): boolean =>
  DRIVES.some((key) => mayInRoom(login, key, world.value, room.value));

/** Commands for the host-controlled screen of a room. */
export const screens: CommandTable<Extract<keyof Commands, `screen.${string}`>, ScreenPorts> = {
  "screen.get": { inRoom: "any", handler: get },
  "screen.show": { inRoom: "any", handler: show },
};

async function get(context: RoomContext<ScreenPorts>) {
  const { ports, connection, login, world, room } = context;
  const isInviting = mayInRoom(login, "room.invite", world.value, room.value);
  const isHost = drives(context);
  if (!isHost && !isInviting && login.scope?.kind !== "kiosk") throw roomDenied();
  const screen = await ports.store.screens.get(connection.world, room.value.id);
  // Hosts display the link in the hall, so they may see it if the room admits people without a
  // name.
  const invite = isHost || isInviting ? await anonymousLink(context) : undefined;
  return { ...screen, ...invite };
}

async function show(
  context: RoomContext<ScreenPorts>,
  { show, id }: Commands["screen.show"]["payload"],
) {
  const { ports, connection, room } = context;
  if (!drives(context)) throw roomDenied();
  const { store } = ports;
  const place = [connection.world, room.value.id] as const;
  if (id !== undefined && show === "question") {
    const question = await store.questions.get(...place, id);
    if (!question || !isVisible(question) || question.answered) throw unknownItem("question");
  } else if (id !== undefined) {
    const poll = await store.polls.get(...place, id);
    if (!poll || !isPublic(poll)) throw unknownItem("poll");
  }
  await store.screens.show(...place, { show, id: id ?? null }, connection.author);
  return {};
}

/** Pushes changes to a screen to the screens and the hosts in the room. */
const pushesOf = ({ pushes, store }: ScreenPorts): EntryHandlers => ({
  "screen.shown": ({ world, room }) =>
    pushes.push({ world, room }, async (send) => {
      const frame = pushFrame("screen.shown", { room, ...(await store.screens.get(world, room)) });
      await send(({ login }, view) => {
        const isScreen = login?.scope?.kind === "kiosk" && view.sees(room);
        return isScreen || DRIVES.some((key) => view.may(key, room)) ? frame : undefined;
      });
    }),
});

/** Creates the module for host-controlled screens. */
export const screenModule = (ports: ScreenPorts) =>
  ({ bound: bind(screens, ports), onEntry: pushesOf(ports) }) satisfies LiveModule;
