import type { components } from "../../../client/api.js";
import { currentLocale, type Key, t } from "../../i18n/index.js";
import { timeText } from "../../lib/times.js";
import { titleOf } from "../roles/groups.js";

// What the fields of a record are called, in forms and in the history.

type Names = Readonly<Record<string, Key>>;

export const worldFields: Names = {
  title: "world.title",
  domain: "world.domain",
  "config.locale": "world.locale",
  "config.timezone": "world.timezone",
  "config.connection_limit": "world.limit",
  "config.theme": "world.theme",
  "config.links": "world.links",
  "config.profile_fields": "world.profileFields",
  "config.iframe_blockers": "world.frames",
  "config.trait_badges_map": "world.badges",
};

export const sessionFields: Names = {
  title: "cprogram.title",
  subtitle: "cprogram.subtitle",
  starts_at: "cprogram.start",
  ends_at: "cprogram.end",
  room_id: "program.room",
  speaker_ids: "program.speakers",
  track: "program.track",
  kind: "program.kind",
  language: "program.language",
  tags: "program.tags",
  abstract: "cprogram.abstract",
  description: "cprogram.description",
  links: "program.links",
  stream: "cprogram.stream",
  recording: "program.recording",
  state: "cprogram.state",
};

/** The name of a field; the field itself without one. */
export const fieldName = (names: Names, field: string): string =>
  Object.hasOwn(names, field) ? t(names[field]!) : field.replace(/^config\./, "");

type Change = components["schemas"]["AuditEntry"]["changes"][number];

/** A change in words. Without values, only that something changed is kept. */
export interface Changed {
  readonly field: string;
  readonly name: string;
  readonly values: readonly [before: string, after: string] | undefined;
}

/** Fields by the beginnings of the types of entries. */
const fields: Readonly<Record<string, Readonly<Record<string, Key>>>> = {
  world: {
    ...worldFields,
    "config.roles": "console.roles",
    "config.event": "cprogram.dates",
    "config.JWT_secrets": "console.keys",
    "config.oidc": "console.providers",
    "config.attendance": "results.attendance",
  },
  room: {
    name: "rooms.name",
    description: "rooms.description",
    module_config: "rooms.modules",
    sorting_priority: "rooms.priority",
    picture: "rooms.picture",
    force_join: "rooms.forceJoin",
    schedule_data: "rooms.now",
    domain: "world.domain",
  },
  session: sessionFields,
  announcement: { text: "announcing.text", show_until: "announcing.until", state: "people.status" },
  question: {
    content: "questions.question",
    state: "people.status",
    answered: "questions.answered",
    is_pinned: "hall.onScreen",
  },
  poll: {
    content: "polls.question",
    options: "polls.options",
    state: "people.status",
    is_pinned: "hall.onScreen",
    poll_type: "program.kind",
  },
  user: { state: "people.status", profile: "attend.profile", traits: "console.roles" },
  webhook: {
    url: "webhooks.url",
    types: "webhooks.types",
    enabled: "webhooks.is_on",
    description: "webhooks.description",
    cursor: "webhooks.cursor",
  },
};

/** What the states of records are called. */
const states: Readonly<Record<string, Key>> = {
  draft: "polls.draft",
  open: "polls.isOpen",
  closed: "polls.isClosed",
  archived: "polls.archived",
  active: "announcing.active",
  public: "cprogram.public",
  mod_queue: "questions.waiting",
  visible: "announcing.active",
  silenced: "people.silenced",
  banned: "people.banned",
};

/** The changes of an entry. Objects of settings and of rules are taken apart. */
export function changedIn(type: string, changes: readonly Change[]): Changed[] {
  const names = fields[type.split(".")[0]!] ?? {};
  return changes.flatMap(({ field, before, after }) => {
    const isRules = field === "permission_config";
    if (!isRules && field !== "config") {
      return changed(field, fieldName(names, field), before, after);
    }
    const [old, now] = [objectIn(before), objectIn(after)];
    const parts = [...new Set([...Object.keys(old), ...Object.keys(now)])];
    if (parts.length === 0) {
      return changed(field, isRules ? t("console.roles") : field, before, after);
    }
    return parts.map((part) =>
      changed(
        `${field}.${part}`,
        isRules ? titleOf(part) : fieldName(names, `config.${part}`),
        old[part],
        now[part],
      ),
    );
  });
}

function changed(field: string, name: string, before: unknown, after: unknown): Changed {
  const isKept = (before ?? after ?? undefined) !== undefined;
  const isState = field === "state";
  const values = [shown(before, isState), shown(after, isState)] as const;
  return { field, name, values: isKept ? values : undefined };
}

const objectIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

function shown(value: unknown, isState: boolean): string {
  if (value === undefined || value === null || value === "") return t("console.nothing");
  if (typeof value === "boolean") return t(value ? "history.yes" : "history.no");
  if (typeof value !== "string") return JSON.stringify(value, null, 1);
  if (isState && Object.hasOwn(states, value)) return t(states[value]!);
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? timeText(value, currentLocale()) : value;
}
