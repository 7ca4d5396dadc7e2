import { Expected, textFault, type TextOptions } from "./texts.js";

// Rules for mails, shared by the server, the commands and the pages.

/**
 * The rules for an e-mail address: one `@`, and no white space, control characters, or characters
 * that end an address in a mail header.
 */
export const emailAddress = {
  minLength: 3,
  maxLength: 254,
  pattern:
    '^[^\\s\\u0000-\\u001f\\u007f-\\u009f<>(),;:"@]+@[^\\s\\u0000-\\u001f\\u007f-\\u009f<>(),;:"@]+$',
  [Expected]: "an e-mail address such as ann@example.org",
} satisfies TextOptions;

/** Returns the fault of an e-mail address, as a sentence; undefined if there is none. */
export const emailFault = (text: unknown): string | undefined => textFault(emailAddress, text);

/** Whether a text is an e-mail address. */
export const isEmail = (text: unknown): text is string => emailFault(text) === undefined;

/** The rules for a language tag, such as `de` or `pt-BR`. */
export const languageTag = {
  minLength: 2,
  maxLength: 35,
  pattern: "^[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8})*$",
  [Expected]: "a language tag such as de or pt-BR",
} satisfies TextOptions;

/** A line of text. Control characters are not allowed, because they would end a mail header. */
const LINE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$";

/** The rules for the subject of a mail. */
export const mailSubject = {
  maxLength: 150,
  pattern: LINE,
  [Expected]: "one line of text",
} satisfies TextOptions;

/** The rules for a host's own text in mails. */
export const mailText = { maxLength: 1000 } satisfies TextOptions;

/** The rules for `config.contact`: an e-mail address, a URL, or free text. */
export const contact = { maxLength: 300 } satisfies TextOptions;

/** Returns the URL of an event's contact, or undefined if the contact is free text. */
export function contactLink(text: string): string | undefined {
  const trimmed = text.trim();
  if (isEmail(trimmed)) return `mailto:${trimmed}`;
  if (!/^https?:\/\/[^\s]+$/i.test(trimmed) || !URL.canParse(trimmed)) return undefined;
  return new URL(trimmed).href;
}

/** The part of `config.mail` that the server uses. Hosts may store any value in this field. */
export interface MailWishes {
  readonly subject?: string;
  readonly text?: string;
  readonly reminders: boolean;
}

/** Returns the valid part of `config.mail`. */
export function mailWishesOf({ mail }: Readonly<Record<string, unknown>>): MailWishes {
  const fields =
    typeof mail === "object" && mail !== null ? (mail as Readonly<Record<string, unknown>>) : {};
  const { subject, text, reminders } = fields;
  return {
    ...(isFilled(mailSubject, subject) && { subject }),
    ...(isFilled(mailText, text) && { text }),
    reminders: reminders === true,
  };
}

/** Returns an event's contact, or undefined if it has none. */
export const contactOf = ({ contact: text }: Readonly<Record<string, unknown>>) =>
  isFilled(contact, text) ? text : undefined;

const isFilled = (rules: TextOptions, text: unknown): text is string =>
  typeof text === "string" && text.trim() !== "" && textFault(rules, text) === undefined;
