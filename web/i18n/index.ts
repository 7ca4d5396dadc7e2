import type { ConsoleCatalog, ConsoleMessages, ConsolePart } from "./console/en/index.js";
import { en, type Messages } from "./en.js";
import type { LateMessages } from "./late/en.js";

/** A message, or a message per plural category. */
type Entry = string | Partial<Record<Intl.LDMLPluralRule, string>>;

type All = Messages & ConsoleMessages & LateMessages;
type Section = keyof All;
/** A message key: `section.name`. */
export type Key = {
  [S in Section]: `${S}.${keyof All[S] & string}`;
}[Section];

/** A language: its native name and its messages. */
interface Language {
  name: string;
  load: () => Promise<Messages>;
  /** Loads the console's messages. Without this function, the console is in English. */
  loadConsole?: () => Promise<ConsoleCatalog>;
  /** Loads the messages of `late/en.ts`. Without this function, they are in English. */
  loadLate?: () => Promise<LateMessages>;
}

const englishLate = (): Promise<LateMessages> => import("./late/en.js").then(({ en }) => en);

/** All languages by code. README.md explains how to add a language. */
export const languages: Record<string, Language> = {
  en: {
    name: "English",
    load: async () => en,
    loadLate: englishLate,
  },
  de: {
    name: "Deutsch",
    load: () => import("./de.js").then(({ de }) => de),
    loadConsole: () => import("./console/de/index.js").then(({ de }) => de),
    loadLate: () => import("./late/de.js").then(({ de }) => de),
  },
};

let messages: Messages & Partial<ConsoleMessages & LateMessages> = en;
let language = "en";
/** The console's messages, on pages that have them. */
let catalog: ConsoleCatalog | undefined;
let plurals = new Intl.PluralRules("en");

/** Returns the code of the current language. */
export const currentLanguage = (): string => language;

/**
 * Returns the current language with the browser's region, so that numbers and times follow local
 * conventions, such as a 24-hour clock in English.
 */
export function currentLocale(): string {
  const preferred = globalThis.navigator?.languages ?? [];
  const isOwn = (tag: string) => tag.toLowerCase().split("-")[0] === language;
  const own = preferred.find((tag) => isOwn(tag) && tag.includes("-"));
  if (own) return own;
  const region = preferred.map(regionOf).find((it) => it !== undefined);
  return region ? `${language}-${region}` : language;
}

function regionOf(tag: string): string | undefined {
  try {
    return new Intl.Locale(tag).region;
  } catch {
    return undefined;
  }
}

/** Returns the first supported language among the preferred languages, or English if none of them is supported. */
export const choose = (preferred: readonly (string | null)[]): string =>
  preferred
    .map((tag) => tag?.toLowerCase().split("-")[0] ?? "")
    .find((code) => Object.hasOwn(languages, code)) ?? "en";

/**
 * Loads a language and switches to it. Must run before the pages render.
 * @param english the console's English messages, if the page needs them; used if the language has
 * no translation of the console.
 */
export async function useLanguage(code: string, english?: ConsoleCatalog): Promise<void> {
  const { load, loadConsole } = languages[code]!;
  const [event, console] = await Promise.all([load(), english && (loadConsole?.() ?? english)]);
  catalog = console;
  messages = { ...event, ...console?.frame };
  language = code;
  plurals = new Intl.PluralRules(code);
}

/** Waits for a page of the console and its messages, which must load before it renders. */
export async function withConsoleWords<Part>(
  names: readonly ConsolePart[],
  part: Promise<Part>,
): Promise<Part> {
  const [loaded, ...words] = await Promise.all([
    part,
    ...names.map((name) => catalog?.pages[name]()),
  ]);
  for (const it of words) messages = { ...messages, ...it };
  return loaded;
}

/** Waits for a part of the pages and the messages of `late/en.ts`, which must load before it renders. */
export async function withLateWords<Part>(part: Promise<Part>): Promise<Part> {
  const load = languages[language]!.loadLate ?? englishLate;
  const [loaded, late] = await Promise.all([part, load()]);
  messages = { ...messages, ...late };
  return loaded;
}

/**
 * Returns a message in the current language.
 * @param values values for the `{name}` placeholders; `n` selects the plural form.
 */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  const [section, name] = key.split(".") as [Section, string];
  const entry = (messages[section] as Record<string, Entry>)[name]!;
  const text =
    typeof entry === "string"
      ? entry
      : (entry[plurals.select(Number(values["n"]))] ?? entry.other ?? "");
  return text.replace(/\{(\w+)\}/g, (whole, it: string) =>
    Object.hasOwn(values, it) ? String(values[it]) : whole,
  );
}
