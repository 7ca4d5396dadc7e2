import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Marked, marked, Renderer } from "marked";
import sharp from "sharp";

// Renders docs/*.md to the pages that the server sends at /docs/, with a search index, so that a
// server needs no Markdown parser.

const DOCS = "docs";

/** The guides, grouped by what a reader does, in the order in which they are listed. */
const GROUPS = [
  ["Host an event", "host web program mail"],
  [
    "Run the server",
    "install configure commands proxy secure observe backup upgrade troubleshoot scale bucket calls data",
  ],
  [
    "Build on it",
    "api live chat votes moderation captions client bots integrate embed conformance venueless",
  ],
  ["Know more", "performance architecture changelog security"],
].map(([heading, names]) => ({ heading, names: names.split(" ") }));

/** Files at the top of the project that become pages, with the names of the pages. */
const TOP = { "CHANGELOG.md": "changelog", "SECURITY.md": "security" };

/** Files next to the guides that these link to. */
const FILES = ["grafana-dashboard.json"];

const STYLE = `:root{color-scheme:light dark}
body{font:1rem/1.6 system-ui,sans-serif;margin:0;color:#222;background:#fff}
.page{display:flex;max-width:72rem;margin:0 auto;gap:2rem;padding:0 1rem}
nav{flex:0 0 13rem;padding:1.5rem 0}nav ul{list-style:none;margin:0;padding:0}nav a{display:block;padding:.15rem 0;text-decoration:none}
nav a:hover,nav a:focus{text-decoration:underline}#all>p{font-weight:600;margin:1.2rem 0 .2rem}
#menu{display:none;font:inherit;padding:.3rem .8rem}
main{flex:1;min-width:0;padding:1.5rem 0 4rem}
a{color:#4338ca}h1,h2,h3{line-height:1.25;scroll-margin-top:1rem}
pre{overflow-x:auto;background:#f3f3f3;padding:.7rem .9rem}code{font-size:.9em}
.wide{overflow-x:auto}table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;border-bottom:1px solid #8884;padding:.3rem .6rem .3rem 0}
input{font:inherit;width:100%;box-sizing:border-box;padding:.3rem .5rem}img{max-width:100%}
#found li{margin:.5rem 0}[aria-current]{font-weight:bold}
@media(max-width:45rem){.page{display:block}nav{padding-bottom:0}nav a{padding:.4rem 0}}
@media(max-width:45rem) and (scripting:enabled){#menu{display:block}#menu[aria-expanded=false]+#all{display:none}}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#a5b4fc}pre{background:#262626}}
`;

// A section must contain every word. Sections with more of the words in their heading come first.
const SCRIPT = `const base = new URL(".", import.meta.url);
const input = document.querySelector("#search");
const found = document.querySelector("#found");
let sections;
async function search() {
  const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
  found.replaceChildren();
  document.querySelector("#text").hidden = words.length > 0;
  if (words.length === 0) return;
  sections ??= await (await fetch(new URL("search.json", base))).json();
  const asked = input.value;
  const rank = ({ title, heading }) =>
    words.filter((word) => (heading + " " + title).toLowerCase().includes(word)).length;
  const hits = sections
    .filter(({ title, heading, text }) => {
      const all = (title + " " + heading + " " + text).toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .sort((a, b) => rank(b) - rank(a))
    .slice(0, 50);
  if (asked !== input.value) return;
  for (const { page, id, title, heading, text } of hits) {
    const link = document.createElement("a");
    link.href = new URL(page + (id ? "#" + id : ""), base);
    link.textContent = heading === title ? title : title + ": " + heading;
    link.addEventListener("click", () => { input.value = ""; void search(); });
    const near = text.toLowerCase().indexOf(words[0]) - 60;
    const at = near > 0 ? text.indexOf(" ", near) + 1 : 0;
    const end = at + 160 < text.length ? text.lastIndexOf(" ", at + 160) : text.length;
    const shown = (at > 0 ? "… " : "") + text.slice(at, end) + (end < text.length ? " …" : "");
    const item = document.createElement("li");
    item.append(link, document.createElement("br"), shown);
    found.append(item);
  }
  if (hits.length === 0) found.append("Nothing is found.");
}
input.addEventListener("input", search);
const menu = document.querySelector("#menu");
menu.addEventListener("click", () => {
  const isOpen = menu.getAttribute("aria-expanded") === "true";
  menu.setAttribute("aria-expanded", String(!isOpen));
});
// An old address of an operation.
if (location.hash.startsWith("#/")) location.replace(new URL("../api" + location.hash, base));
`;

/** A picture in a guide: one of `docs/screenshots`, which the packed Markdown does not have. */
const PICTURE = /^<!-- picture: ([\w-]+) \| (.+) -->\s*$/;

/** The width of pictures, in pixels. */
const WIDTH = 1120;

/** Builds the manual in a folder: its start page, and in `guides/` the other pages and their files. */
export async function buildGuides(out) {
  const folder = join(out, "guides");
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(DOCS)
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length));
  const guides = [
    ...names.map((name) => rendered(name, join(DOCS, `${name}.md`))),
    ...Object.entries(TOP).map(([path, name]) => rendered(name, path)),
  ];
  for (const { name } of guides) {
    if (!GROUPS.some(({ names: listed }) => listed.includes(name))) {
      throw new Error(`The guide ${name} is in no group of scripts/guides.js.`);
    }
  }
  for (const { name, title, html } of guides) {
    const page = pageOf({ title, html, guides, current: name, to: "" });
    writeFileSync(join(folder, `${name}.html`), page);
  }
  writeFileSync(
    join(out, "index.html"),
    pageOf({ title: "Foyer", html: homeOf(guides), guides, to: "guides/" }),
  );
  const sections = guides.flatMap((guide) => guide.sections);
  writeFileSync(join(folder, "search.json"), JSON.stringify(sections));
  writeFileSync(join(folder, "guides.css"), STYLE);
  writeFileSync(join(folder, "guides.js"), SCRIPT);
  for (const file of FILES) copyFileSync(join(DOCS, file), join(folder, file));
  for (const picture of new Set(guides.flatMap(({ pictures }) => pictures))) {
    const from = join(DOCS, "screenshots", `${picture}-desktop-light.png`);
    await sharp(from)
      .resize({ width: WIDTH, withoutEnlargement: true })
      .webp({ quality: 80 })
      .toFile(join(folder, `${picture}.webp`));
  }
}

function rendered(name, path) {
  const tokens = marked.lexer(readFileSync(path, "utf8"));
  const title = textOf(tokens.find(({ type }) => type === "heading"));
  const ids = new Map();
  const sections = [{ page: name, id: "", title, heading: title, text: "" }];
  for (const token of tokens) {
    if (token.type === "heading") {
      token.id = idOf(textOf(token), ids);
      if (token.depth === 1) continue;
      const heading = textOf(token);
      sections.push({ page: name, id: token.id, title, heading, text: "" });
    } else if (token.type !== "html") sections.at(-1).text += ` ${textOf(token)}`;
  }
  for (const section of sections) {
    section.text = section.text.replace(/\s+/g, " ").trim();
  }
  const pictures = [];
  const renderer = {
    html({ text }) {
      const [, picture, words] = PICTURE.exec(text) ?? [];
      if (picture === undefined) return text;
      pictures.push(picture);
      return `<p><img src="${picture}.webp" alt="${escapeHtml(words)}" loading="lazy"></p>\n`;
    },
    heading({ tokens: inner, depth, id }) {
      return `<h${depth} id="${id}">${this.parser.parseInline(inner)}</h${depth}>\n`;
    },
    link({ href, tokens: inner }) {
      const text = this.parser.parseInline(inner);
      const address = addressOf(href);
      return address === undefined ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
    },
    table(token) {
      const html = Renderer.prototype.table.call(this, token);
      return `<div class="wide" tabindex="0">${html}</div>`;
    },
  };
  const html = new Marked({ renderer }).parser(tokens);
  return { name, title, html, sections, pictures };
}

/** Returns the target of a link in a guide; undefined if the server does not have it. */
function addressOf(href) {
  if (/^(https?:|#)/.test(href)) return href;
  const [path, anchor] = href.split("#");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (FILES.includes(path)) return path;
  const top = TOP[path.replace("../", "")];
  if (top !== undefined) return top + hash;
  return /^[\w-]+\.md$/.test(path) ? path.slice(0, -3) + hash : undefined;
}

/** Generates heading ids like GitHub does. */
function idOf(text, ids) {
  const id = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
  const count = ids.get(id) ?? 0;
  ids.set(id, count + 1);
  return count === 0 ? id : `${id}-${count}`;
}

/** Returns the text of a token without its markup. */
function textOf(token) {
  if (token === undefined) return "";
  if (token.type === "table") {
    return [token.header, ...token.rows].flat().map(textOf).join(" ");
  }
  const inner = token.tokens ?? token.items;
  return inner ? inner.map(textOf).join(token.type === "list" ? " " : "") : (token.text ?? "");
}

const homeOf = (guides) => `<h1>Foyer</h1>
<p>The manual of this server. Begin with <a href="guides/host">Host an event</a>: eight steps, and no programming.</p>
<p>Its interfaces:</p>
<ul><li><a href="api">The API</a>, to read and try</li>
<li><a href="live">The websocket</a>, command by command</li></ul>
${listOf(guides, { to: "guides/", tag: "h2" })}`;

/** Renders links to all guides, grouped under headings. */
const listOf = (guides, { to, tag, current }) =>
  GROUPS.map(({ heading, names }) => {
    const links = names.map((name) => {
      const { title } = guides.find((guide) => guide.name === name);
      const mark = name === current ? ' aria-current="page"' : "";
      return `<li><a href="${to}${name}"${mark}>${escapeHtml(title)}</a></li>`;
    });
    return `<${tag}>${heading}</${tag}>\n<ul>${links.join("\n")}</ul>`;
  }).join("\n");

/** @param to the folder of the guides, relative to the page. */
function pageOf({ title, html, guides, current, to }) {
  const home = to === "" ? "../" : "./";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(title)}: the manual of Foyer, a server for online events">
<title>${escapeHtml(title)}${to === "" ? " · Foyer" : " documentation"}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to}guides.css">
<script type="module" src="${to}guides.js"></script>
</head>
<body>
<div class="page">
<nav aria-label="Guides">
<p><label>Search <input id="search" type="search" autocomplete="off"></label></p>
<button id="menu" type="button" aria-expanded="false" aria-controls="all">All guides</button>
<div id="all"><ul><li><a href="${home}">Start</a></li>
<li><a href="${home}api">Try the API</a></li>
<li><a href="${home}live">Every websocket message</a></li></ul>
${listOf(guides, { to, tag: "p", current })}</div>
</nav>
<main><ul id="found" aria-live="polite"></ul><div id="text">${html}</div></main>
</div>
</body>
</html>
`;
}

const escapeHtml = (text) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
