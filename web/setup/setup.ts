import { Foyer } from "../../client/index.js";
import type { Template } from "../../schemas/plain/templates.js";
import { Identities } from "../state/identity.js";
import { browserShelf } from "../lib/storage.js";

/** What the form of the first run asks for. Times have the form of `datetime-local`. */
export interface Answers {
  title: string;
  name: string;
  template: Template;
  /** Empty for the one of each visitor's browser. */
  locale: string;
  /** Empty for the standard color. */
  color: string;
  starts: string;
  ends: string;
  logo: File | undefined;
}

/** The event that was made. */
export interface MadeEvent {
  id: string;
  token: string;
  links: { console: string; event: string };
}

/** A refused draft: a sentence for each field, or one for the link. */
export class SetupProblem extends Error {
  constructor(
    readonly status: number,
    readonly fields: Readonly<Record<string, readonly string[]>>,
    detail: string,
  ) {
    super(detail);
  }
}

/** A time of `datetime-local`, in UTC; undefined for none. */
export function momentOf(local: string): string | undefined {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/**
 * Makes the first event of a server, and signs its organizer in to the console.
 * @param secret of the link.
 * @throws {SetupProblem} if the server refuses it, and what `fetch` throws.
 */
export async function setUp(
  baseUrl: string,
  secret: string,
  { title, name, template, locale, color, starts, ends }: Answers,
): Promise<MadeEvent> {
  const draft = {
    title: title.trim(),
    name: name.trim(),
    template,
    ...(locale && { locale }),
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(color && { color: color.toLowerCase() }),
    starts_at: momentOf(starts),
    ends_at: momentOf(ends),
  };
  const answer = await fetch(new URL("api/v1/setup/", baseUrl), {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(draft),
  });
  const body = (await answer.json().catch(() => ({}))) as MadeEvent & {
    detail?: string;
  } & Record<string, string[]>;
  if (!answer.ok) {
    const fields = answer.status === 400 && !body.detail ? body : {};
    const detail = body.detail ?? Object.values(fields).flat().join(" ");
    throw new SetupProblem(answer.status, fields, detail);
  }
  new Identities(browserShelf(), body.id, "console").keepToken(body.token);
  return body;
}

/** Uploads the logo of a new event, and puts it into its settings. */
export async function addLogo(
  baseUrl: string,
  { id, token }: MadeEvent,
  logo: File,
): Promise<void> {
  const api = new Foyer({ baseUrl, world: id, token });
  const url = await api.upload(logo);
  const { JWT_secrets: _keys, ...config } = (await api.getWorld()).config;
  const theme = (config["theme"] ?? {}) as Record<string, unknown>;
  const next = { ...config, theme: { ...theme, logo: { url } } };
  await api.updateWorld({ config: next });
}
