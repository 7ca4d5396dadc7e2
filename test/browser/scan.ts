import type { Page } from "playwright-core";

/**
 * Looks through a page, with its frames and shadow trees, for what only an injection
 * leaves there.
 * @returns a line for each find; none if all is well.
 */
export async function scan(page: Page): Promise<string[]> {
  const finds = await Promise.all(
    page.frames().map((frame) => frame.evaluate(look).catch(() => [])),
  );
  return finds.flat();
}

/** Runs in the page. */
function look(): string[] {
  const finds: string[] = [];
  const say = (what: string, element: Element) =>
    finds.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
  const isRun = (globalThis as { __xss?: unknown }).__xss !== undefined;
  if (isRun) finds.push("a script ran");
  const URLS = ["href", "src", "action", "formaction", "data", "xlink:href"];
  const walk = (root: ParentNode) => {
    for (const element of root.querySelectorAll("*")) {
      const tag = element.localName;
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on")) say(`attribute ${name}`, element);
        if (name === "srcdoc") say("srcdoc", element);
        // What a browser ignores at the start and within a scheme.
        // oxlint-disable-next-line no-control-regex
        const url = value.replace(/[\u0000-\u0020]/g, "").toLowerCase();
        if (!URLS.includes(name)) continue;
        if (/^(javascript|vbscript):/.test(url)) say(`${name}`, element);
        if (/^data:/.test(url) && tag !== "img") say(`${name}`, element);
      }
      if (["base", "object", "embed", "applet", "math", "marquee"].includes(tag))
        say("element", element);
      if (tag === "meta" && element.hasAttribute("http-equiv")) say("element", element);
      if (tag === "script" && !element.hasAttribute("src")) say("inline script", element);
      if (tag === "form" && element.hasAttribute("action")) say("form", element);
      if (tag === "style") say("inline style", element);
      if (/url\(|expression|behavior/i.test(element.getAttribute("style") ?? ""))
        say("style", element);
      if (element.shadowRoot) walk(element.shadowRoot);
      if (element instanceof HTMLTemplateElement) walk(element.content);
    }
  };
  walk(document);
  return finds;
}
