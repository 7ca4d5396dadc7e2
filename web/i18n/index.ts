import type { ConsoleMessages } from "./console/en.js";
import { en, type Messages } from "./en.js";

/** A message, or one for each form of a number. */
type Entry = string | Partial<Record<Intl.LDMLPluralRule, string>>;

type All = Messages & ConsoleMessages;
type Section = keyof All;
/** The name of a message: `section.name`. */
export type Key = {
  [S in Section]: `${S}.${keyof All[S] & string}`;
}[Section];

/** A language: its own name, and its messages. */
interface Language {
  name: string;
  load: () => Promise<Messages>;
  /** The words of the console; without them it is in English. */
  loadConsole?: () => Promise<ConsoleMessages>;
}

/** Every language by its code. README.md says how to add one. */
export const languages: Record<string, Language> = {
  en: { name: "English", load: async () => en },
  de: {
    name: "Deutsch",
    load: () => import("./de.js").then(({ de }) => de),
    loadConsole: () => import("./console/de.js").then(({ de }) => de),
  },
};

let messages: Messages & Partial<ConsoleMessages> = en;
let language = "en";
let plurals = new Intl.PluralRules("en");

/** The code of the language in use. */
export const currentLanguage = (): string => language;

/**
 * The language in use as it is written where the browser is: numbers and times follow the
 * region, such as a clock of 24 hours in English, too.
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

/** The first supported one of the preferred languages. */
export const choose = (preferred: readonly (string | null)[]): string =>
  preferred
    .map((tag) => tag?.toLowerCase().split("-")[0] ?? "")
    .find((code) => Object.hasOwn(languages, code)) ?? "en";

/**
 * Loads a language; before the pages are made.
 * @param english the words of the console, if the page needs them: those without a translation
 *   stay as they are.
 */
export async function useLanguage(code: string, english?: ConsoleMessages): Promise<void> {
  const { load, loadConsole } = languages[code]!;
  const parts = await Promise.all([load(), english && (loadConsole?.() ?? english)]);
  messages = { ...parts[0], ...parts[1] };
  language = code;
  plurals = new Intl.PluralRules(code);
}

/**
 * A message in the language in use.
 * @param values replace `{name}` in it; `n` chooses the form of a number.
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
