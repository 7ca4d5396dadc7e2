import { permissionTitles } from "../../../schemas/plain/permissions.js";
import { currentLanguage, type Key } from "../../i18n/index.js";
import {
  isRoomKey,
  permissionKeys,
  type PermissionConfig,
  type PermissionKey,
} from "../../state/rules.js";

/** Keys that belong together. */
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
    ],
  },
  {
    title: "console.groupModerate",
    keys: [
      "chat.moderate",
      "question.moderate",
      "poll.manage",
      "poll.results",
      "room.viewers",
      "user.manage",
      "room.announce",
      "world.announce",
      "room.invite",
    ],
  },
];

/** All keys of the server, and a world's own keys. */
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

/** What a key permits, in words; an unknown key is shown as it is. */
export function titleOf(key: string): string {
  if (!isKnownKey(key)) return key;
  const titles: Readonly<Record<string, string>> = permissionTitles[key];
  return titles[currentLanguage()] ?? permissionTitles[key].en;
}

/** The keys that a room may have rules of its own for, and the room's own keys. */
export const groupsOfRoom = (room: PermissionConfig): readonly Group[] =>
  groupsOf(room)
    .map(({ title, keys }) => ({
      title,
      keys: keys.filter((key) => isRoomKey(key) || room[key] !== undefined),
    }))
    .filter(({ keys }) => keys.length > 0);
