import DOMPurify from "dompurify";
import { Marked, marked } from "marked";
import { mediaAddress, webAddress } from "./addresses.js";

// User-written Markdown is untrusted. Strings become HTML only through DOMPurify.

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

/** Inline text, such as chat messages: HTML tags are shown literally. */
const lines = new Marked({ tokenizer: { tag: () => undefined } });

/**
 * Renders untrusted Markdown.
 * @param base the server's address: only pictures uploaded to this server are shown; other pictures
 * become links.
 * @param inline whether to omit paragraphs, headings, HTML and other block syntax, as in a chat.
 */
export function renderMarkdown(text: string, base: string, inline = false): DocumentFragment {
  const options = { async: false, gfm: true, breaks: true } as const;
  const html = inline ? lines.parseInline(text, options) : marked.parse(text, options);
  return sanitized(html, base, []);
}

/** Elements allowed in HTML pages, in addition to the elements allowed in Markdown. */
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
 * Renders HTML written by a host, without scripts, styles, forms or frames.
 * @param base the server's address, as in {@link renderMarkdown}.
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
