import type { MailDetail } from "../../db/contract/mail-store.js";
import { contactOf, isEmail, mailWishesOf } from "../../schemas/plain/mail.js";
import { truncate } from "../../schemas/plain/texts.js";
import type { Sender } from "../../schemas/plain/config/variables.js";
import type { World } from "../../schemas/worlds.js";
import { zoneOr } from "../../web/lib/zones.js";
import { colorOf, inkOn } from "../../web/state/theme.js";
import { escaped } from "../web/head.js";
import { eventPreview } from "../web/preview.js";
import type { Letter } from "./smtp.js";
import { type MailWords, wordsFor } from "./words.js";

/** The content of a mail. */
export interface Occasion {
  /** The mail's id. */
  readonly id: string;
  readonly world: World;
  readonly kind: "invitation" | "reminder" | "login" | "test";
  readonly detail: MailDetail;
  /** The recipient. The name is empty if unknown. */
  readonly to: { readonly name: string; readonly address: string };
  /** The recipient's language, if known. */
  readonly locale: string | null | undefined;
  /** The URL that the button opens. */
  readonly url: string;
  /** The unsubscribe URL; undefined for a mail that the recipient requested. */
  readonly stopUrl: string | undefined;
}

/** The default color of the pages (web/tokens.css). */
const COLOR = "#4338ca";

/** Maximum length of a title in a subject, in characters. */
const MAX_TITLE = 100;

/**
 * Returns a text as a single line. A line break would end the header, and titles and names may
 * contain any character.
 */
export const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim()
    .toWellFormed();

/** Returns an event's start in milliseconds since 1970; undefined if it has none. */
export const startOf = (world: World): number | undefined => timeIn(world, "starts_at");

function timeIn(world: World, field: "starts_at" | "ends_at"): number | undefined {
  const text = eventPreview(world)?.event[field];
  return text === undefined ? undefined : Date.parse(text);
}

/**
 * Formats an event's time in its time zone, such as `Monday, March 1, 2027, 9:00 AM – 5:00 PM
 * GMT+1`.
 */
function whenOf(world: World, locale: string, isShort = false): string | undefined {
  const start = timeIn(world, "starts_at");
  if (start === undefined) return undefined;
  const end = timeIn(world, "ends_at");
  const zone = zoneOr(eventPreview(world)?.event.timezone, "UTC");
  const format = new Intl.DateTimeFormat(locale, {
    weekday: "long",
    month: "long",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZone: zone,
    ...(!isShort && { year: "numeric", timeZoneName: "short" }),
  });
  if (isShort || end === undefined || end <= start) return format.format(start);
  return format.formatRange(start, end);
}

/** Composes a mail as text and as HTML, in the recipient's language. */
export function compose(occasion: Occasion, sender: Sender): Letter {
  const { id, world, detail, to, url, stopUrl } = occasion;
  const words = wordsFor(occasion.locale ?? detail.locale ?? world.config["locale"]);
  const event = oneLine(world.title);
  const texts = textsOf(occasion, words);
  const contact = contactOf(world.config)?.trim();
  const own = ownTexts(occasion);
  const name = oneLine(to.name);
  const sentence = own.text ?? texts.sentence(event, "");
  const when = whenOf(world, words.locale);
  const where = eventPreview(world)?.event.location;
  const short = whenOf(world, words.locale, true) ?? "";
  const facts: readonly (readonly [string, string])[] = [
    ...(when === undefined ? [] : [[words.when, when] as const]),
    ...(where === undefined ? [] : [[words.where, oneLine(where)] as const]),
  ];
  const content: Content = {
    words,
    event,
    hello: words.hello(name),
    sentence,
    facts,
    button: texts.button,
    url,
    note: { invitation: words.personal, reminder: words.personal, login: words.once, test: "" }[
      occasion.kind
    ],
    because: {
      invitation: words.because,
      reminder: words.because,
      login: words.becauseAsked,
      test: words.becauseTest,
    }[occasion.kind],
    contact: contact === undefined ? undefined : words.questions(contact),
    stopUrl,
    color: brandOf(world),
  };
  return {
    id,
    to: { name, address: to.address },
    from: { name: sender.name || event, address: sender.address },
    replyTo: isEmail(contact) ? contact : undefined,
    subject: oneLine(own.subject ?? texts.subject(truncate(event, MAX_TITLE), short)),
    text: textOf(content),
    html: htmlOf(content),
    headers: {
      // Prevents automatic vacation replies.
      "Auto-Submitted": "auto-generated",
      ...(stopUrl !== undefined && {
        "List-Unsubscribe": `<${stopUrl}>`,
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      }),
    },
  };
}

function textsOf({ kind, detail }: Occasion, words: MailWords) {
  return kind === "reminder" ? words.reminder[detail.reminder ?? "day"] : words[kind];
}

/**
 * Returns the host's own texts: those for this mail, or those for the event. An e-mailed link has
 * none.
 */
function ownTexts({ kind, detail, world }: Occasion): { subject?: string; text?: string } {
  if (kind === "login") return {};
  const { subject, text } = mailWishesOf(world.config);
  const own = { ...(text !== undefined && { text }), ...detail };
  // A reminder keeps its own subject, so that recipients can tell it from the invitation.
  return kind === "reminder" || subject === undefined ? own : { subject, ...own };
}

function brandOf({ config }: World): string {
  const { theme } = config as { theme?: { colors?: { primary?: unknown } | null } | null };
  const primary = theme?.colors?.primary;
  return typeof primary === "string" && /^#[0-9a-f]{6}$/i.test(primary) ? primary : COLOR;
}

/** The parts of a mail, as plain text. */
interface Content {
  readonly words: MailWords;
  readonly event: string;
  readonly hello: string;
  readonly sentence: string;
  readonly facts: readonly (readonly [label: string, text: string])[];
  readonly button: string;
  readonly url: string;
  readonly note: string;
  readonly because: string;
  readonly contact: string | undefined;
  readonly stopUrl: string | undefined;
  readonly color: string;
}

function textOf(content: Content): string {
  const { words, hello, sentence, facts, button, url, note, because, contact, stopUrl } = content;
  const parts = [
    hello,
    sentence.trim(),
    facts.map(([label, text]) => `${label}: ${text}`).join("\n"),
    `${button}:\n${url}`,
    note,
    contact ?? "",
    ["-- ", because, ...(stopUrl === undefined ? [] : [`${words.stop} ${stopUrl}`])].join("\n"),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** Escapes a text, preserving its paragraphs and line breaks. */
const paragraphs = (text: string): string =>
  text
    .trim()
    .toWellFormed()
    .split(/(?:\r?\n){2,}/)
    .map((part) => `<p dir="auto" style="margin:0 0 16px">${lines(part)}</p>`)
    .join("");

const lines = (text: string): string => escaped(text).replace(/\r?\n/g, "<br>");

// Mail clients support tables and inline styles, and little else.
function htmlOf(content: Content): string {
  const { words, event, hello, sentence, facts, button, url, note, because } = content;
  const { contact, stopUrl, color } = content;
  const small = "color:#5c5c6b;font-size:13px;line-height:19px";
  const rows = facts.map(
    ([label, text]) =>
      `<tr><td style="padding:0 16px 4px 0;color:#5c5c6b;vertical-align:top">${escaped(label)}</td>` +
      `<td dir="auto" style="padding:0 0 4px">${escaped(text)}</td></tr>`,
  );
  return `<!DOCTYPE html>
<html lang="${words.locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light">
<title>${escaped(event)}</title>
</head>
<body style="margin:0;padding:24px 12px;background:#f6f6f9;font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;color:#17171f;font-size:16px;line-height:24px">
<table role="presentation" width="100%" cellspacing="0" cellpadding="0"><tr><td align="center">
<table role="presentation" width="100%" cellspacing="0" cellpadding="0" style="max-width:560px;background:#ffffff;border-radius:12px;border-top:6px solid ${color}"><tr><td style="padding:28px 28px 20px;text-align:start">
<h1 dir="auto" style="margin:0 0 20px;font-size:22px;line-height:28px">${escaped(event)}</h1>
<p dir="auto" style="margin:0 0 16px">${escaped(hello)}</p>
${paragraphs(sentence)}
${rows.length > 0 ? `<table role="presentation" cellspacing="0" cellpadding="0" style="margin:0 0 16px">${rows.join("")}</table>` : ""}
<p style="margin:8px 0 20px"><a href="${escaped(url)}" style="display:inline-block;padding:12px 22px;border-radius:8px;background:${color};color:${inkOn(colorOf(color)!)};text-decoration:none;font-weight:600">${escaped(button)}</a></p>
${note === "" ? "" : `<p style="margin:0 0 16px;${small}">${escaped(note)}</p>`}
<p style="margin:0 0 16px;${small};word-break:break-all">${escaped(words.orOpen)}<br>${escaped(url)}</p>
${contact === undefined ? "" : `<p dir="auto" style="margin:0;${small}">${lines(contact)}</p>`}
</td></tr></table>
<p style="margin:16px 0 0;max-width:560px;${small}">${escaped(because)}${stopUrl === undefined ? "" : `<br><a href="${escaped(stopUrl)}" style="color:#5c5c6b">${escaped(words.stop.replace(/:$/, ""))}</a>`}</p>
</td></tr></table>
</body>
</html>
`;
}
