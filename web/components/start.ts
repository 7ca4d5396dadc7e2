import { mount, type Component } from "svelte";
import type { ConsoleCatalog } from "../i18n/console/en/index.js";
import { choose, useLanguage } from "../i18n/index.js";
import { browserShelf } from "../lib/storage.js";
import { readPage, type PageConfig } from "../lib/page.js";
import { themeProperties } from "../state/theme.js";
import "../base.css";

/** The storage key of the chosen language. */
export const LANGUAGE = "foyer:language";

/**
 * Starts a page: sets its language and colors, and mounts its root component.
 * @param english the console's English messages, if the page needs them.
 */
export async function start(
  root: Component<{ page: PageConfig; baseUrl: string }>,
  english?: ConsoleCatalog,
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
