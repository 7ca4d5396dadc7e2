// Most user texts are plain. The libraries that render the rest are a third of all the code
// of a room, so they are loaded on demand.

/** How a text is rendered. */
export interface TextOptions {
  /** The address of the server; other servers give no pictures. */
  base: string;
  /** Markdown without paragraphs, headings and the like, as in a chat. */
  inline?: boolean;
  /** HTML instead of Markdown. */
  html?: boolean;
}

/** The syntax within a line of Markdown: marks, HTML, addresses. */
const MEANINGFUL = /[\\*_~`<>&[\]\n\r\t\0]|:\/\/|www\.|[\w.+-]@|^ | $/i;
/** The additional syntax at the beginning of a line. */
const LEADING = /^\s*(?:[#>+|=-]|\d+[.)])/;

/** Whether Markdown would show a text as it is. */
export const isPlain = (text: string, inline: boolean): boolean =>
  !MEANINGFUL.test(text) && (inline || !LEADING.test(text));

/** Markdown without its marks, where a text has a line or two and leads nowhere itself. */
export const withoutMarks = (text: string): string =>
  text
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
    .replace(/^[#>]+ /gm, "")
    .replace(/[*~`]|(?<![a-z\d])_|_(?![a-z\d])/gi, "");

/** The libraries, once they are there. */
let renderer: typeof import("./markdown.js") | undefined;

/**
 * Renders an untrusted text.
 * @param show receives the result, twice if the libraries are not there yet: first as plain
 *   text, which takes about the same place.
 * @returns ends it.
 */
export function renderText(
  text: string,
  { base, inline = false, html = false }: TextOptions,
  show: (content: DocumentFragment) => void,
): () => void {
  let isOver = false;
  const render = (by: NonNullable<typeof renderer>) => {
    try {
      return html ? by.renderHtml(text, base) : by.renderMarkdown(text, base, inline);
    } catch {
      // Thousands of quotes, one in the other, are more than the parser takes.
      return plain(html ? "" : text, inline);
    }
  };
  const isReady = !html && isPlain(text, inline);
  if (renderer && !isReady) show(render(renderer));
  else show(plain(html ? "" : text, inline || !isReady));
  if (!renderer && !isReady) {
    void import("./markdown.js").then(
      (libraries) => {
        renderer = libraries;
        if (!isOver) show(render(libraries));
      },
      // The server was renewed, or is out of reach: the text stays as it was typed.
      () => {},
    );
  }
  return () => {
    isOver = true;
  };
}

function plain(text: string, inline: boolean): DocumentFragment {
  const fragment = document.createDocumentFragment();
  if (inline) fragment.append(text);
  else if (text !== "") {
    const paragraph = document.createElement("p");
    paragraph.append(text);
    fragment.append(paragraph);
  }
  return fragment;
}
