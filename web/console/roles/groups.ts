import { permissionTitles } from "../../../schemas/plain/permissions.js";
import { currentLanguage, type Key } from "../../i18n/index.js";
import {
  isRoomKey,
  permissionKeys,
  type PermissionConfig,
  type PermissionKey,
} from "../../state/rules.js";

/** A titled group of related keys. */
export interface Group {
  readonly title: Key;
  readonly keys: readonly string[];
}

const known: readonly Group[] = [
  {
    title: "console.groupAttend",
    keys: ["world.view", "room.view", "file.upload", "chat.direct", "program.read"],
  },
  {
    title: "console.groupTalk",
    keys: [
      "chat.read",
      "chat.join",
      "chat.send",
      "question.read",
      "question.ask",
      "question.vote",
      "poll.read",
      "poll.vote",
      "call.join",
      "call.speak",
      "session.rate",
    ],
  },
  {
    title: "console.groupModerate",
    keys: [
      "chat.moderate",
      "question.moderate",
      "poll.manage",
      "poll.results",
      "call.moderate",
      "call.recordings",
      "room.viewers",
      "user.manage",
      "room.announce",
      "world.announce",
      "room.invite",
    ],
  },
];

/** Returns all built-in keys in groups, followed by a group for the world's custom keys. */
export function groupsOf(world: PermissionConfig): readonly Group[] {
  const shown = new Set(known.flatMap(({ keys }) => keys));
  const run = permissionKeys.filter((key) => !shown.has(key));
  const others = Object.keys(world).filter((key) => !isKnownKey(key));
  return [
    ...known,
    { title: "console.groupRun", keys: run },
    ...(others.length > 0 ? [{ title: "console.groupOther" as const, keys: others }] : []),
  ];
}

export const isKnownKey = (key: string): key is PermissionKey =>
  (permissionKeys as readonly string[]).includes(key);

/** Returns a readable title for a key. Unknown keys are returned unchanged. */
export function titleOf(key: string): string {
  if (!isKnownKey(key)) return key;
  const titles: Readonly<Record<string, string>> = permissionTitles[key];
  return titles[currentLanguage()] ?? permissionTitles[key].en;
}

/**
 * Returns the groups of the keys that a room can override and of all other keys that the room
 * already has rules for.
 */
export const groupsOfRoom = (room: PermissionConfig): readonly Group[] =>
  groupsOf(room)
    .map(({ title, keys }) => ({
      title,
      keys: keys.filter((key) => isRoomKey(key) || room[key] !== undefined),
    }))
    .filter(({ keys }) => keys.length > 0);
