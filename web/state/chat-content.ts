import type { SentEvent } from "../../client/index.js";
import { withoutMarks } from "../lib/rich-text.js";

// The contents of messages. Clients may send any keys with values of any type, so nothing
// here trusts a content.

/** A file of a message. */
export interface SharedFile {
  readonly url: string;
  readonly name: string;
  /** Its media type, as the sender declares it. */
  readonly type: string;
}

/** The content of a message, as far as these pages can show it. */
export type Said =
  | { readonly is: "text"; readonly body: string }
  | {
      readonly is: "files";
      readonly files: readonly SharedFile[];
      readonly body: string;
    }
  | { readonly is: "deleted" }
  | { readonly is: "unknown" };

/** The server accepts no more files in a message. */
const MAX_FILES = 100;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const partsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

/** Parses the content of a message. */
export function saidIn(content: unknown): Said {
  const { type, body, files } = partsOf(content);
  if (type === "deleted") return { is: "deleted" };
  if (type === "text" && typeof body === "string" && body !== "") {
    return { is: "text", body };
  }
  if (type === "files" && Array.isArray(files)) {
    const known = files.slice(0, MAX_FILES).map(fileIn);
    return { is: "files", files: known, body: textOf(body) };
  }
  return { is: "unknown" };
}

/** A message in one line: its text without marks, or the names of its files. */
export function lineOf(content: unknown): string {
  const said = saidIn(content);
  if (said.is === "text") return withoutMarks(said.body);
  if (said.is !== "files") return "";
  return withoutMarks(said.body) || said.files.map(({ name }) => name).join(", ");
}

/** The id of the message that a message replies to; undefined if it is no reply. */
export function repliedIn(content: unknown): number | undefined {
  const { reply_to } = partsOf(content);
  return Number.isSafeInteger(reply_to) && Number(reply_to) > 0 ? Number(reply_to) : undefined;
}

function fileIn(value: unknown): SharedFile {
  const { url, name, mimeType } = partsOf(value);
  return { url: textOf(url), name: textOf(name), type: textOf(mimeType) };
}

/** The id of the user who joined or left by a member event; undefined without one. */
export function memberIn({
  content,
  sender,
}: Pick<SentEvent, "content" | "sender">): { id: string; isHere: boolean } | undefined {
  const { membership, user } = partsOf(content);
  const id = textOf(partsOf(user)["id"]) || sender;
  if (!id || typeof membership !== "string") return undefined;
  return { id, isHere: membership === "join" };
}

/** The state of the poll of an event. */
export const pollStateIn = ({ content }: Pick<SentEvent, "content">): string =>
  textOf(partsOf(content)["state"]);

/** The reactions to an event, the oldest first: an emoji, and the users who reacted. */
export const reactionsIn = ({
  reactions,
}: Pick<SentEvent, "reactions">): [emoji: string, users: string[]][] =>
  Object.entries(partsOf(reactions)).flatMap(([emoji, users]) =>
    Array.isArray(users) && users.length > 0 && emoji !== "" ? [[emoji, users as string[]]] : [],
  );

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** A part of a text: words, or the mention of a user. */
export type Part = { readonly text: string } | { readonly mention: string };

/** Splits a text at its mentions: `@` and the id of a user. */
export function partsIn(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { 0: whole, 1: id, index } of text.matchAll(new RegExp(`@(${UUID})`, "gi"))) {
    if (index > end) parts.push({ text: text.slice(end, index) });
    parts.push({ mention: id!.toLowerCase() });
    end = index + whole.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}

/** The users that a text mentions, in order. */
export const mentionsIn = (text: string): string[] =>
  partsIn(text).flatMap((part) => ("mention" in part ? part.mention : []));

// The server knows mentions as `@` and the id of a user. People write and see `@` and a name.

/** A name in a text that stands for a user. */
export interface Mentioned {
  /** The name after the `@`, unique in a text. */
  readonly label: string;
  readonly id: string;
}

/** The longest name in a text. */
const MAX_LABEL = 40;

/** Characters that are invisible, or change the direction of the following text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}@]+/gu;

/** The name of a user in a text: one line, and unique in the text. */
export function labelFor(
  { id, name }: { id: string; name: string },
  others: readonly Mentioned[],
): string {
  const known = others.find((it) => it.id === id);
  if (known) return known.label;
  const plain =
    [...name.replace(UNSEEN, " ").trim().replace(/\s+/g, " ")].slice(0, MAX_LABEL).join("") || "?";
  let label = plain;
  for (let n = 2; others.some((it) => it.label === label); n++) {
    label = `${plain} (${n})`;
  }
  return label;
}

/** The text as the server stores it, with ids instead of names. */
export function withIds(text: string, mentions: readonly Mentioned[]): string {
  // "@Ada Lovelace" is no mention of Ada.
  const longest = [...mentions].sort((a, b) => b.label.length - a.label.length);
  let stored = "";
  for (let from = 0; ;) {
    const at = text.indexOf("@", from);
    if (at < 0) return stored + text.slice(from);
    const found = longest.find(({ label }) => isAt(text, at + 1, label));
    stored += `${text.slice(from, at)}@${found?.id ?? ""}`;
    from = at + 1 + (found?.label.length ?? 0);
  }
}

/** Whether the text has a label there that is not the beginning of another word. */
const isAt = (text: string, index: number, label: string): boolean =>
  text.startsWith(label, index) && !/^[\p{L}\p{N}_]/u.test(text.slice(index + label.length));

/**
 * A stored text as users see and edit it.
 * @param nameOf gives the name of a user.
 */
export function withNames(
  stored: string,
  nameOf: (id: string) => string,
): { text: string; mentions: Mentioned[] } {
  const mentions: Mentioned[] = [];
  const text = partsIn(stored)
    .map((part) => {
      if ("text" in part) return part.text;
      const id = part.mention;
      const label = labelFor({ id, name: nameOf(id) }, mentions);
      if (!mentions.some((it) => it.id === id)) mentions.push({ label, id });
      return `@${label}`;
    })
    .join("");
  return { text, mentions };
}

/** The typed text behind an `@`. */
export interface MentionQuery {
  /** Where the `@` is. */
  readonly from: number;
  readonly term: string;
}

/** The longest term that is looked for. */
const MAX_TERM = 30;

/** The name that is being typed before the caret; undefined if none is. */
export function queryAt(text: string, caret: number): MentionQuery | undefined {
  const from = text.lastIndexOf("@", caret - 1);
  if (from < 0 || caret - from > MAX_TERM) return undefined;
  if (from > 0 && !/[\s(]/.test(text[from - 1]!)) return undefined;
  const term = text.slice(from + 1, caret);
  // A name may have a few words, but the text after one is not a name.
  return /^\s|\n|\s\s/.test(term) || term.split(" ").length > 3 ? undefined : { from, term };
}

/** The emoji that the pages offer, in groups. `chat.emojiNames` has their names in this order. */
export const emojiGroups: readonly (readonly string[])[] = [
  ["👍", "👎", "👏", "🙌", "🙏", "👋", "💪", "🤝", "👌", "✌️", "🤞", "👀"],
  ["😀", "😄", "😂", "🤣", "😊", "😉", "😍", "🥰", "😎", "🤔", "😮", "😅"],
  ["🙂", "😇", "🤗", "🤩", "😴", "😐", "🙄", "😬", "😕", "😢", "😭", "😡"],
  ["❤️", "🧡", "💛", "💚", "💙", "💜", "💯", "🎉", "🎊", "🥳", "🎂", "🎁"],
  ["🔥", "⭐", "✨", "💡", "🚀", "✅", "❌", "❓", "❗", "⏰", "☕", "🍕"],
];

/** All of them. */
export const allEmoji: readonly string[] = emojiGroups.flat();
