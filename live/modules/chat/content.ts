import { boundFault } from "../../../schemas/bounds.js";
import { lengthOf } from "../../../schemas/plain/texts.js";
import type { ChatPorts } from "./ports.js";
import type { ChannelContext, Sender } from "../../context.js";
import { invalidPayload, LiveError } from "../../rules/problems.js";

// The allowed contents of messages, and reactions.

/** The largest content of a message, in bytes of JSON. */
const MAX_CONTENT = 64 * 1024;

/** How many objects and lists of it may be in each other. */
const MAX_LEVELS = 10;

/** How many files a message may have. */
const MAX_FILES = 100;

/**
 * The content of a message.
 * @throws {LiveError} if clients cannot send it here.
 */
export function contentOf(
  { ports, direct }: ChannelContext<ChatPorts, Sender>,
  content: Record<string, unknown>,
  isEdit: boolean,
): Record<string, unknown> {
  const { type, body, files } = content;
  switch (type) {
    case "deleted":
      if (!isEdit) throw unsupported();
      return { type };
    case "call":
      // There are no calls yet; a client may announce one elsewhere.
      if (!direct || !body) throw unsupported();
      if (typeof body !== "object" || Array.isArray(body)) {
        throw invalidPayload({ "content.body": ["Must be an object."] });
      }
      break;
    case "text":
      if (!body) throw empty();
      checkText(body, ports.limits.maxText);
      break;
    case "files":
      if (!files || (Array.isArray(files) && files.length === 0)) throw empty();
      checkFiles(files);
      if (body !== undefined && body !== null) {
        checkText(body, ports.limits.maxText);
      }
      break;
    default:
      throw unsupported();
  }
  const fault = boundFault(content, MAX_CONTENT, MAX_LEVELS);
  if (fault) throw invalidPayload({ content: [fault] });
  return content;
}

const unsupported = () =>
  new LiveError(
    "chat.unsupported_content_type",
    "The channel takes no content of this type.",
  );

const empty = () => new LiveError("chat.empty", "The message is empty.");

function checkText(body: unknown, maxText: number): void {
  const field = "content.body";
  if (typeof body !== "string") {
    throw invalidPayload({ [field]: ["Must be a string."] });
  }
  if (lengthOf(body) > maxText) {
    throw invalidPayload({
      [field]: [`Must be at most ${maxText} characters.`],
    });
  }
}

function checkFiles(files: unknown): void {
  const isFile = (file: unknown): boolean => {
    const { url, name } = (file ?? {}) as Record<string, unknown>;
    return typeof url === "string" && typeof name === "string";
  };
  const areFiles =
    Array.isArray(files) && files.length <= MAX_FILES && files.every(isFile);
  if (areFiles) return;
  throw invalidPayload({
    "content.files": [
      `Must be a list of at most ${MAX_FILES} objects with the texts url and name.`,
    ],
  });
}

/** One emoji that Unicode recommends for general interchange. */
const EMOJI = new RegExp("^\\p{RGI_Emoji}$", "v");

/** A character that is shown as an emoji only with a selector, and has none. */
const BARE =
  /(?!\p{Emoji_Presentation})\p{Extended_Pictographic}(?!\uFE0F|\p{Emoji_Modifier})/gu;

/** Whether a text is one emoji. Many keyboards leave out selectors, as in U+2764. */
export const isEmoji = (text: string): boolean =>
  EMOJI.test(text) || EMOJI.test(text.replace(BARE, "$&\uFE0F"));
