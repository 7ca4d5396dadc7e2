import { mount, type Component } from "svelte";
import type { ConsoleMessages } from "../i18n/console/en.js";
import { choose, useLanguage } from "../i18n/index.js";
import { browserShelf } from "../lib/storage.js";
import { readPage, type PageConfig } from "../lib/page.js";
import { themeProperties } from "../state/theme.js";
import "../base.css";

/** The storage key of the chosen language. */
export const LANGUAGE = "foyer:language";

/**
 * Starts a page: its language, its colors, then its first component.
 * @param english the words of the console, if it needs them.
 */
export async function start(
  root: Component<{ page: PageConfig; baseUrl: string }>,
  english?: ConsoleMessages,
): Promise<void> {
  const page = readPage(document);
  const language = choose([browserShelf().getItem(LANGUAGE), page.locale, ...navigator.languages]);
  await useLanguage(language, english);
  document.documentElement.lang = language;
  for (const [name, value] of Object.entries(themeProperties(page.theme))) {
    document.documentElement.style.setProperty(name, value);
  }
  if (page.title) document.title = page.title;
  const target = document.querySelector("#app")!;
  target.replaceChildren();
  const baseUrl = new URL(page.base, location.href).href;
  mount(root, { target, props: { page, baseUrl } });
}
