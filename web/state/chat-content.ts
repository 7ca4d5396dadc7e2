import type { SentEvent } from "../../client/index.js";
import { t } from "../i18n/index.js";
import { withoutMarks } from "../lib/rich-text.js";

// Message contents. Clients may send any keys with values of any type, so nothing here trusts them.

/** A file attached to a message. */
export interface SharedFile {
  readonly url: string;
  readonly name: string;
  /** Media type, as declared by the sender. */
  readonly type: string;
}

/** A message's content, as far as these pages can show it. */
export type MessageBody =
  | { readonly is: "text"; readonly body: string }
  | {
      readonly is: "files";
      readonly files: readonly SharedFile[];
      readonly body: string;
    }
  /** A call in a direct conversation. */
  | {
      readonly is: "call";
      /** Duration, in seconds; undefined while it runs, or if it was missed. */
      readonly seconds: number | undefined;
      readonly isMissed: boolean;
    }
  | { readonly is: "deleted" }
  | { readonly is: "unknown" };

/** The server's maximum number of files per message. */
const MAX_FILES = 100;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const partsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

/** Parses a message's content. */
export function parseContent(content: unknown): MessageBody {
  const { type, body, files } = partsOf(content);
  if (type === "deleted") return { is: "deleted" };
  if (type === "text" && typeof body === "string" && body !== "") {
    return { is: "text", body };
  }
  if (type === "files" && Array.isArray(files)) {
    const known = files.slice(0, MAX_FILES).map(fileIn);
    return { is: "files", files: known, body: textOf(body) };
  }
  if (type === "call") {
    const { seconds, missed } = partsOf(body);
    const isOver = typeof seconds === "number" && seconds >= 0;
    return { is: "call", seconds: isOver ? seconds : undefined, isMissed: missed === true };
  }
  return { is: "unknown" };
}

/** Says how a call went. */
export function callText({
  seconds,
  isMissed,
}: Pick<Extract<MessageBody, { is: "call" }>, "seconds" | "isMissed">): string {
  if (isMissed) return t("chat.callMissed");
  if (seconds === undefined) return t("chat.call");
  return t("chat.callLasted", { n: Math.ceil(seconds / 60) || 1 });
}

/** Returns a message as a single line: the text without Markdown syntax, or the names of the files. */
export function lineOf(content: unknown): string {
  const said = parseContent(content);
  if (said.is === "text") return withoutMarks(said.body);
  if (said.is === "call") return callText(said);
  if (said.is !== "files") return "";
  return withoutMarks(said.body) || said.files.map(({ name }) => name).join(", ");
}

/** Returns the id of the message that some content replies to, or undefined if the content is not a reply. */
export function repliedIn(content: unknown): number | undefined {
  const { reply_to } = partsOf(content);
  return Number.isSafeInteger(reply_to) && Number(reply_to) > 0 ? Number(reply_to) : undefined;
}

function fileIn(value: unknown): SharedFile {
  const { url, name, mimeType } = partsOf(value);
  return { url: textOf(url), name: textOf(name), type: textOf(mimeType) };
}

/** Returns the user who joined or left in a member event, or undefined if the event names no user. */
export function memberIn({
  content,
  sender,
}: Pick<SentEvent, "content" | "sender">): { id: string; isHere: boolean } | undefined {
  const { membership, user } = partsOf(content);
  const id = textOf(partsOf(user)["id"]) || sender;
  if (!id || typeof membership !== "string") return undefined;
  return { id, isHere: membership === "join" };
}

/** Returns the state of an event's poll. */
export const pollStateIn = ({ content }: Pick<SentEvent, "content">): string =>
  textOf(partsOf(content)["state"]);

/** Returns the reactions to an event, oldest first: each emoji with the users who reacted. */
export const reactionsIn = ({
  reactions,
}: Pick<SentEvent, "reactions">): [emoji: string, users: string[]][] =>
  Object.entries(partsOf(reactions)).flatMap(([emoji, users]) =>
    Array.isArray(users) && users.length > 0 && emoji !== "" ? [[emoji, users as string[]]] : [],
  );

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** A part of a message's text: plain text, or a mention of a user. */
export type Part = { readonly text: string } | { readonly mention: string };

/** Splits text at its mentions: `@` followed by a user id. */
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

/** Returns the ids of the users mentioned in text, in order. */
export const mentionsIn = (text: string): string[] =>
  partsIn(text).flatMap((part) => ("mention" in part ? part.mention : []));

// The server stores mentions as `@` and a user id; users write and see `@` and a name.

/** A mention in text: a name that stands for a user. */
export interface Mentioned {
  /** The name after the `@`, unique within the text. */
  readonly label: string;
  readonly id: string;
}

/** Maximum length of a mentioned name, in characters. */
const MAX_LABEL = 40;

/** Invisible characters, characters that change the text direction, and `@`. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}@]+/gu;

/** Returns a user's label: a single line that is unique within the text. */
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

/** Converts text to its stored form, with ids instead of names. */
export function withIds(text: string, mentions: readonly Mentioned[]): string {
  // Longest first: "@Ada Lovelace" does not mention Ada.
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

/** Whether the text has the label at this index, and not just as the beginning of a longer word. */
const isAt = (text: string, index: number, label: string): boolean =>
  text.startsWith(label, index) && !/^[\p{L}\p{N}_]/u.test(text.slice(index + label.length));

/**
 * Converts stored text to the form that users see and edit.
 * @param nameOf returns a user's name.
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

/** The text typed after an `@`. */
export interface MentionQuery {
  /** Index of the `@`. */
  readonly from: number;
  readonly term: string;
}

/** Maximum length of a mention being typed, including the `@`, in characters. */
const MAX_TERM = 30;

/** Returns the name being typed before the caret, or undefined if no name is being typed. */
export function queryAt(text: string, caret: number): MentionQuery | undefined {
  const from = text.lastIndexOf("@", caret - 1);
  if (from < 0 || caret - from > MAX_TERM) return undefined;
  if (from > 0 && !/[\s(]/.test(text[from - 1]!)) return undefined;
  const term = text.slice(from + 1, caret);
  // A name has at most three words. Text with more words is not a mention.
  return /^\s|\n|\s\s/.test(term) || term.split(" ").length > 3 ? undefined : { from, term };
}

/** The emoji that the pages offer, in groups. `emoji.names` lists the emoji's names in the same order. */
export const emojiGroups: readonly (readonly string[])[] = [
  ["👍", "👎", "👏", "🙌", "🙏", "👋", "💪", "🤝", "👌", "✌️", "🤞", "👀"],
  ["😀", "😄", "😂", "🤣", "😊", "😉", "😍", "🥰", "😎", "🤔", "😮", "😅"],
  ["🙂", "😇", "🤗", "🤩", "😴", "😐", "🙄", "😬", "😕", "😢", "😭", "😡"],
  ["❤️", "🧡", "💛", "💚", "💙", "💜", "💯", "🎉", "🎊", "🥳", "🎂", "🎁"],
  ["🔥", "⭐", "✨", "💡", "🚀", "✅", "❌", "❓", "❗", "⏰", "☕", "🍕"],
];

export const allEmoji: readonly string[] = emojiGroups.flat();
