// Most user-written text is plain. The libraries that render Markdown and HTML make up a third of a
// room's code, so they are loaded on demand.

/** Options for rendering user-written text. */
export interface TextOptions {
  /** The server's address; pictures from other servers are not shown. */
  base: string;
  /** Whether to render Markdown without paragraphs, headings and other block syntax, as in a chat. */
  inline?: boolean;
  /** Whether the text is HTML instead of Markdown. */
  html?: boolean;
}

/** Inline Markdown syntax: markup characters, HTML and addresses. */
const MEANINGFUL = /[\\*_~`<>&[\]\n\r\t\0]|:\/\/|www\.|[\w.+-]@|^ | $/i;
/** Markdown syntax that has a meaning only at the start of a line. */
const LEADING = /^\s*(?:[#>+|=-]|\d+[.)])/;

/** Whether text has no Markdown syntax and would therefore render unchanged. */
export const isPlain = (text: string, inline: boolean): boolean =>
  !MEANINGFUL.test(text) && (inline || !LEADING.test(text));

/** Strips Markdown syntax from text, for short previews without links. */
export const withoutMarks = (text: string): string =>
  text
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
    .replace(/^[#>]+ /gm, "")
    .replace(/[*~`]|(?<![a-z\d])_|_(?![a-z\d])/gi, "");

/** The renderer, once loaded. */
let renderer: typeof import("./markdown.js") | undefined;

/**
 * Renders untrusted text.
 * @param show receives the result. If the libraries have not been loaded yet, `show` is called
 * twice: first with plain text, which takes up about the same space.
 * @returns a function that cancels a pending render.
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
      // The parser fails on thousands of nested quotes.
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
      // The server was updated or is unreachable: keep the plain text.
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
