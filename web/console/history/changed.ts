import type { components } from "../../../client/api.js";
import { currentLocale, type Key, t } from "../../i18n/index.js";
import { timeText } from "../../lib/times.js";
import { type FieldNames, fieldName } from "../parts/field-name.js";
import { sessionFields } from "../program/fields.js";
import { titleOf } from "../roles/groups.js";
import { worldFields } from "../world/fields.js";

type Change = components["schemas"]["AuditEntry"]["changes"][number];

/** A change as text. Without values, the entry states only that the field has changed. */
export interface Changed {
  readonly field: string;
  readonly name: string;
  readonly values: readonly [before: string, after: string] | undefined;
}

/** Field labels, by the prefixes of entry types. */
const fields: Readonly<Record<string, FieldNames>> = {
  world: {
    ...worldFields,
    "config.roles": "console.roles",
    "config.event": "cprogram.dates",
    "config.JWT_secrets": "console.keys",
    "config.oidc": "console.providers",
    "config.attendance": "results.attendance",
    "config.blocked_words": "reports.words",
    "config.overrun_minutes": "cprogram.overrun",
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
    answers: "history.pollAnswers",
    settings: "history.pollSettings",
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

/** The labels of record states. */
const states: Readonly<Record<string, Key>> = {
  draft: "polls.draft",
  open: "polls.isOpen",
  closed: "polls.isClosed",
  archived: "polls.archived",
  active: "announcing.active",
  public: "cprogram.public",
  mod_queue: "questions.waiting",
  visible: "announcing.active",
  hidden: "history.hidden",
  shown: "history.shown",
  silenced: "people.silenced",
  banned: "people.banned",
};

/** Returns the name of a record that an entry keeps, for records that do not exist any more. */
export function nameIn(changes: readonly Change[]): string | undefined {
  const change = changes.find(({ field }) => field === "title" || field === "name");
  const name = change?.after ?? change?.before;
  return typeof name === "string" ? name : undefined;
}

/**
 * Returns an entry's changes. Settings and rules are split into their parts.
 * @param roomOf returns a room's name, or undefined if there is none with this id.
 */
export function changedIn(
  type: string,
  changes: readonly Change[],
  roomOf: (id: string) => string | undefined,
): Changed[] {
  const names = fields[type.split(".")[0]!] ?? {};
  return changes.flatMap(({ field, before, after }) => {
    const isRules = field === "permission_config";
    if (field === "room_id") {
      const [from, to] = [before, after].map((id) =>
        typeof id === "string" ? (roomOf(id) ?? id) : id,
      );
      return changed(field, fieldName(names, field), from, to);
    }
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
  const isState = field === "state" || field === "answers";
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
