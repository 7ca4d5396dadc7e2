/** The server's settings of a page, in `<meta name="foyer">`; `plugins/web` writes them. */
export interface PageConfig {
  /** The folder of the server, relative to the page: `./`, or `../` for each level. */
  base: string;
  /** The world that the address names; null if it names none. */
  world: string | null;
  /** Whether the server has no world yet. */
  isNew: boolean;
  /** The title of the world, if guests may see the world. */
  title: string | null;
  theme: Theme;
  links?: Links;
  /** The language that the world prefers; null for the browser's. */
  locale: string | null;
  /**
   * The id of the one room to show, without anything around it. Empty for the first
   * room; null for all of them.
   */
  embed: string | null;
  /** The providers by which people sign in: their ids and names. */
  signIn: { id: string; name: string }[];
  upload: { maxBytes: number; types: string[] };
}

/** The links at the foot of the first page: the part of `config.links` that is sound. */
export interface Links {
  privacy?: string;
  imprint?: string;
  more?: { label: string; url: string }[];
}

/** The look of a world: the part of `config.theme` that the pages use. */
export interface Theme {
  /** Colors, as `#rrggbb`. */
  colors?: { primary?: string };
  logo?: { url?: string };
}

/** The configuration of this page. */
export function readPage(document: Document): PageConfig {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="foyer"]');
  return JSON.parse(meta?.content ?? "{}") as PageConfig;
}
