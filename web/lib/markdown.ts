import DOMPurify from "dompurify";
import { Marked, marked } from "marked";
import { mediaAddress, webAddress } from "./addresses.js";

// Users write Markdown, and every text of theirs is hostile. DOMPurify sanitizes it; no
// string becomes HTML in any other way.

const ALLOWED = {
  ALLOWED_TAGS: [
    "p",
    "br",
    "hr",
    "blockquote",
    "pre",
    "code",
    "ul",
    "ol",
    "li",
    "strong",
    "em",
    "del",
    "a",
    "img",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
  ],
  ALLOWED_ATTR: ["href", "src", "alt", "title", "start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
} as const;

/** In a line of a chat, `<b>` means these three characters. */
const lines = new Marked({ tokenizer: { tag: () => undefined } });

/**
 * Renders untrusted Markdown.
 * @param base the address of the server: pictures come from its uploads only, others
 *   become links.
 * @param inline without paragraphs, headings, HTML and the like, as in a chat.
 */
export function renderMarkdown(text: string, base: string, inline = false): DocumentFragment {
  const options = { async: false, gfm: true, breaks: true } as const;
  const html = inline ? lines.parseInline(text, options) : marked.parse(text, options);
  return sanitized(html, base, []);
}

/** The additional elements of a page in HTML. */
const PAGE_TAGS = [
  "div",
  "section",
  "article",
  "header",
  "footer",
  "span",
  "address",
  "figure",
  "figcaption",
  "dl",
  "dt",
  "dd",
  "details",
  "summary",
  "b",
  "i",
  "u",
  "s",
  "small",
  "sub",
  "sup",
  "mark",
  "kbd",
  "q",
  "cite",
  "abbr",
  "time",
  "caption",
  "tfoot",
  "col",
  "colgroup",
];

/**
 * Renders HTML that a host wrote, without scripts, styles, forms and frames.
 * @param base the address of the server, as in {@link renderMarkdown}.
 */
export const renderHtml = (html: string, base: string): DocumentFragment =>
  sanitized(html, base, PAGE_TAGS);

function sanitized(html: string, base: string, moreTags: readonly string[]): DocumentFragment {
  const fragment = DOMPurify.sanitize(html, {
    ...ALLOWED,
    ALLOWED_TAGS: [...ALLOWED.ALLOWED_TAGS, ...moreTags],
    ALLOWED_ATTR: [...ALLOWED.ALLOWED_ATTR],
  });
  for (const image of fragment.querySelectorAll("img")) {
    const source = image.getAttribute("src");
    const own = mediaAddress(source, base);
    if (own) {
      image.src = own;
      image.loading = "lazy";
    } else image.replaceWith(linkOf(source, image.alt || source || ""));
  }
  for (const link of fragment.querySelectorAll("a")) {
    const address = webAddress(link.getAttribute("href"));
    if (address) openElsewhere(link, address);
    else link.replaceWith(...link.childNodes);
  }
  return fragment;
}

function linkOf(url: string | null, text: string): Node {
  const address = webAddress(url);
  if (!address) return document.createTextNode(text);
  const link = document.createElement("a");
  link.textContent = text;
  openElsewhere(link, address);
  return link;
}

function openElsewhere(link: HTMLAnchorElement, address: string): void {
  link.href = address;
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
}
