import { Foyer } from "../../client/index.js";
import type { Template } from "../../schemas/plain/templates.js";
import { Identities } from "../state/identity.js";
import { browserShelf } from "../lib/storage.js";

/** The setup form's input. Times are in the format of `datetime-local`. */
export interface Answers {
  title: string;
  name: string;
  template: Template;
  /** Empty to use the language of each visitor's browser. */
  locale: string;
  /** Empty for the default color. */
  color: string;
  starts: string;
  ends: string;
  logo: File | undefined;
}

/** The created event. */
export interface MadeEvent {
  id: string;
  token: string;
  links: { console: string; event: string };
}

/** Thrown if the server refuses the setup, with messages per field or a message about the link. */
export class SetupProblem extends Error {
  constructor(
    readonly status: number,
    readonly fields: Readonly<Record<string, readonly string[]>>,
    detail: string,
  ) {
    super(detail);
  }
}

/** Converts a `datetime-local` value to UTC. Returns undefined if the value is empty. */
export function momentOf(local: string): string | undefined {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/**
 * Creates a server's first event, and signs its organizer in to the console.
 * @param secret from the setup link.
 * @throws {SetupProblem} if the server refuses the setup, and any error from `fetch`.
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

/** Uploads a new event's logo and adds it to the event's settings. */
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
